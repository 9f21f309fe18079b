"""A write of the commit log, as a job that any thread can run.

    begin_write (loop) ──> LogWrite ── do_work (thread): erase, write ──> end_write (loop)

Rule: the bytes of a job do not change any more. A job whose bytes go to one place of one open file
can be left to a thread that does not know Python (``segment``).

Source: store/CommitLog.java#asyncPutMessage, which writes while it holds the put lock.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqserver.store.disk.disk import DiskFile, RealFile
from mqserver.store.disk.job import DiskJob

_ZEROS: Final = bytes(1 << 16)


class Piece(NamedTuple):
    """Bytes for one place of one file."""

    file: DiskFile
    pos: int
    """Where they begin in the file."""
    parts: Sequence[bytes | memoryview] | None
    """The bytes, one part after another; None for zeros."""
    zero_count: int
    """Number of zeros."""


class Segment(NamedTuple):
    """All that a job has to do, in one open file."""

    descriptor: int
    pos: int = 0
    """Where ``data`` begins in the file."""
    data: bytes | memoryview | None = None
    """What to write; None to sync the file."""


class LogWrite(DiskJob):
    """Writes the log from ``begin`` to ``end``, and zeros over the bytes of a failed write.

    Args:
        pieces: the bytes, in the order in which they are written.
        begin: log offset of the first byte.
        end: log offset after the last one.
    """

    def __init__(self, pieces: list[Piece], *, begin: int, end: int) -> None:
        self.begin = begin
        self.end = end
        self._pieces = pieces

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return self.end - self.begin

    @property
    def segment(self) -> Segment | None:
        """All that has to be written; None if ``do_work`` has to be called."""
        if len(self._pieces) != 1:
            return None
        (piece,) = self._pieces
        if piece.parts is None or not isinstance(piece.file, RealFile):
            return None
        return Segment(piece.file.fileno(), piece.pos, _joined(piece.parts))

    def work(self) -> None:
        """Write the pieces."""
        for file, pos, parts, zero_count in self._pieces:
            if parts is not None:
                file.pwrite(_joined(parts), pos)
            for written in range(0, zero_count, len(_ZEROS)):
                file.pwrite(_ZEROS[: zero_count - written], pos + written)


def _joined(parts: Sequence[bytes | memoryview]) -> bytes | memoryview:
    return parts[0] if len(parts) == 1 else b"".join(parts)
