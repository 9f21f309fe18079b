"""The target of an offset as typed: ``--to earliest|latest|TIME|+N|-N|N``.

    earliest latest      the ends of each queue
    -1h  2026-11-21...   a time, in the forms of ``mqadmin.output.times``
    +5  -5               relative to the group's present offset
    17                   this entry (a number from 10^12 on is a time in epoch ms)

Rule: pure; the ends and the current offset are arguments, and the result lies within the ends,
because a broker stores any number.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from mqadmin.cli.types import TextType, ValueKind, truth
from mqadmin.output.times import When, parse_when

EPOCH_MS_FROM: Final = 1_000_000_000_000
"""A queue has never held 10^12 entries; as epoch ms it is September 2001."""

STEP: Final = re.compile(r"[+-][0-9]+")
NUMBER: Final = re.compile(r"[0-9]+")


class PositionKind(Enum):
    """The kinds of positions."""

    EARLIEST = auto()
    LATEST = auto()
    TIME = auto()
    STEP = auto()
    ENTRY = auto()


@dataclass(frozen=True, slots=True)
class Position:
    """A position as typed; ``count`` for STEP and ENTRY, ``when`` for TIME."""

    text: str
    mark: PositionKind
    count: int = 0
    when: When = When("now")  # noqa: RUF009 (a frozen value)

    def __str__(self) -> str:
        """Return the position as typed."""
        return self.text

    @property
    def is_time_like(self) -> bool:
        """Return whether a broker can move online members there; it only accepts times."""
        return self.mark in {PositionKind.EARLIEST, PositionKind.LATEST, PositionKind.TIME}

    def within(self, *, low: int, high: int, current: int | None) -> int:
        """Return the queue offset for EARLIEST, LATEST, STEP and ENTRY, between the ends.

        Args:
            low: first readable entry; ``high`` the next to be written.
            current: the group's offset; None if it has none yet.
        """
        match self.mark:
            case PositionKind.EARLIEST:
                offset = low
            case PositionKind.STEP:
                offset = (low if current is None else current) + self.count
            case PositionKind.ENTRY:
                offset = self.count
            case _:
                offset = high
        return min(max(offset, low), high)


def parse_timestamp(text: str) -> Position:
    """Return the position of Java's ``-s``: a number is always a time, -1 the end.

    Raises:
        ValueError: the text is not a position.
    """
    if text.strip() == "-1":
        return Position(text, PositionKind.LATEST)
    return Position(text, PositionKind.TIME, when=parse_when(text))


def entry_of(text: str) -> Position:
    """Return the position of Java's ``--offset``: a number is always an entry.

    Raises:
        ValueError: the text is not a number.
    """
    if not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"{text!r} is not a queue offset")
    return Position(text.strip(), PositionKind.ENTRY, int(text))


def parse_force(text: str) -> bool:
    """Return True for Java's ``-f true`` of a skip, which only ever moves forward.

    Raises:
        ValueError: it is false, which would move nothing, or neither true nor false.
    """
    if not truth(text):
        raise ValueError("false has no effect, because skipping moves forward; omit it")
    return True


def parse_position(text: str) -> Position:
    """Return the position in ``text``.

    Raises:
        ValueError: the text is not a position.
    """
    word = text.strip()
    if word.lower() in {"earliest", "latest"}:
        return Position(word, PositionKind[word.upper()])
    if STEP.fullmatch(word):
        return Position(word, PositionKind.STEP, int(word))
    if NUMBER.fullmatch(word) and int(word) < EPOCH_MS_FROM:
        return Position(word, PositionKind.ENTRY, int(word))
    try:
        return Position(word, PositionKind.TIME, when=parse_when(word))
    except ValueError as error:
        raise ValueError(f"{error}, or earliest, latest, +N, -N, N") from None


POSITION: Final = TextType(ValueKind.TIME, parse_position, metavar="WHERE")
