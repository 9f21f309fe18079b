"""``--watch``: the rows of a command again and again.

    tick --> lines of one block --> terminal: drawn over the last block, changes marked
                                `-> pipe:     one block after the other

A block on a terminal is cut to its height, so that the head of a table stays in sight.

Rule: what cannot work (a wrong word, an unknown topic) ends it at once; a server that is away
for a moment is told, and the next tick tries again.
"""

import io
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from mqadmin.call import Call
from mqadmin.console import Console
from mqadmin.errors import Unreachable, Usage, describe
from mqadmin.registry import Command
from mqadmin.times import iso_utc

HOME: Final = "\x1b[H"
CLEAR_REST_OF_LINE: Final = "\x1b[K"
CLEAR_BELOW: Final = "\x1b[J"
CLEAR_SCREEN: Final = "\x1b[2J"
MARK, UNMARK = "\x1b[7m", "\x1b[27m"
WORD: Final = re.compile(r"\S+")
FRAME_LINES: Final = 2
"""The title and the line where the cursor rests."""

Tick = Callable[[Call], int]


def check_watchable(made: Command[object]) -> None:
    """Refuse to repeat a write.

    Raises:
        Usage: the command changes something.
    """
    if made.writes:
        raise Usage(f"{made.name} changes something", hint="--watch repeats commands that read")


def watch(call: Call, made: Command[object], *, tick: Tick, as_table: bool) -> NoReturn:
    """Run ``tick`` until Ctrl-C or an error that another try does not mend.

    Args:
        tick: prints one block on the console of the call that it is given.
        as_table: the blocks are for people: drawn on a terminal, else parted by a blank line.
    """
    seconds = call.settings.watch or 0.0
    before: list[str] = []
    on_screen = call.console.out_is_tty and as_table
    while True:
        text = io.StringIO()
        console = replace(call.console, out=text, err=text) if on_screen else call.console
        try:
            tick(replace(call, console=console))
        except Exception as error:
            failure = describe(error)
            if failure.exit_code != Unreachable.exit_code or not before:
                raise
            console.warn(f"{failure.line}; trying again")
        if on_screen:
            block = text.getvalue().splitlines()
            title = f"{made.name}   every {seconds:g} s   {iso_utc(call.now_ms())}   Ctrl-C ends"
            _draw(call.console, title, block, before)
            before = block
        else:
            if as_table:
                call.console.out.write("\n")
            call.console.out.flush()
            before = ["printed"]
        call.workplace.pause(seconds)


def _draw(console: Console, title: str, block: list[str], before: list[str]) -> None:
    """Draw over the last block; a screen that scrolled away begins anew."""
    columns, rows = shutil.get_terminal_size()
    plain = "NO_COLOR" in console.env
    shown = block[: max(1, rows - FRAME_LINES)]
    marked = shown if plain or not before else mark_changes(before, shown)
    lines = [title[: columns - 1], *marked]
    head = HOME if before else CLEAR_SCREEN + HOME
    text = "".join(f"{line}{CLEAR_REST_OF_LINE}\n" for line in lines)
    console.out.write(head + text + CLEAR_BELOW)
    console.out.flush()


def mark_changes(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """Return the lines with the words inverted that are not what they were.

    Words are compared by line and place, which in a table is by cell.
    """
    marked = []
    for number, line in enumerate(now):
        old = WORD.findall(before[number]) if number < len(before) else []
        spot = -1

        def mark(found: re.Match[str], old: list[str] = old) -> str:
            nonlocal spot
            spot += 1
            same = spot < len(old) and old[spot] == found[0]
            return found[0] if same else f"{MARK}{found[0]}{UNMARK}"

        marked.append(WORD.sub(mark, line))
    return marked
