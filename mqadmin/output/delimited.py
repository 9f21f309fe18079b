"""Formats for spreadsheets and shell loops: csv, and the first column alone.

Rule: numbers are never grouped, a nested value is JSON in its cell, None is empty. In csv, a text
that a spreadsheet would run as a formula (it begins with = + - @, a tab or a carriage return) gets
an apostrophe in front, because producers choose keys and bodies; a text that is a number stays as
it is. ``Look.csv_raw`` leaves all texts as they are.
"""

import re
from typing import Final, TextIO

from mqadmin.output.columns import Record, Value
from mqadmin.output.printer import Look, Printer
from mqadmin.output.structured import json_text
from mqadmin.session.console import printable


def cell_text(value: Value) -> str:
    """Return a value as one cell: true and false as json spells them."""
    if value is None:
        return ""
    if isinstance(value, (bool, list, dict)):
        return json_text(value)
    return str(value)


_FORMULA: Final = re.compile(r"[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?|-")


def harmless(text: str) -> str:
    """Return a text so that no spreadsheet runs it as a formula."""
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def _cell(value: Value, look: Look) -> str:
    # A file gets the characters as they are; a terminal would act on control characters.
    return printable(cell_text(value)) if look.width else cell_text(value)


class CsvPrinter(Printer):
    """RFC 4180 rows, with line feeds as line ends."""

    def __init__(self, out: TextIO, look: Look) -> None:
        super().__init__(out, look)
        # The other formats take their cells from here, and need no csv.
        import csv

        self._writer = csv.writer(out, lineterminator="\n")
        if look.headers:
            self._writer.writerow(look.names)

    def row(self, record: Record) -> None:
        cells = (_cell(record.get(name), self.look) for name in self.look.names)
        self._writer.writerow(cells if self.look.csv_raw else map(harmless, cells))


class NamePrinter(Printer):
    """The first column, one value on a line: for ``xargs`` and ``while read``."""

    def row(self, record: Record) -> None:
        self.out.write(_cell(next(iter(record.values()), None), self.look) + "\n")
