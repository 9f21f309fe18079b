"""Fit columns to a terminal: which of them shrink, and in which order.

    1  headers are stacked (CONSUMER_ above OFFSET), columns without values are dropped
    2  bodies are cut at their end, times become shorter, sentences continue on the next line
    3  names and ids are shortened in the middle, the widest first, and never two alike

Rule: pure, without rich. Numbers are never cut. If all that is not enough, ``fit`` returns None,
and the caller decides: sections by the first column, otherwise a block for each row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from mqadmin.output.columns import Record, Value
from mqadmin.output.shorten import cell_width, cut, narrowest_width, shorten_all
from mqadmin.output.terminal.cells import (
    STATES,
    ColumnKind,
    column_kind_of,
    style_of,
    text_of,
    time_text,
)

GAP: Final = 2
BODY_WIDTH: Final = 40
BODY_WIDTH_MIN: Final = 12
PROSE_WIDTH_MIN: Final = 17
NAME_WIDTH_MIN: Final = 6
STEPS: Final = (
    (ColumnKind.BODY, BODY_WIDTH),
    (ColumnKind.TIME, 1),
    (ColumnKind.TIME, 2),
    (ColumnKind.BODY, BODY_WIDTH_MIN),
    (ColumnKind.PROSE, PROSE_WIDTH_MIN),
    (ColumnKind.TIME, 3),
)
"""What shrinks after the headers and before names: to this width, or to this form of times."""


@dataclass(slots=True)
class FittedColumn:
    """One column of one table; ``texts`` are its cells as they are drawn at ``width``.

    ``whole`` has the uncut cells, because a column may shrink several times, and cutting a cut
    text would leave two ellipses.
    """

    name: str
    kind: ColumnKind
    values: Sequence[Value]
    now_ms: int
    whole: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    width: int = 0
    stacked: bool = False
    form: int = 0

    def __post_init__(self) -> None:
        if self.kind is ColumnKind.TIME:
            self.write_times(0)
        else:
            self._write([text_of(self.name, value) for value in self.values])

    def write_times(self, form: int) -> None:
        """Write the times in one of ``TIME_FORMS``."""
        self.form = form
        self._write([time_text(value, form=form, now_ms=self.now_ms) for value in self.values])

    def _write(self, whole: list[str]) -> None:
        self.whole = self.texts = whole
        self._measure()

    def _measure(self) -> None:
        widest = max((cell_width(text) for text in self.texts), default=0)
        self.width = max(widest, self.head_width if self.stacked else len(self.name))

    @property
    def parts(self) -> list[str]:
        """Return the words of the header, each with the ``_`` that it is typed with."""
        return self.name.upper().replace("_", "_\n").split("\n")

    @property
    def head_width(self) -> int:
        """Return the width that the header needs at least, in two lines."""
        parts = self.parts
        if len(parts) == 1:
            return len(parts[0])
        return min(
            max(len("".join(parts[:first])), len("".join(parts[first:])))
            for first in range(1, len(parts))
        )

    @property
    def header(self) -> str:
        """Return the column name in as many lines as its width requires."""
        made = [""]
        for part in self.parts:
            if made[-1] and len(made[-1]) + len(part) > self.width:
                made.append(part)
            else:
                made[-1] += part
        return "\n".join(made)

    def stack(self) -> None:
        """Break the header into several lines if it is wider than the cells."""
        self.stacked = True
        self._measure()

    def style(self, spot: int) -> str:
        """Return the colour of a cell."""
        return style_of(self.name, self.values[spot])

    def shrink(self, width: int) -> None:
        """Shrink to ``width``, or as far as its kind can."""
        if self.kind is ColumnKind.BODY:
            self.width = min(self.width, max(width, BODY_WIDTH_MIN))
            self.texts = [cut(text, self.width) for text in self.whole]
        elif self.kind is ColumnKind.PROSE:
            self.width = min(self.width, max(width, PROSE_WIDTH_MIN))
        elif self.kind is ColumnKind.NAME:
            low = max(width, self.head_width, NAME_WIDTH_MIN)
            self.width = narrowest_width(self.whole, low=min(low, self.width), high=self.width)
            self.texts = shorten_all(self.whole, self.width) or self.texts

    def follow(self, first: "FittedColumn") -> None:
        """Use the width of the first followed row; a number may be wider."""
        self.stacked = first.stacked
        if self.kind is ColumnKind.TIME:
            self.write_times(first.form)
        elif self.kind is ColumnKind.NUMBER:
            self.width = max(first.width, *(cell_width(text) for text in self.texts))
            return
        else:
            self.shrink(first.width)
        self.width = first.width

    @property
    def is_flag(self) -> bool:
        """Return whether the column is a flag, of which only a yes is of interest."""
        return self.name not in STATES and all(isinstance(value, bool) for value in self.values)

    @property
    def is_empty(self) -> bool:
        """Return whether no row has a value."""
        return not any(self.texts)


def columns_for(
    names: Sequence[str], records: Sequence[Record], *, now_ms: int
) -> list[FittedColumn]:
    """Return the columns of the records at their natural widths."""
    made = []
    for name in names:
        values = [record.get(name) for record in records]
        made.append(FittedColumn(name, column_kind_of(name, values), values, now_ms))
    return made


def without_empty_prose(columns: Sequence[FittedColumn]) -> list[FittedColumn]:
    """Return the columns without empty columns of sentences, which are for errors."""
    return [
        column for column in columns if column.kind is not ColumnKind.PROSE or not column.is_empty
    ]


def total(columns: Sequence[FittedColumn]) -> int:
    """Return the cells of a line."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def fit(
    columns: Sequence[FittedColumn], room: int, *, shorten_names: bool = True
) -> list[FittedColumn] | None:
    """Return the columns that are drawn, narrowed to ``room`` cells; None where they cannot."""
    kept = list(columns)
    for column in sorted(kept, key=lambda each: -len(each.name)):
        if total(kept) > room:
            column.stack()
    if total(kept) > room:
        kept = [column for column in kept if not column.is_empty] or kept
    for kind, low in STEPS:
        for column in sorted(kept, key=lambda each: -each.width):
            over = total(kept) - room
            if column.kind is not kind or over <= 0:
                continue
            if kind is ColumnKind.TIME:
                column.write_times(low)
            else:
                column.shrink(max(low, column.width - over))
    return _narrow_names(kept, room) if shorten_names or total(kept) <= room else None


def _narrow_names(kept: list[FittedColumn], room: int) -> list[FittedColumn] | None:
    """Narrow the widest name in small steps, so that each keeps as much as possible."""
    names = [column for column in kept if column.kind is ColumnKind.NAME]
    while total(kept) > room and names:
        widest = max(names, key=lambda column: column.width)
        over = total(kept) - room
        before = widest.width
        widest.shrink(before - min(over, max(1, before // 8)))
        if widest.width == before:
            names.remove(widest)
    return kept if total(kept) <= room else None
