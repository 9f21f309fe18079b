"""Run one line: find the command, parse, run, print, and return the exit code.

    tokens -> parser -> Command.run -> Outcome -> printer -> exit code
                                            errors -> one line (or json) on standard error

Rule: only this module turns errors into text and exit codes, so that the one-shot program, the
shell and scripts, which all call ``run_line``, report them alike.
"""

import inspect
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final, cast, get_args

from mqadmin.cli.command import Command, ParsedLine, TextAnswer
from mqadmin.cli.parse import parse
from mqadmin.cli.tree import fold
from mqadmin.cli.types import ParseContext
from mqadmin.errors import Interrupted, ItemNotFound, ServerUnreachable, Usage, describe
from mqadmin.output.columns import Column, choose, columns_of, record_of
from mqadmin.output.formats import printer_for, sorted_rows
from mqadmin.output.printer import Look, terminal_width
from mqadmin.output.rows import NOT_FOUND, UNCHANGED, Outcome, Row
from mqadmin.output.structured import json_text
from mqadmin.session.call import Call, Workplace
from mqadmin.session.console import Console, printable, printable_lines
from mqadmin.session.global_options import COMPAT_VARIABLE, LAYOUT, STRICT, Format, GlobalOptions

if TYPE_CHECKING:
    from mqadmin.output.compat.java_text import Layout

IDEMPOTENT: Final = frozenset(
    {"cold-data remove", "group delete", "namesrv kv delete", "topic delete", "user delete"}
)
"""Deletions that succeed in Java's tool if there is nothing to delete; scripts rely on it."""
FORMATS: Final[dict[str, Format]] = {name: name for name in get_args(Format)}
BATCH_COUNT: Final = 256
BATCH_S: Final = 0.05
NAMESRV_REQUESTS: Final = re.compile("request type (105|106|206) not supported")
"""Remarks of servers that are not name servers: every name server knows the route of a topic, the
brokers, and the list of topics."""
READER_HINT: Final = "the server may be busy or stopped; --timeout allows more time"


def run_line(tokens: Sequence[str], console: Console, workplace: Workplace) -> int:
    """Run the command that ``tokens`` name and return its exit code.

    Every error is printed on ``console.err``; only BrokenPipeError reaches the caller.
    """
    settings: GlobalOptions | None = None
    try:
        parsed = parse(tokens, ParseContext(store=workplace.store, topic=workplace.topic))
        if isinstance(parsed, TextAnswer):
            console.print_text(parsed.text, is_error=bool(parsed.exit_code))
            exit_code = parsed.exit_code
        else:
            settings = parsed.settings
            exit_code = _run_parsed(parsed, console, workplace)
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        settings = settings or _settings_of_wrong(tokens)
        as_json = (settings.output or workplace.output) in {"json", "jsonl"}
        print_error(error, console, as_json=as_json, verbose=settings.verbose)
        exit_code = describe(error).exit_code
    settings = settings or _settings_of_wrong(tokens)
    is_strict = STRICT in {settings.compat, console.env.get(COMPAT_VARIABLE)}
    if not is_strict or exit_code == Interrupted.exit_code:
        return exit_code
    # RocketMQ's own tool has one exit code for wrong usage and one for everything else.
    return 1 if exit_code == Usage.exit_code else 0


def print_error(error: BaseException, console: Console, *, as_json: bool, verbose: bool) -> None:
    """Print an error: one line, or an object with ``-o json``; the trace with ``-v``."""
    failure = describe(error)
    if verbose and failure.exit_code != Interrupted.exit_code:
        # Only -v needs it.
        import traceback

        console.err.write(printable_lines("".join(traceback.format_exception(error))))
    if as_json:
        said = {"code": failure.code, "message": failure.message, "hint": failure.hint}
        console.warn(json_text({"error": said}), as_is=True)
    else:
        console.warn(f"error: {failure.line}")


def _run_parsed(parsed: ParsedLine, console: Console, workplace: Workplace) -> int:
    made = parsed.command
    settings = _as_java(parsed, console)
    if made.rows is not None and settings.watch is None:
        _check_columns(settings, made.rows, made.summary_rows)
    if settings.compat:
        _layout(parsed)
    broker = parsed.values.get("broker")
    call = Call(
        settings,
        console,
        workplace,
        parsed.store,
        spelled=parsed.spelled,
        has_address=isinstance(broker, str) and ":" in broker,
    )
    workplace.link.observer = None
    if settings.explain:
        # Only --explain needs the names of all codes.
        from mqadmin.cli.explain import explain

        workplace.link.observer = partial(explain, console)
    _check_protected(call, made)
    if settings.watch is None:
        return _run_once(call, parsed)
    # Only a live view needs to draw one.
    from mqadmin.cli.watch import check_watchable, title_of, watch

    check_watchable(made)
    try:
        watch(
            call,
            lambda workplace_at: _run_once(workplace_at, parsed),
            title=title_of(made, parsed.values),
            as_table=_format(call) == "table",
        )
    except KeyboardInterrupt:
        return _stopped(console)


def _as_java(parsed: ParsedLine, console: Console) -> GlobalOptions:
    """Return the settings; with ``MQADMIN_COMPAT`` the command behaves as Java's tool.

    It is printed in Java's layout, unless it has none or the line names a format, and asks nothing.
    """
    settings = parsed.settings
    if console.env.get(COMPAT_VARIABLE, "") in {"", "0"} or not _is_of_java(parsed.command):
        return settings
    settings = replace(settings, yes=True)
    if settings.output or settings.compat or not _has_layout(parsed):
        return settings
    return replace(settings, compat=LAYOUT)


def _is_of_java(made: Command) -> bool:
    # Only MQADMIN_COMPAT asks which names the Java tool has.
    from mqadmin.cli.java.table import JAVA

    return any(java.command == made.name for java in JAVA)


def _has_layout(parsed: ParsedLine) -> bool:
    try:
        _layout(parsed)
    except Usage:
        return False
    return True


def _run_once(call: Call, parsed: ParsedLine) -> int:
    """Run the command and print its rows; the exit code is the command's own."""
    try:
        return _run_and_print(call, parsed)
    except Exception as error:
        if NAMESRV_REQUESTS.search(str(error)):
            _hint_at_broker(error, call)
        only_asks = call.dry_run or not parsed.command.writes
        if only_asks and describe(error).exit_code == ServerUnreachable.exit_code:
            # Only an error needs the errors of the client.
            from mqclient.errors import TimedOut

            if isinstance(error, TimedOut):
                # Nothing has been done that the user would have to check.
                error.hint = READER_HINT
        raise


def _hint_at_broker(error: Exception, call: Call) -> None:
    """Add a hint if ``-n`` names a server that is not a name server."""
    # Only an error needs the errors of the client.
    from mqclient.client.instance import parse_addresses
    from mqclient.errors import BrokerRefused

    if not isinstance(error, BrokerRefused) or not call.target().namesrv:
        return
    if error.address in parse_addresses(call.target().namesrv):
        error.hint = (
            f"{error.address} is not a name server but probably a broker: give the port of the "
            "name server, 9876 by default, as in -n HOST:9876"
        )


def _run_and_print(call: Call, parsed: ParsedLine) -> int:
    console, workplace, made = call.console, call.workplace, parsed.command
    run = partial(made.run, call, **parsed.values)
    if inspect.iscoroutinefunction(inspect.unwrap(made.run)):
        asking = cast("Callable[[], Coroutine[None, None, Outcome]]", run)
        outcome = workplace.link.run_coroutine(asking, direct=made.direct)
    else:
        outcome = cast("Outcome", run())
    if outcome.follow and call.is_watched:
        raise Usage(f"{made.name} already repeats by itself", hint="omit --watch")
    for note in outcome.notes:
        console.warn(note)
    try:
        _print(outcome, parsed, call)
    except KeyboardInterrupt:
        if not outcome.follow:
            raise
        return _stopped(console)
    ended = outcome.exit_code if isinstance(outcome.exit_code, int) else outcome.exit_code()
    is_missing = ended == ItemNotFound.exit_code
    is_done = call.deletes_as_java and made.name in IDEMPOTENT
    return 0 if is_missing and is_done else ended


def _stopped(console: Console) -> int:
    """Return the exit code of Ctrl-C, which is the normal way to end a view."""
    # The terminal shows ^C on this line.
    console.err.write("\n" if console.can_ask else "")
    return Interrupted.exit_code


def _check_protected(call: Call, made: Command) -> None:
    """Refuse a write to a protected context unless the line names it."""
    if not made.writes or call.dry_run or call.settings.context or call.settings.namesrv:
        return
    context = call.context()
    if context is not None and context.protected and call.target().namesrv == context.namesrv:
        raise Usage(
            f"context {context.name} is protected", hint=f"name it: --context {context.name}"
        )


def _layout(parsed: ParsedLine, variant: str = "") -> "Layout":
    # Only --compat needs Java's printf.
    from mqadmin.output.compat.java_text import Line
    from mqadmin.output.compat.layouts import layout_of

    line = Line(parsed.spelled, parsed.values, parsed.flags, parsed.settings.namesrv)
    return layout_of(parsed.command.name, line, variant=variant)


def _check_columns(
    settings: GlobalOptions, row_class: type[Row], summary_class: type[Row] | None
) -> None:
    """Check that the rows, or those of a summary, have every column that the line names.

    Raises:
        Usage: a column is in neither.
    """
    named = settings.columns.split(",") if settings.columns else []
    if settings.sort:
        named += [key.strip().lstrip("-") for key in settings.sort.split(",")]
    try:
        choose(row_class, named)
    except Usage:
        if summary_class is None:
            raise
        choose(summary_class, named)


def _print(outcome: Outcome, parsed: ParsedLine, call: Call) -> None:
    """Print the rows as they arrive; close the document whatever ends them."""
    settings, made = call.settings, parsed.command
    if outcome.document:
        call.console.out.write(outcome.document)
        return
    chosen = _format(call, default=outcome.format)
    rows = _iterate(outcome, call.workplace)
    if settings.sort and not outcome.follow:
        rows = iter(sorted_rows(rows, settings.sort.split(",")))
    if settings.compat:
        _print_as_java(outcome, parsed, call, rows)
        return
    first = next(rows, None)
    row_class = type(first) if first is not None else outcome.row_class or made.rows
    if row_class is None:
        return
    columns = _columns(settings, made, chosen, outcome, row_class)
    look = Look(
        names=tuple(column.name for column in columns),
        follow=outcome.follow,
        single=outcome.single,
        headers=not settings.no_headers,
        csv_raw=settings.csv_raw,
        color=call.has_color,
        width=terminal_width() if call.console.out_is_tty else 0,
        now_ms=call.now_ms(),
        named=bool(settings.columns),
        sections=outcome.sections,
        tree=outcome.tree,
    )
    printer = printer_for(chosen, call.console.out, look)
    try:
        if first is not None:
            for row in chain((first,), rows):
                record = record_of(row, columns)
                if chosen == "table" and (table_text := row.in_table()):
                    record |= {
                        name: text for name, text in table_text.items() if name in look.names
                    }
                printer.row(record)
                if look.follow:
                    # A person is waiting for it.
                    call.console.out.flush()
    except BrokenPipeError:
        raise
    except BaseException:
        printer.end()
        raise
    printer.end()
    if chosen == "table":
        is_told = outcome.notes or outcome.silent or outcome.follow or call.is_watched
        if first is None and not is_told:
            call.console.warn(f"{made.name}: no rows")
        lines = outcome.picture() if callable(outcome.picture) else outcome.picture
        call.console.out.write("".join(f"{printable(line)}\n" for line in lines))


def _print_as_java(outcome: Outcome, parsed: ParsedLine, call: Call, rows: Iterator[Row]) -> None:
    records = (dict(record_of(row, columns_of(type(row)))) for row in rows)
    if call.deletes_as_java and parsed.command.name in IDEMPOTENT:
        records = (
            record | {"result": UNCHANGED} if record["result"] == NOT_FOUND else record
            for record in records
        )
    # A script that parses a layout gets every byte of it.
    shown = printable_lines if call.console.out_is_tty else str
    for line in _layout(parsed, outcome.layout)(records):
        call.console.out.write(shown(line))
        if outcome.follow:
            call.console.out.flush()


def _columns(
    settings: GlobalOptions, made: Command, chosen: Format, outcome: Outcome, row_class: type[Row]
) -> tuple[Column, ...]:
    if settings.columns:
        return choose(row_class, settings.columns.split(","))
    if chosen == "name" and row_class.identity:
        return choose(row_class, [row_class.identity])
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
    """Yield from an async generator that runs in the loop thread.

    Rows are handed over in batches, because a switch of threads costs as much as printing ten
    rows. A batch that fills slowly is handed over early, and the last one before an error.
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

    while batch := workplace.link.run_coroutine(following):
        yield from batch
        if failures:
            break
    if failures:
        raise failures[0]


def _format(call: Call, *, default: str = "") -> Format:
    """Return the format: that of the line, the shell, the context or the command, in this order."""
    chosen = call.settings.output or cast("Format | None", call.workplace.output)
    if chosen is not None:
        return chosen
    context = call.defaults()
    of_context = context.output if context is not None else None
    return cast("Format", of_context or default or "table")


def _settings_of_wrong(tokens: Sequence[str]) -> GlobalOptions:
    """Return the format and ``--compat`` of a line that cannot be parsed, or runs no command."""
    output: Format | None = None
    compat = None
    for token, after in zip_longest(tokens, tokens[1:], fillvalue=""):
        if not token.startswith("-"):
            continue
        name, equals, value = token.partition("=")
        said = value if equals else after
        if fold(name) == "output":
            output = FORMATS.get(said.lower(), output)
        elif fold(name) == "compat":
            compat = said
        elif token.startswith("-o"):
            output = FORMATS.get((token[2:] or after).lower(), output)
    return GlobalOptions(output=output, compat=compat)
