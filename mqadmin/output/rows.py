"""What a command returns: typed rows and an outcome.

A row is a frozen dataclass that derives from ``Row``; its field names are the column
names and the JSON keys, which scripts rely on. Annotations say more:

    queue_offset: int           a number stays a number in every format
    store_ms: EpochMs           an instant; outputs add ``store_time`` in ISO 8601
    relative: Share             0 to 1; a table may draw it: column ``bar``
    body: str | None = omitted()    omitted from JSON if it is None

Rule: rows hold values, never text made for people: no grouping of digits, no padding,
no colour. What a table shows is decided in ``mqadmin.output``.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, ClassVar, Final, Self

INSTANT: Final = "epoch ms"
EpochMs = Annotated[int, INSTANT]
"""Milliseconds since 1970 in UTC; zero or less means no time."""

BAR: Final = "bar"
Share = Annotated[float, BAR]
"""A part of the largest row, 0 to 1; a table may also show it as a column ``bar``."""

SPARK: Final = "sparkline"
Course = Annotated[tuple[int, ...], SPARK]
"""Values of one thing over time; a table may draw them as a column ``sparkline``."""

OMIT: Final = "omit"


@dataclass(frozen=True, slots=True)
class Row:
    """Base of every row.

    Attributes:
        identity: the column that names the row, for `-o name`; empty: the first one.
    """

    identity: ClassVar[str] = ""

    @classmethod
    def of(cls, source: object, **others: object) -> Self:
        """Return a row with the values of an object that has fields of the same names.

        Args:
            source: the object; with None the row has its defaults.
            others: fields that it lacks, or whose value in the row differs.
        """
        names = (spot.name for spot in fields(cls) if spot.name not in others)
        same = {name: getattr(source, name) for name in names if hasattr(source, name)}
        return cls(**same, **others)

    def in_table(self) -> Mapping[str, str]:
        """Return texts that a table shows instead of values, by column name."""
        return {}


def omitted() -> str | None:
    """Declare a text field that is omitted from json, yaml and msgpack if it is None."""
    value: str | None = field(default=None, metadata={OMIT: True})
    return value


Rows = Iterable[Row] | AsyncIterator[Row]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows of a command and how it went.

    Attributes:
        rows: any iterable; a generator is printed while it runs and may end with an error.
        exit_code: a number, or a function asked once the rows are out.
        single: one thing, not a list: an object in json, name and value lines in a table.
        follow: rows come one by one for a person who watches: print each at once.
        notes: sentences for people, printed on standard error.
        columns: the columns of a table, if not those that the command declares.
        format: the default format; empty for a table.
        layout: which layout of ``--compat``, if the command has several.
        picture: lines that a table on a terminal or a pipe ends with, or a function asked once the
            rows are out; no other format has them.
        sections: headings of one thing on a terminal, and the fields below each.
        tree: columns that rows are nested by on a terminal.
        silent: a table without rows prints nothing.
        row_class: class of the rows, if not the one that the command declares.
        document: a text for standard output instead of rows.
    """

    rows: Rows
    exit_code: int | Callable[[], int] = 0
    single: bool = False
    follow: bool = False
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    format: str = ""
    layout: str = ""
    picture: tuple[str, ...] | Callable[[], tuple[str, ...]] = ()
    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tree: tuple[str, ...] = ()
    silent: bool = False
    row_class: type[Row] | None = None
    document: str = ""


def one(row: Row, *, exit_code: int = 0, notes: tuple[str, ...] = ()) -> Outcome:
    """Return the outcome of a command that answers with a single object."""
    return Outcome((row,), exit_code=exit_code, single=True, notes=notes)


CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
NOT_FOUND: Final = "not found"
REFUSED: Final = "refused"
UNREACHABLE: Final = "unreachable"
WOULD_CHANGE: Final = "would change"

PARTLY: Final = 5


def exit_code_of(results: Iterable[str]) -> int:
    """Return the exit code of a write from the ``result`` of each of its rows.

    All went well (or nothing had to change): 0. Some went wrong: 5. All of them: 3 where
    nothing was found, 4 if no server answered, otherwise 1.
    """
    seen = set(results)
    bad = seen & {NOT_FOUND, REFUSED, UNREACHABLE}
    if not bad:
        return 0
    if seen - bad:
        return PARTLY
    if bad == {NOT_FOUND}:
        return 3
    return 4 if bad == {UNREACHABLE} else 1
