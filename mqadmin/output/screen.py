"""Rows for a person at a screen, on which only the end stays visible."""

from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from mqadmin.session.call import Call

T = TypeVar("T")
HEAD_LINES: Final = 4
"""Lines of a screen that are not rows: the header, what follows the table, and the prompt."""


def is_table(call: "Call") -> bool:
    """Return whether rows are printed as a table."""
    return (call.settings.output or call.workplace.output or "table") == "table"


def worst_last(rows: Sequence[T], *, lines_each: int = 1, height: int | None = None) -> list[T]:
    """Return rows, given with the worst first, in reverse order if the screen is too short.

    Args:
        lines_each: lines that a row takes.
        height: lines of the screen; those of the terminal if left out.
    """
    height = get_terminal_size().lines if height is None else height
    return list(rows[::-1]) if len(rows) * lines_each + HEAD_LINES > height else list(rows)
