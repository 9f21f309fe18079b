"""Long lines for a person at a terminal, broken between words; a pipe never loads it."""

import os
import re
import textwrap
from typing import Final, TextIO

LEFT_COLUMN: Final = re.compile(r" +\S.*? {2,}(?=\S)| *")
"""What precedes the text of a line: a column of its own, as in lists of options, or blanks."""


def break_line(line: str, terminal: TextIO) -> str:
    """Break a line so that the terminal does not have to; continuation lines are indented."""
    return _filled(line, _width(terminal), 2)


def break_lines(text: str, terminal: TextIO) -> str:
    """Break the lines of a text likewise; continuation lines start below the start of the text."""
    width = _width(terminal)
    made = []
    for line in text.split("\n"):
        left = LEFT_COLUMN.match(line)
        indent = left.end() if left is not None else 0
        made.append(_filled(line, width, indent) if len(line) > width else line)
    return "\n".join(made)


def _filled(line: str, width: int, indent: int) -> str:
    """Break a line; a word that is wider than the terminal stays whole."""
    further = " " * (indent if indent < width // 2 else 2)
    return textwrap.fill(
        line, width, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )


def _width(terminal: TextIO) -> int:
    """Return how wide a terminal is, 80 if it does not say."""
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except OSError:
        return 80
