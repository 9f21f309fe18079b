"""Print rows as a command does, for tests of formats and of terminals."""

import io
from collections.abc import Sequence
from typing import TextIO

from mqadmin.output.columns import choose, columns_of, record_of
from mqadmin.output.formats import printer_for
from mqadmin.output.printer import Look
from mqadmin.output.rows import Row
from mqadmin.session.global_options import Format


def print_rows(
    row_class: type[Row],
    rows: Sequence[Row],
    out: TextIO,
    kind: Format = "table",
    names: Sequence[str] = (),
    **look: object,
) -> None:
    """Print rows on ``out``: the named columns, or all of them."""
    columns = choose(row_class, names) if names else columns_of(row_class)
    shown = tuple(column.name for column in columns)
    printer = printer_for(kind, out, Look(names=shown, **look))
    for row in rows:
        printer.row(record_of(row, columns))
    printer.end()


def printed(rows: Sequence[Row], *names: str, kind: Format = "table", **look: object) -> str:
    """Return what is printed of some rows of one class."""
    out = io.StringIO()
    print_rows(type(rows[0]), rows, out, kind, names, **look)
    return out.getvalue()
