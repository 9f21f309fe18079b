"""The table for people: aligned columns, numbers to the right.

    TOPIC    QUEUE_ID  LAG
    orders          0   12
    日志            1    0

Rule: what comes from a server is text from strangers: control characters are escaped, so
that a topic or a body cannot move the cursor or colour the screen. Wide characters count
as two cells. A cell is cut only on a terminal that is too narrow.
"""

from collections.abc import Sequence
from typing import Final, TextIO

from mqadmin.console import printable
from mqadmin.output.columns import Record, Value
from mqadmin.output.delimited import cell_text
from mqadmin.output.printer import Look, Printer

GAP: Final = "  "
ROWS_BUFFERED: Final = 1000
"""Rows that are read before widths are fixed; later rows may stick out."""

CELL_WIDTH_MIN: Final = 8
NESTED_WIDTH_MAX: Final = 60
"""How far columns of rows within a row are padded; a longer cell sticks out of its column."""

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def shown(value: Value) -> str:
    """Return a cell for people: a list of words as words, everything else as in csv."""
    if isinstance(value, list) and not _is_nested(value):
        return ", ".join(cell_text(item) for item in value)
    return cell_text(value)


def cell_width(text: str) -> int:
    """Return how many cells of a terminal ``text`` takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    width = wcswidth(text)
    return width if width >= 0 else len(text)


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells, its end replaced by an ellipsis."""
    if cell_width(text) <= width:
        return text
    kept = text[: max(width - 1, 0)]
    while kept and cell_width(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"


class TablePrinter(Printer):
    """Rows in aligned columns; a single row as name and value lines.

    Where even narrowed columns do not fit the terminal, each row is a block of such lines.
    """

    def __init__(self, out: TextIO, look: Look) -> None:
        super().__init__(out, look)
        self._waiting: list[list[str]] = []
        self._numeric = [True] * len(look.names)
        self._widths: list[int] = []
        self._fixed = False
        self._narrowed: set[int] = set()
        self._as_blocks = False
        self._count = 0

    def row(self, record: Record) -> None:
        if self.look.single:
            self._print_single(record)
            return
        values = [record.get(name) for name in self.look.names]
        cells = [printable(shown(value)) for value in values]
        if self._fixed:
            self._write(cells)
        else:
            self._note_types(values)
            self._waiting.append(cells)
            if self.look.follow or len(self._waiting) >= ROWS_BUFFERED:
                self._fix()
        self.flush_followed()

    def end(self) -> None:
        if not self.look.single and not self._fixed:
            self._fix()
        self.out.flush()

    def _note_types(self, values: Sequence[Value]) -> None:
        for spot, value in enumerate(values):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, (int, float))
            ):
                self._numeric[spot] = False

    def _fix(self) -> None:
        """Decide the widths from the rows so far, and print them."""
        self._fixed = True
        titles = [name.upper() for name in self.look.names]
        sample = [titles, *self._waiting] if self.look.headers else self._waiting
        self._widths = [
            max((cell_width(line[spot]) for line in sample), default=0)
            for spot in range(len(titles))
        ]
        if self.look.width:
            self._fit(self.look.width)
        if self.look.headers and not self._as_blocks:
            self._write(titles, bold=self.look.color)
        for cells in self._waiting:
            self._write(cells)
        self._waiting = []

    def _fit(self, width: int) -> None:
        """Narrow the widest text columns until a line fits the terminal."""
        over = sum(self._widths) + len(GAP) * (len(self._widths) - 1) - width
        while over > 0:
            texts = [spot for spot, numeric in enumerate(self._numeric) if not numeric]
            widest = max(texts, key=lambda spot: self._widths[spot], default=-1)
            if widest < 0 or self._widths[widest] <= CELL_WIDTH_MIN:
                # A follower's rows stay lines: who watches reads them as they fly by.
                self._as_blocks = bool(self._waiting) and not self.look.follow
                return
            step = min(over, max(1, self._widths[widest] // 8))
            self._widths[widest] -= step
            self._narrowed.add(widest)
            over -= step

    def _write(self, cells: Sequence[str], *, bold: bool = False) -> None:
        if self._as_blocks:
            self._write_block(cells)
            return
        parts = []
        for spot, cell in enumerate(cells):
            width = self._widths[spot]
            # A later row may be wider than the ones the widths are from: it sticks out.
            text = cut(cell, width) if spot in self._narrowed else cell
            pad = " " * max(0, width - cell_width(text))
            parts.append(pad + text if self._numeric[spot] else text + pad)
        line = GAP.join(parts).rstrip()
        self.out.write(f"{BOLD}{line}{PLAIN}\n" if bold else line + "\n")

    def _write_block(self, cells: Sequence[str]) -> None:
        self._count += 1
        self.out.write(f"-- {self._count} --\n")
        width = max(len(name) for name in self.look.names)
        for name, cell in zip(self.look.names, cells, strict=True):
            label = f"{name}:".ljust(width + 2)
            label = f"{BOLD}{label}{PLAIN}" if self.look.color else label
            self.out.write(f"{label}{cell}".rstrip() + "\n")

    def _print_single(self, record: Record) -> None:
        width = max((len(name) for name in record), default=0)
        for name, value in record.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                self.out.write(f"{name}:\n")
                for line in _nested_lines(value):
                    self.out.write(f"  {line}\n")
                continue
            label = f"{name}:".ljust(width + 2)
            label = f"{BOLD}{label}{PLAIN}" if self.look.color else label
            self.out.write(f"{label}{printable(shown(value))}\n")


def _nested_lines(rows: list[Value]) -> list[str]:
    """Return rows within a row: columns where they are flat and alike, json elsewhere."""
    records = [row for row in rows if isinstance(row, dict)]
    names = list(records[0]) if records else []
    table = [[name.upper() for name in names]]
    table += [[printable(shown(value)) for value in record.values()] for record in records]
    alike = len(records) == len(rows) and all(list(record) == names for record in records)
    if not alike or any(_is_nested(value) for record in records for value in record.values()):
        return [f"- {printable(cell_text(row))}" for row in rows]
    widths = [
        min(max(cell_width(line[spot]) for line in table), NESTED_WIDTH_MAX)
        for spot in range(len(names))
    ]
    numeric = [isinstance(records[0][name], (int, float)) for name in names]
    return [
        GAP.join(
            " " * (width - cell_width(cell)) + cell
            if right
            else cell + " " * (width - cell_width(cell))
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in table
    ]


def _is_nested(value: Value) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(item, (list, dict)) for item in value)
    )


def terminal_width() -> int:
    """Return the columns of the terminal."""
    # It brings every way of compression, which a pipe need not wait for.
    import shutil

    return shutil.get_terminal_size().columns
