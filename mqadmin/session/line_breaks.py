"""A long line for a person at a terminal, broken between words; a pipe never loads it."""

import os
import textwrap
from typing import TextIO


def broken(line: str, terminal: TextIO) -> str:
    """Return a line in lines that the terminal does not break itself, 80 wide if it does not say.

    A word that is wider than the terminal stays whole.
    """
    try:
        width = os.get_terminal_size(terminal.fileno()).columns or 80
    except OSError:
        width = 80
    return textwrap.fill(
        line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
