"""Run one line: find the command, parse, run, print, and return the exit code.

    tokens -> parser -> Command.run -> Outcome -> printer -> exit code
                                            errors -> one line (or json) on standard error

Rule: this is the only place that turns errors into text and exit codes; the one-shot
program, the shell and scripts all go through ``run_line``.
"""

import inspect
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

from mqadmin.call import Call, Workplace
from mqadmin.console import Console, printable
from mqadmin.errors import Interrupted, Usage, describe
from mqadmin.output.columns import Column, choose, columns_of, record_of
from mqadmin.output.formats import printer_for, sorted_rows
from mqadmin.output.printer import Look
from mqadmin.output.structured import json_text
from mqadmin.output.table import terminal_width
from mqadmin.parser import Asked, Parsed, parse
from mqadmin.registry import Command
from mqadmin.rows import Outcome, Row
from mqadmin.settings import STRICT, Format, Settings

if TYPE_CHECKING:
    from mqadmin.explain import Explainer
    from mqadmin.output.javatext import Layout

BATCH_COUNT: Final = 256
BATCH_S: Final = 0.05


def run_line(tokens: Sequence[str], console: Console, workplace: Workplace) -> int:
    """Run the command that ``tokens`` name and return its exit code.

    Every error is told on ``console.err``; only BrokenPipeError is left to the caller.
    """
    exit_code = _run_line(tokens, console, workplace)
    if not _is_strict(tokens) or exit_code == Interrupted.exit_code:
        return exit_code
    # RocketMQ's own tool knows two: the line is wrong, and everything else.
    return 1 if exit_code == Usage.exit_code else 0


def _run_line(tokens: Sequence[str], console: Console, workplace: Workplace) -> int:
    wants_json = _wants_json(tokens, workplace)
    verbose = "-v" in tokens or "--verbose" in tokens
    try:
        parsed = parse(tokens, store=workplace.store, topic=workplace.topic)
        if isinstance(parsed, Settings):
            return _bare(parsed, console)
        if isinstance(parsed, Asked):
            return _list(parsed.commands, console)
        if parsed.settings.help or parsed.settings.version:
            return _explain(parsed.settings, parsed.command, console)
        if parsed.settings.schema:
            return _print_schema(parsed.command, console)
        return _run(parsed, console, workplace)
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        tell(error, console, as_json=wants_json, verbose=verbose)
        return describe(error).exit_code


def tell(error: BaseException, console: Console, *, as_json: bool, verbose: bool) -> None:
    """Print an error: one line, or an object with ``-o json``; the trace with ``-v``."""
    failure = describe(error)
    if verbose and failure.exit_code != Interrupted.exit_code:
        # Only an error that is looked into needs it.
        import traceback

        console.err.write("".join(traceback.format_exception(error)))
    if as_json:
        said = {"code": failure.code, "message": failure.message, "hint": failure.hint}
        console.warn(json_text({"error": said}))
    else:
        console.warn(f"error: {failure.line}")


def _bare(settings: Settings, console: Console) -> int:
    """Answer a line without a command: help or version, else usage."""
    if settings.help or settings.version:
        return _explain(settings, None, console)
    _explain(settings, None, replace(console, out=console.err))
    return Usage.exit_code


def _explain(settings: Settings, made: Command[object] | None, console: Console) -> int:
    """Print the version, or the help of one command or of all."""
    # The texts need every command and the package's metadata: nothing that a run needs.
    from mqadmin.helptext import command_help, overview, version_text

    if settings.version:
        console.out.write(version_text())
    else:
        console.out.write(overview() if made is None else command_help(made))
    return 0


def _list(commands: Sequence[Command[object]], console: Console) -> int:
    # As above.
    from mqadmin.helptext import listing

    console.out.write(listing(commands))
    return 0


def _print_schema(made: Command[object], console: Console) -> int:
    # Only --schema needs it.
    from mqadmin.output.schema import schema_of

    console.out.write(json_text(schema_of(made), pretty=True) + "\n")
    return 0


def _run(parsed: Parsed, console: Console, workplace: Workplace) -> int:
    settings = parsed.settings
    made = parsed.command
    if made.rows is not None and settings.watch is None:
        _check_columns(settings, made.rows)
    if settings.compat:
        _compat_layout(made)
    call = Call(settings, console, workplace, parsed.store)
    workplace.link.observer = _explainer(console) if settings.explain else None
    _check_protected(call, made)
    if settings.watch is None:
        return _run_once(call, made, parsed.arguments)
    # Only a live view needs to draw one.
    from mqadmin.watching import check_watchable, watch

    check_watchable(made)
    as_table = _format(call) == "table"
    try:
        watch(
            call,
            made,
            as_table=as_table,
            tick=lambda at: _run_once(at, made, parsed.arguments),
        )
    except KeyboardInterrupt:
        return _stopped(console)


def _run_once(call: Call, made: Command[object], arguments: object) -> int:
    """Run the command and print its rows; the exit code is the command's own."""
    console, workplace = call.console, call.workplace
    run = partial(made.run, call, arguments)
    if inspect.iscoroutinefunction(made.run):
        asking = cast("Callable[[], Coroutine[None, None, Outcome]]", run)
        outcome = workplace.link.run(asking, direct=made.direct)
    else:
        outcome = cast("Outcome", run())
    if outcome.follow and call.is_watched:
        raise Usage(f"{made.name} goes on by itself", hint="leave --watch out")
    for note in outcome.notes:
        console.warn(note)
    try:
        _print(outcome, made, call)
    except KeyboardInterrupt:
        if not outcome.follow:
            raise
        return _stopped(console)
    return outcome.exit_code if isinstance(outcome.exit_code, int) else outcome.exit_code()


def _stopped(console: Console) -> int:
    """Return the exit code of Ctrl-C where it is how a view ends: nothing to complain about."""
    # The terminal shows ^C on this line.
    console.err.write("\n" if console.can_ask else "")
    return Interrupted.exit_code


def _check_protected(call: Call, made: Command[object]) -> None:
    """Refuse a write to a protected context that is not named on the line."""
    if not made.writes or call.dry_run or call.settings.context or call.settings.namesrv:
        return
    context = call.context()
    if context is not None and context.protected and call.target().namesrv == context.namesrv:
        raise Usage(
            f"context {context.name} is protected", hint=f"name it: --context {context.name}"
        )


def _compat_layout(made: Command[object], variant: str = "") -> "Layout":
    # Only --compat needs what Java's printf does.
    from mqadmin.output.compat import layout_of

    return layout_of(made.name, variant=variant)


def _explainer(console: Console) -> "Explainer":
    # Only --explain needs the names of all codes.
    from mqadmin.explain import Explainer

    return Explainer(console)


def _check_columns(settings: Settings, row_class: type[Row]) -> None:
    if settings.columns:
        choose(row_class, settings.columns.split(","))
    if settings.sort:
        choose(row_class, [key.strip().lstrip("-") for key in settings.sort.split(",")])


def _print(outcome: Outcome, made: Command[object], call: Call) -> None:
    """Print the rows as they come; close the document whatever ends them."""
    settings = call.settings
    chosen = _format(call, default=outcome.format)
    rows = _iterate(outcome, call.workplace)
    if settings.sort and not outcome.follow:
        rows = iter(sorted_rows(rows, settings.sort.split(",")))
    if settings.compat:
        records = (dict(record_of(row, columns_of(type(row)))) for row in rows)
        for line in _compat_layout(made, outcome.layout)(records):
            call.console.out.write(line)
            if outcome.follow:
                call.console.out.flush()
        return
    first = next(rows, None)
    row_class = type(first) if first is not None else made.rows
    if row_class is None:
        return
    columns = _columns(settings, made, chosen, outcome, row_class)
    look = Look(
        names=tuple(column.name for column in columns),
        follow=outcome.follow,
        single=outcome.single,
        headers=not settings.no_headers,
        color=call.console.out_is_tty
        and not settings.no_color
        and "NO_COLOR" not in call.console.env,
        width=terminal_width() if call.console.out_is_tty else 0,
    )
    printer = printer_for(chosen, call.console.out, look)
    try:
        if first is not None:
            printer.row(record_of(first, columns))
            for row in rows:
                printer.row(record_of(row, columns))
    except BrokenPipeError:
        raise
    except BaseException:
        printer.end()
        raise
    printer.end()
    if chosen == "table":
        call.console.out.write("".join(f"{printable(line)}\n" for line in outcome.picture))


def _columns(
    settings: Settings,
    made: Command[object],
    chosen: Format,
    outcome: Outcome,
    row_class: type[Row],
) -> tuple[Column, ...]:
    if settings.columns:
        return choose(row_class, settings.columns.split(","))
    shown = outcome.columns or made.columns
    if chosen == "table" and shown and not outcome.single:
        return choose(row_class, shown)
    return columns_of(row_class)


def _iterate(outcome: Outcome, workplace: Workplace) -> Iterator[Row]:
    rows = outcome.rows
    if isinstance(rows, AsyncIterator):
        return _drain(rows, workplace, batch_count=1 if outcome.follow else BATCH_COUNT)
    return iter(rows)


def _drain(rows: AsyncIterator[Row], workplace: Workplace, *, batch_count: int) -> Iterator[Row]:
    """Yield from an async generator that lives in the loop thread.

    Rows come over in batches: a switch of threads costs as much as printing ten of them. A
    batch that takes long to fill is handed over as it is, and one that ends in an error before
    the error.
    """
    failures: list[Exception] = []

    async def following() -> list[Row]:
        batch: list[Row] = []
        until_s = time.monotonic() + BATCH_S
        while len(batch) < batch_count and time.monotonic() < until_s:
            try:
                row = await anext(rows, None)
            except Exception as error:
                failures.append(error)
                break
            if row is None:
                break
            batch.append(row)
        return batch

    while batch := workplace.link.run(following):
        yield from batch
        if failures:
            break
    if failures:
        raise failures[0]


def _format(call: Call, *, default: str = "") -> Format:
    """Return the format: of the line, else of the shell, of the context, of the command."""
    chosen = call.settings.output or cast("Format | None", call.workplace.output)
    if chosen is not None:
        return chosen
    context = call.defaults()
    told = context.output if context is not None else None
    return cast("Format", told or default or "table")


def _is_strict(tokens: Sequence[str]) -> bool:
    """Return whether exit codes are Java's: known even where parsing fails."""
    pairs = pairwise(tokens)
    return f"--compat={STRICT}" in tokens or ("--compat", STRICT) in pairs


def _wants_json(tokens: Sequence[str], workplace: Workplace) -> bool:
    """Return whether errors are told as json: known even where parsing fails."""
    chosen = workplace.output or "table"
    for spot, token in enumerate(tokens):
        if token in {"-o", "--output"} and spot + 1 < len(tokens):
            chosen = tokens[spot + 1]
        elif token.startswith("--output="):
            chosen = token.partition("=")[2]
        elif token.startswith("-o") and len(token) > 2:
            chosen = token[2:]
    return chosen in {"json", "jsonl"}
