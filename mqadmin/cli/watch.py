"""``--watch``: run a command again and again and show its rows.

    tick --> lines of one block --> terminal: drawn over the last (``output.terminal.live``)
                                `-> pipe:     one block after the other

Rule: an error that another try does not mend (a wrong word, an unknown topic) ends it at once; a
server that is away for a moment is reported, and the next tick tries again.
"""

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from mqadmin.cli.command import Command
from mqadmin.cli.options import default_of
from mqadmin.errors import ServerUnreachable, Usage, describe
from mqadmin.output.times import iso_utc
from mqadmin.session.call import Call
from mqadmin.session.console import printable

Tick = Callable[[Call], int]


def check_watchable(made: Command) -> None:
    """Refuse to repeat a write.

    Raises:
        Usage: the command changes something.
    """
    if made.writes:
        raise Usage(f"{made.name} makes changes", hint="--watch only repeats commands that read")


def title_of(made: Command, values: Mapping[str, object]) -> str:
    """Return the command and what it was given, as ``group lag billing``."""
    words = [made.name]
    for parameter in made.params:
        value = values[parameter.name]
        given = value != default_of(parameter)
        if given and isinstance(value, (str, int, tuple)) and not isinstance(value, bool):
            words += [str(part) for part in (value if isinstance(value, tuple) else (value,))]
    return printable(" ".join(words))


def watch(call: Call, tick: Tick, *, title: str, as_table: bool) -> NoReturn:
    """Run ``tick`` until Ctrl-C or an error that another try does not mend.

    Args:
        tick: prints one block on the console of the call that it is given.
        title: what stands above the blocks on a terminal.
        as_table: the blocks are for people: drawn on a terminal, else parted by a blank line.
    """
    if call.console.out_is_tty and as_table:
        _watch_on_terminal(call, tick, title)
    is_reported = False
    while True:
        _tick(call, tick, again=is_reported)
        is_reported = True
        if as_table:
            call.console.out.write("\n")
        call.console.out.flush()
        call.workplace.pause(call.settings.watch or 0.0)


def _watch_on_terminal(call: Call, tick: Tick, title: str) -> NoReturn:
    # Only a terminal needs rich.
    from mqadmin.output.terminal.live import LiveView

    seconds = call.settings.watch or 0.0
    # What is drawn over itself is never paged.
    call.console.out.flush()
    is_reported = False
    with LiveView(call.console.out, color=call.has_color) as view:
        while True:
            text = io.StringIO()
            console = call.console._replace(out=text, err=text)
            _tick(replace(call, console=console), tick, again=is_reported)
            is_reported = True
            head = f"{title}   every {seconds:g} s   {iso_utc(call.now_ms())}   Ctrl-C ends"
            view.draw(head, text.getvalue().splitlines())
            call.workplace.pause(seconds)


def _tick(call: Call, tick: Tick, *, again: bool) -> None:
    """Run one tick; report a server that is away, if an earlier tick has had its answer."""
    try:
        tick(call)
    except Exception as error:
        failure = describe(error)
        if failure.exit_code != ServerUnreachable.exit_code or not again:
            raise
        call.console.warn(f"{failure.line}; retrying")
