"""What every printer does: take records one by one, and finish.

Rule: ``end`` completes the document even if the rows stopped half-way, so that a JSON array is
closed before the error is printed.
"""

from abc import ABC, abstractmethod
from typing import BinaryIO, NamedTuple, TextIO

from mqadmin.output.columns import Record


class Look(NamedTuple):
    """How to print, by the options and the terminal.

    Attributes:
        names: the columns, for a header even when there is no row.
        follow: print each row at once.
        single: one object, not a list.
        width: columns of the terminal; 0 for a pipe, where nothing is cut.
        now_ms: the time from which a terminal works out the age of other times.
        named: the user has named the columns, so all of them are columns of the table.
        sections: headings of one thing on a terminal, and the fields below each.
        tree: columns that rows are nested by on a terminal.
        csv_raw: leave csv cells as they are that a spreadsheet would run as formulas.
    """

    names: tuple[str, ...]
    follow: bool = False
    single: bool = False
    headers: bool = True
    color: bool = False
    width: int = 0
    now_ms: int = 0
    named: bool = False
    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tree: tuple[str, ...] = ()
    csv_raw: bool = False


class Printer(ABC):
    """Prints records to a stream."""

    def __init__(self, out: TextIO, look: Look) -> None:
        self.out = out
        self.look = look

    @abstractmethod
    def row(self, record: Record) -> None:
        """Print one record, now or at the end."""

    def end(self) -> None:
        """Print what is left and close the document."""
        self.out.flush()


def binary_of(out: TextIO) -> BinaryIO:
    """Return the byte stream below a text stream.

    Raises:
        ValueError: it has no file descriptor.
    """
    buffer: BinaryIO | None = getattr(out, "buffer", None)
    if buffer is None:
        raise ValueError("msgpack needs a file or a pipe, because this output only accepts text")
    return buffer


def terminal_width() -> int:
    """Return the columns of the terminal."""
    # It imports all compression modules, which a pipe does not need.
    import shutil

    return shutil.get_terminal_size().columns
