"""The table that a pipe gets: aligned columns, numbers to the right.

    TOPIC    QUEUE_ID  LAG
    orders          0   12
    日志            1    0

Rule: rows are written as they come, and never cut or wrapped; ``output.terminal.drawing`` draws
them for a terminal. Control characters are escaped even here, because a pipe often ends at a
terminal. Wide characters count as two cells.
"""

from collections.abc import Sequence
from typing import Final, TextIO

from mqadmin.output.columns import Record, Value
from mqadmin.output.delimited import cell_text
from mqadmin.output.printer import Look, Printer
from mqadmin.output.shorten import cell_width
from mqadmin.output.terminal.cells import holds_nested, words_of
from mqadmin.session.console import printable

GAP: Final = "  "
ROWS_BUFFERED: Final = 1000
"""How many rows are read before widths are fixed; later rows may be wider."""
NESTED_WIDTH_MAX: Final = 60
"""The widest padding of a nested column; a longer cell is wider than its column."""


class TablePrinter(Printer):
    """Rows in aligned columns; a single row as name and value lines."""

    def __init__(self, out: TextIO, look: Look) -> None:
        super().__init__(out, look)
        self._waiting: list[list[str]] = []
        self._numeric = [True] * len(look.names)
        self._widths: list[int] = []
        self._fixed = False

    def row(self, record: Record) -> None:
        """Write a record, or keep it until the widths are known."""
        if self.look.single:
            self._print_single(record)
            return
        values = [record.get(name) for name in self.look.names]
        cells = [words_of(*pair) for pair in zip(self.look.names, values, strict=True)]
        if self._fixed:
            self._write(cells)
        else:
            self._note_types(values)
            self._waiting.append(cells)
            if self.look.follow or len(self._waiting) >= ROWS_BUFFERED:
                self._fix()

    def end(self) -> None:
        """Write what is left."""
        if not self.look.single and not self._fixed:
            self._fix()
        self.out.flush()

    def _note_types(self, values: Sequence[Value]) -> None:
        for spot, value in enumerate(values):
            if value is not None and not _is_number(value):
                self._numeric[spot] = False

    def _fix(self) -> None:
        """Decide the widths from the rows so far, and print them."""
        self._fixed = True
        titles = [name.upper() for name in self.look.names]
        sample = [titles, *self._waiting] if self.look.headers else self._waiting
        self._widths = _widths(sample, len(titles))
        for cells in sample:
            self._write(cells)
        self._waiting = []

    def _write(self, cells: Sequence[str]) -> None:
        self.out.write(_line(cells, self._widths, self._numeric) + "\n")

    def _print_single(self, record: Record) -> None:
        width = max((len(name) for name in record), default=0)
        for name, value in record.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                self.out.write(f"{name}:\n")
                for line in _nested_lines(value):
                    self.out.write(f"  {line}\n")
                continue
            self.out.write(f"{f'{name}:'.ljust(width + 2)}{words_of(name, value)}\n")


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    """Return one line; a cell may be wider than its column."""
    parts = []
    for cell, width, to_right in zip(cells, widths, numeric, strict=True):
        pad = " " * max(0, width - cell_width(cell))
        parts.append(pad + cell if to_right else cell + pad)
    return GAP.join(parts).rstrip()


def _widths(lines: Sequence[Sequence[str]], count: int) -> list[int]:
    return [max((cell_width(line[spot]) for line in lines), default=0) for spot in range(count)]


def _nested_lines(rows: list[Value]) -> list[str]:
    """Return nested rows: as columns if they are flat and alike, otherwise as JSON."""
    records = [row for row in rows if isinstance(row, dict)]
    names = list(records[0]) if records else []
    table = [[name.upper() for name in names]]
    table += [[words_of(name, value) for name, value in record.items()] for record in records]
    alike = len(records) == len(rows) and all(list(record) == names for record in records)
    flat = all(_fits_a_cell(value) for record in records for value in record.values())
    if not alike or not flat:
        return [f"- {printable(cell_text(row))}" for row in rows]
    widths = [min(width, NESTED_WIDTH_MAX) for width in _widths(table, len(names))]
    numeric = [_is_number(records[0][name]) for name in names]
    return [_line(line, widths, numeric) for line in table]


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fits_a_cell(value: Value) -> bool:
    """Return whether a nested value is written in its column; a map is not."""
    return not isinstance(value, dict) and not (isinstance(value, list) and holds_nested(value))
