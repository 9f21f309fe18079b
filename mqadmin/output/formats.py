"""The formats by name, and the order of rows.

Rule: ``--sort`` needs all rows before the first is printed; without it rows are printed
as they come.
"""

from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from typing import TextIO

from mqadmin.errors import Usage
from mqadmin.output.columns import Value, choose, columns_of, plain, record_of
from mqadmin.output.delimited import CsvPrinter, NamePrinter
from mqadmin.output.printer import Look, Printer
from mqadmin.output.rows import Row
from mqadmin.output.structured import JsonLinesPrinter, JsonPrinter, MsgpackPrinter, YamlPrinter
from mqadmin.output.table import TablePrinter
from mqadmin.session.global_options import Format

PRINTERS: dict[Format, type[Printer]] = {
    "table": TablePrinter,
    "json": JsonPrinter,
    "jsonl": JsonLinesPrinter,
    "yaml": YamlPrinter,
    "msgpack": MsgpackPrinter,
    "csv": CsvPrinter,
    "name": NamePrinter,
}


def printer_for(name: Format, out: TextIO, look: Look) -> Printer:
    """Return a printer of this format on ``out``.

    Raises:
        Usage: ``out`` cannot take it (msgpack on a text-only stream).
    """
    if name == "table" and look.width:
        # Only a terminal needs rich.
        from mqadmin.output.terminal.drawing import TerminalPrinter

        return TerminalPrinter(out, look)
    try:
        return PRINTERS[name](out, look)
    except ValueError as error:
        raise Usage(str(error)) from None


def text_of(row: Row, name: Format) -> str:
    """Return one row in a format, as a command prints a single object."""
    columns = columns_of(type(row))
    out = StringIO()
    look = Look(names=tuple(column.name for column in columns), single=True)
    printer = printer_for(name, out, look)
    printer.row(record_of(row, columns))
    printer.end()
    return out.getvalue()


def sorted_rows(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """Return the rows sorted by ``keys``: column names, with ``-`` in front for descending.

    Raises:
        Usage: a key is not a column.
    """
    made = list(rows)
    for key in reversed(keys):
        name = key.strip()
        for row_class in {type(row) for row in made}:
            choose(row_class, [name.lstrip("-")])
        made.sort(key=_key_of(name.lstrip("-")), reverse=name.startswith("-"))
    return made


def _key_of(name: str) -> Callable[[Row], tuple[int, float, str]]:
    """Return a sort key that puts None first, then numbers, then texts."""

    def key(row: Row) -> tuple[int, float, str]:
        value: Value = plain(choose(type(row), [name])[0].read(row))
        if value is None:
            return (0, 0.0, "")
        if isinstance(value, (int, float)):
            return (1, float(value), "")
        return (2, 0.0, str(value))

    return key
