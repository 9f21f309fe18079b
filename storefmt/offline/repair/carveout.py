"""Carved records as a commit log again: as many at their own log offset as possible.

    records that say 0 … 262143 ──> commitlog/00000000000000000000
    what is between them        ──> holes: ``store repair`` closes them
    entry | record | entry | record ──> record | record | … | blank     out of a Raft log

Rule: a record goes to the place it names, so that its id stays right; of two that claim
the same bytes the first one found stays, the other one is told. Records of a DLedger log
cannot: between any two the head of an entry would leave a hole that no record fits into.
They are packed, in the order of their log offsets, and say where they lie now; their ids
change, their queues and queue offsets do not.

Source: store/MappedFileQueue.java (names and sizes of files).
"""

from array import array
from collections import OrderedDict
from pathlib import Path
from typing import Final

from storefmt.errors import BadCall
from storefmt.formats import layout
from storefmt.formats.dledger import HEAD_SIZE
from storefmt.formats.message import BLANK_SIZE_MIN, blank
from storefmt.offline.output_dir import OutDir, SparseFile
from storefmt.offline.repair.carve import Carved
from storefmt.paths import log_file_name
from storefmt.store_file import StoreFile

LOG_FILE_SIZE: Final = 1 << 30
"""``mappedFileSizeCommitLog`` unless the broker's settings say otherwise."""
OPEN_MAX: Final = 16
FILES_MAX: Final = 100_000
_LOG_OFFSET: Final = slice(
    layout.MESSAGE.part("queue_offset").struct().size,
    layout.MESSAGE.part("log_offset").struct().size,
)


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
        # Of each record out of a Raft log its place: 8 bytes a number, there may be millions.
        self._waiting: set[int] = set()
        self._places = array("q")
        self._paths: list[Path] = []
        self._in_place_end = 0

    def put(self, found: Carved) -> bool:
        """Write a record where it says it lay; False where that is taken or cannot be.

        One out of a Raft log is written by ``finish``.

        Raises:
            OSError: the disk refuses.
        """
        log_offset, size = found.record.log_offset, len(found.data)
        base = log_offset - log_offset % self.file_size
        if log_offset < 0 or size + BLANK_SIZE_MIN > self.file_size:
            return False
        if found.wrapped:
            if log_offset in self._waiting:
                return False
            if not self._paths or self._paths[-1] != found.path:
                self._paths.append(found.path)
            self._waiting.add(log_offset)
            self._places.extend((log_offset, found.pos, size, len(self._paths) - 1))
            return True
        pos = log_offset - base
        if pos + size + BLANK_SIZE_MIN > self.file_size or not self._has_room(base):
            return False
        file = self._file(base)
        if file.read(pos, size).strip(b"\0"):
            return False
        file.write(found.data, pos)
        self._in_place_end = max(self._in_place_end, log_offset + size)
        self.written_count += 1
        return True

    def _has_room(self, base: int) -> bool:
        return base in self._bases or len(self._bases) < FILES_MAX

    def finish(self) -> None:
        """Write the records of a Raft log, one behind the other.

        Raises:
            StoreError: a file that they were found in cannot be read any more.
            OSError: the disk refuses.
        """
        places, source = self._places, None
        order = sorted(range(0, len(places), 4), key=places.__getitem__)
        if not order:
            return
        first = places[order[0]] - HEAD_SIZE
        # The log begins with a file, or goes on behind the one from before the Raft group.
        at = max(first - first % self.file_size, self._in_place_end)
        try:
            for place in order:
                _, pos, size, path_number = places[place : place + 4]
                path = self._paths[path_number]
                if source is None or source.path != path:
                    if source is not None:
                        source.close()
                    source = StoreFile(path)
                at = self._pack(bytearray(source.read(pos, size)), at)
        finally:
            if source is not None:
                source.close()

    def _pack(self, data: bytearray, at: int) -> int:
        """Write a record at ``at``, or in the next file; return where it ends."""
        left = self.file_size - at % self.file_size
        if len(data) + BLANK_SIZE_MIN > left:
            self._file(at - at % self.file_size).write(blank(left), at % self.file_size)
            at += left
        data[_LOG_OFFSET] = at.to_bytes(8, "big")
        self._file(at - at % self.file_size).write(data, at % self.file_size)
        self.written_count += 1
        return at + len(data)

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
