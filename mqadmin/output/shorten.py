"""Shorten long names in the middle, and never make two of them alike.

    AC1100020B6B18B4AAC2064ED6A30000     AC110002…ED6A30000
    AC1100020B6B18B4AAC2064ED6A30001     AC110002…ED6A30001

Rule: pure. Ids of RocketMQ begin alike (with a host and a process). If a balanced cut makes two
names equal, the cut moves until they differ; if no cut works, the column stays wider.
"""

from collections.abc import Sequence
from typing import Final

ELLIPSIS: Final = "…"


def cell_width(text: str) -> int:
    """Return how many cells of a terminal ``text`` takes."""
    if text.isascii():
        return len(text)
    # Most names are ASCII; a pipe need not load the tables of the others.
    from wcwidth import wcswidth

    width = wcswidth(text)
    return width if width >= 0 else len(text)


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells, its end replaced by an ellipsis."""
    if cell_width(text) <= width:
        return text
    return _start(text, width - 1) + ELLIPSIS


def cut_middle(text: str, width: int, *, tail: int) -> str:
    """Return ``text`` in at most ``width`` cells with its last ``tail`` cells kept."""
    if cell_width(text) <= width:
        return text
    return _start(text, width - 1 - tail) + ELLIPSIS + _start(text[::-1], tail)[::-1]


def shorten_all(names: Sequence[str], width: int) -> list[str] | None:
    """Return the names in ``width`` cells each; None where two of them would look alike."""
    different = set(names)
    if all(cell_width(name) <= width for name in different):
        return list(names)
    half = (width - 1) // 2
    # The balanced cut first, then the ones beside it.
    for tail in sorted(range(1, width - 1), key=lambda spot: abs(spot - half)):
        made = {name: cut_middle(name, width, tail=tail) for name in different}
        if len(set(made.values())) == len(different):
            return [made[name] for name in names]
    return None


def narrowest_width(names: Sequence[str], *, low: int, high: int) -> int:
    """Return the smallest width from ``low`` to ``high`` that keeps the names apart."""
    for width in range(low, high):
        if shorten_all(names, width) is not None:
            return width
    return high


def _start(text: str, width: int) -> str:
    kept = text[: max(width, 0)]
    while kept and cell_width(kept) > width:
        kept = kept[:-1]
    return kept
