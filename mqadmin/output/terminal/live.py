"""A view that rich redraws in place: ``--watch``, and the progress of long commands.

    block of a tick --> words that changed since the last one inverted --> rich's Live

Rule: only a terminal imports this module. The output of a tick is parsed again into text and our
own colours; the printer does not let any other escape pass.
"""

import re
from collections.abc import Sequence
from typing import Final, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

WORD: Final = re.compile(r"\S+")
AGE: Final = re.compile(r"\b(?:[0-9]+ (?:s|min|h|d|y) ago|in [0-9]+ (?:s|min|h|d|y)|now)\b")
"""Texts that change from tick to tick although nothing has happened."""
FRAME_LINES: Final = 2
"""The lines of the title and of the cursor."""


def console_of(out: TextIO, *, color: bool, width: int | None = None) -> Console:
    """Return rich's console on ``out``, which takes texts as they are."""
    return Console(
        file=out,
        width=width,
        force_terminal=True,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


class LiveView:
    """Blocks of lines, each drawn over the one before and cut to the height of the terminal."""

    def __init__(self, out: TextIO, *, color: bool) -> None:
        self._console = console_of(out, color=color)
        self._color = color
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._before: list[str] | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def draw(self, title: str, block: Sequence[str]) -> None:
        """Show a title and the lines of a tick."""
        height = max(1, self._console.size.height - FRAME_LINES)
        lines = [Text.from_ansi(line, no_wrap=True, end="") for line in block[:height]]
        if self._before is not None and self._color:
            mark_changes(self._before, lines)
        self._before = [line.plain for line in lines]
        head = Text(title, style="dim", no_wrap=True, overflow="ellipsis")
        self._live.update(Text("\n", no_wrap=True, overflow="crop").join([head, *lines]))
        self._live.refresh()


def mark_changes(before: Sequence[str], now: Sequence[Text]) -> None:
    """Invert the words that are not what they were.

    Words are compared by line and position, that is, by cell of a table; ages do not count.
    """
    for number, line in enumerate(now):
        old = _words(before[number]) if number < len(before) else []
        for spot, match in enumerate(WORD.finditer(_without_ages(line.plain))):
            word = match[0]
            if word.strip("~") and (spot >= len(old) or old[spot] != word):
                line.stylize("reverse", match.start(), match.end())


def _words(line: str) -> list[str]:
    return WORD.findall(_without_ages(line))


def _without_ages(line: str) -> str:
    return AGE.sub(lambda match: "~" * len(match[0]), line)
