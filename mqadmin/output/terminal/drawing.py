"""Tables, sections, trees and single things, drawn on a terminal by rich.

    records --> columns (``cells``) --> fitted to the width (``fitting``) --> rich --> terminal

    topic orders   broker broker-a              what is the same in every row
    QUEUE_ID  MIN_OFFSET  MAX_OFFSET  LAST_UPDATED_TIME
           0           0      12,345  2026-11-21 10:00:00Z 3 s ago

Rule: only this module, ``live`` and, for its bar, ``progress`` import rich, and a pipe never loads
it. Rich obeys escapes and reads ``[red]`` as a colour, so it only gets ``Text`` of texts that are
printable already.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from mqadmin.output.columns import Record, Value
from mqadmin.output.printer import Look, Printer
from mqadmin.output.terminal.cells import (
    STATES,
    ColumnKind,
    style_of,
    text_of,
    time_text,
    value_text,
)
from mqadmin.output.terminal.fitting import (
    GAP,
    FittedColumn,
    columns_for,
    fit,
    total,
    without_empty_prose,
)
from mqadmin.output.terminal.live import console_of
from mqadmin.session.console import printable

ROWS_BUFFERED: Final = 1000
"""Rows of one table; further rows start another table with its own header."""
INDENT: Final = 2
TIME_FORM_OF_TREE: Final = 2
"""Short, so that what follows a time in a line of a tree fits into 80 columns."""
PLAIN: Final = frozenset({"step"})
"""Columns whose values need no name in a line of a tree."""
LABEL: Final = "bold"


class TerminalPrinter(Printer):
    """Rows as a table, in sections where it is too wide; one thing as names and values."""

    def __init__(self, out: TextIO, look: Look) -> None:
        super().__init__(out, look)
        self._console = console_of(out, color=look.color, width=look.width)
        self._waiting: list[Record] = []
        self._names = list(look.names)
        if not look.named:
            # It is the same time in another form.
            timed = {name.removesuffix("_time") for name in look.names if name.endswith("_time")}
            self._names = [
                name
                for name in look.names
                if not name.endswith("_ms") or name.removesuffix("_ms") not in timed
            ]
        self._followed: list[FittedColumn] = []
        self._tables = 0

    def row(self, record: Record) -> None:
        """Add a record; a followed one is drawn at once."""
        if self.look.single:
            self._print_single(record)
        elif self.look.follow:
            self._print_followed(record)
        else:
            self._waiting.append(record)
            if len(self._waiting) >= ROWS_BUFFERED:
                self._print_table(last=False)

    def end(self) -> None:
        """Draw what is left."""
        if self._waiting:
            self._print_table(last=True)
        self.out.flush()

    def _draw(self, drawn: RenderableType) -> None:
        self._console.print(drawn, soft_wrap=False)

    def _print_table(self, *, last: bool) -> None:
        records, self._waiting = self._waiting, []
        whole = last and not self._tables
        self._tables += 1
        columns = columns_for(self._names, records, now_ms=self.look.now_ms)
        if not self.look.named:
            columns = without_empty_prose(columns) or columns
        if whole and not self.look.named and len(records) > 1:
            lifted = [column for column in columns if self._is_lifted(column)][: len(columns) - 1]
            columns = [column for column in columns if column not in lifted]
            if lifted and self.look.headers:
                self._draw(_title(lifted, 0))
        if self.look.tree and not self.look.named:
            self._draw(self._tree(columns, len(records)))
            return
        for lead, shorten_names in ((0, False), (1, False), (2, False), (0, True), (1, True)):
            head = columns[:lead]
            if any(column.kind is not ColumnKind.NAME for column in head):
                continue
            rows = _sections(head, len(records))
            # A title above each row would save nothing.
            if lead and len(records) > 1 and len(rows) * 2 > len(records):
                continue
            kept = fit(_again(columns[lead:]), self.look.width, shorten_names=shorten_names)
            if kept:
                self._print_sections(head, kept, rows)
                return
        self._print_blocks(_again(columns), len(records))

    def _is_lifted(self, column: FittedColumn) -> bool:
        is_grouping = column.name in self.look.tree or (self.look.tree and column.is_flag)
        return _is_constant(column) and not is_grouping

    def _print_sections(
        self, head: list[FittedColumn], kept: list[FittedColumn], sections: list[list[int]]
    ) -> None:
        """Draw one table, or one below each value of the leading columns."""
        for number, rows in enumerate(sections):
            if head:
                self._draw(_title(head, rows[0]))
            self._draw(self._table(kept, rows, headers=self.look.headers and number == 0))

    def _table(
        self, columns: Sequence[FittedColumn], rows: Sequence[int], *, headers: bool
    ) -> Table:
        # The gaps are columns: what padding adds to a width differs between versions of rich.
        table = Table(box=None, show_header=headers, header_style=LABEL, pad_edge=False, padding=0)
        height = max(column.header.count("\n") for column in columns)
        for number, column in enumerate(columns):
            if number:
                table.add_column(width=GAP)
            # Headers of different heights end on the same line, just above their cells.
            above = "\n" * (height - column.header.count("\n"))
            table.add_column(
                Text(above + column.header),
                justify="right" if column.kind is ColumnKind.NUMBER else "left",
                width=column.width,
                no_wrap=column.kind is not ColumnKind.PROSE,
                overflow="fold" if column.kind is ColumnKind.PROSE else "ellipsis",
            )
        for spot in rows:
            cells = [_cell(column, spot) for column in columns]
            table.add_row(*(cells[0], *(part for cell in cells[1:] for part in ("", cell))))
        return table

    def _print_blocks(self, columns: Sequence[FittedColumn], count: int) -> None:
        """Draw a block a row: names and values below each other."""
        for spot in range(count):
            self._draw(Text(f"-- {spot + 1} --", style="dim"))
            self._draw(_pairs((column.name, _cell(column, spot)) for column in columns))

    def _print_followed(self, record: Record) -> None:
        """Draw one row at once, at the widths that the first one has decided."""
        columns = columns_for(self._names, [record], now_ms=0)
        headers = not self._followed
        if headers:
            self._followed = columns = fit(_again(columns), self.look.width) or columns
            last = next(
                (column for column in reversed(columns) if column.kind is not ColumnKind.NUMBER),
                None,
            )
            if last is not None:
                # The width of later rows is unknown.
                last.width += max(0, self.look.width - total(columns))
        else:
            by_name = {column.name: column for column in columns}
            columns = [by_name[first.name] for first in self._followed]
            for column, first in zip(columns, self._followed, strict=True):
                column.follow(first)
        self._draw(self._table(columns, [0], headers=headers and self.look.headers))

    def _tree(self, columns: Sequence[FittedColumn], count: int) -> RenderableType:
        """Return the rows below the values of the columns that they are nested by."""
        nested = [column for column in columns if column.name in self.look.tree]
        rest = [column for column in columns if column.name not in self.look.tree]
        for column in rest:
            if column.kind is ColumnKind.TIME:
                column.write_times(TIME_FORM_OF_TREE)
        root = Tree("", hide_root=True, guide_style="dim")
        self._grow(root, nested, rest, list(range(count)))
        return root

    def _grow(
        self, tree: Tree, nested: list[FittedColumn], kept: list[FittedColumn], rows: list[int]
    ) -> None:
        if not nested:
            for spot in rows:
                tree.add(_leaf(kept, spot))
            return
        column, *deeper = nested
        for text in dict.fromkeys(column.texts[spot] for spot in rows):
            inside = [spot for spot in rows if column.texts[spot] == text]
            # A row without such a value is placed one level higher.
            branch = tree.add(Text(text, style=LABEL)) if text else tree
            self._grow(branch, deeper, kept, inside)

    def _print_single(self, record: Record) -> None:
        names = [name for name in self._names if name in record]
        inside = [name for name in names if _is_rows(record[name])]
        flat = [name for name in names if name not in inside]
        listed = {name for _, members in self.look.sections for name in members}
        sections = (*self.look.sections, ("", tuple(name for name in flat if name not in listed)))
        width = max((len(name) for name in flat), default=0)
        for title, members in sections:
            present = [name for name in members if name in flat]
            if not present:
                continue
            if title and self.look.headers:
                self._draw(Text(title, style=f"{LABEL} underline"))
            self._draw(_pairs(((name, self._value(name, record[name])) for name in present), width))
        for name in inside:
            rows = record[name]
            if isinstance(rows, list):
                self._draw(Text(f"{name}:", style=LABEL))
                self._draw(self._nested([row for row in rows if isinstance(row, dict)]))

    def _value(self, name: str, value: Value) -> Text:
        if name.endswith("_time"):
            return Text(time_text(value, form=0, now_ms=self.look.now_ms))
        return Text(text_of(name, value), style=style_of(name, value))

    def _nested(self, records: list[Record]) -> RenderableType:
        """Return rows within a row: a table of their own, or blocks where it is too wide."""
        names = list(dict.fromkeys(name for record in records for name in record))
        columns = columns_for(names, records, now_ms=self.look.now_ms)
        kept = fit(_again(columns), self.look.width - INDENT)
        if kept is not None:
            drawn: RenderableType = self._table(kept, range(len(records)), headers=True)
        else:
            drawn = Group(
                *(
                    Text(
                        ", ".join(
                            f"{name} {printable(value_text(record[name]))}" for name in record
                        )
                    )
                    for record in records
                )
            )
        return Padding(drawn, (0, 0, 0, INDENT))


def _again(columns: Sequence[FittedColumn]) -> list[FittedColumn]:
    """Return the columns at their natural widths."""
    return [
        FittedColumn(column.name, column.kind, column.values, column.now_ms) for column in columns
    ]


def _cell(column: FittedColumn, spot: int) -> Text:
    return Text(column.texts[spot], style=column.style(spot))


def _sections(head: list[FittedColumn], count: int) -> list[list[int]]:
    """Return the rows in runs that have the same values in the leading columns."""
    runs = groupby(range(count), key=lambda spot: [column.texts[spot] for column in head])
    return [list(spots) for _, spots in runs]


def _is_constant(column: FittedColumn) -> bool:
    """Return whether all rows have the same name here, so that the title can say it once."""
    return (
        column.kind is ColumnKind.NAME
        and column.name not in STATES
        and column.texts[0] != ""
        and len(set(column.texts)) == 1
    )


def _title(columns: Sequence[FittedColumn], spot: int) -> Text:
    parts = [
        Text.assemble((f"{column.name} ", "dim"), (column.texts[spot], LABEL)) for column in columns
    ]
    return Text("   ").join(parts)


def _pairs(pairs: Iterator[tuple[str, Text]], width: int = 0) -> Table:
    """Return names and values; a long value continues below."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, GAP, 0, 0))
    table.add_column(no_wrap=True, min_width=width + 1)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(Text(f"{name}:", style=LABEL), value)
    return table


def _leaf(columns: Sequence[FittedColumn], spot: int) -> Text:
    """Return the values of a row, with a name before each value that does not explain itself."""
    parts: list[Text] = []
    for column in columns:
        if column.is_flag:
            parts += [Text(column.name)] if column.values[spot] else []
        elif column.texts[spot]:
            is_first_time = column.kind is ColumnKind.TIME and not parts
            plain = is_first_time or column.kind is ColumnKind.PROSE or column.name in PLAIN
            label = "" if plain else f"{column.name.removesuffix('_time')} "
            parts.append(Text.assemble((label, "dim"), _cell(column, spot)))
    return Text("  ").join(parts)


def _is_rows(value: Value) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)
