"""Carved records as a commit log again: as many at their own log offset as possible.

    records that say 0 … 262143 ──> commitlog/00000000000000000000
    what is between them        ──> holes: ``store repair`` closes them

Rule: every record goes to the place it names, so that its id stays right; of two that
claim the same bytes the first one found stays, the other one is told. The sizes of the
files are the store's, or the smallest power of two that no record crosses.

Source: store/MappedFileQueue.java (names and sizes of files).
"""

from collections import OrderedDict
from typing import Final

from storefmt.errors import BadCall
from storefmt.message import BLANK_SIZE_MIN, Record
from storefmt.offline.outdir import OutDir, SparseFile
from storefmt.paths import log_file_name

LOG_FILE_SIZE: Final = 1 << 30
"""``mappedFileSizeCommitLog`` unless the broker's settings say otherwise."""
OPEN_MAX: Final = 16
FILES_MAX: Final = 100_000


class CarvedLog:
    """A commit log that is written record by record, in any order.

    Args:
        file_size: of each file, bytes.
    """

    def __init__(self, out: OutDir, *, file_size: int = LOG_FILE_SIZE) -> None:
        if file_size <= BLANK_SIZE_MIN:
            raise BadCall(f"log files of {file_size} bytes hold no record; give their real size")
        self.file_size = file_size
        self.written_count = 0
        self.out = out
        self._open: OrderedDict[int, SparseFile] = OrderedDict()
        self._bases: set[int] = set()

    def put(self, record: Record, data: bytes) -> bool:
        """Write a record where it says it lay; False where that is taken or cannot be.

        Args:
            data: its bytes.

        Raises:
            OSError: the disk refuses.
        """
        base = record.log_offset - record.log_offset % self.file_size
        pos = record.log_offset - base
        if record.log_offset < 0 or pos + len(data) + BLANK_SIZE_MIN > self.file_size:
            return False
        if base not in self._bases and len(self._bases) >= FILES_MAX:
            return False
        file = self._file(base)
        if file.read(pos, len(data)).strip(b"\0"):
            return False
        file.write(data, pos)
        self.written_count += 1
        return True

    def _file(self, base: int) -> SparseFile:
        file = self._open.get(base)
        if file is not None:
            self._open.move_to_end(base)
            return file
        path = self.out.file("commitlog", log_file_name(base))
        file = self._open[base] = SparseFile(path, size=self.file_size)
        self._bases.add(base)
        if len(self._open) > OPEN_MAX:
            self._open.popitem(last=False)[1].close()
        return file

    def close(self) -> None:
        """Close every file."""
        while self._open:
            self._open.popitem()[1].close()
