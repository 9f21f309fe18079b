"""Queue entries that are in no queue file yet, of queues that are no objects now.

    queue "a": 7 ──> | behind -1, 1 entry |        chunks of 64 KiB: the newest in memory,
               ^──── | behind  7, 2 entries |      the others in a file without a name

Rule: one after another as they come, whatever queue they are of, so that ten thousand queues
with an entry each take no more than one with ten thousand: that is what a broker with as many
queues has instead of as many dirty pages. Entries are taken out queue by queue, all of it at
once; a chunk of which all are taken out is used again. The file is never synced and gone with
the process: what is in it is built again from the commit log. Where the disk refuses it,
chunks stay in memory.
"""

import struct
from pathlib import Path
from typing import Final

from server.store.disk.disk import Disk, DiskFile
from server.store.disk.nowait import may_wait
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE

CHUNK_SIZE: Final = 64 << 10
# Places take 32 bits: 2 GiB, of which who adds uses some 64 MiB.
_HEAD: Final = struct.Struct(">ii")
_HEAD_SIZE: Final = _HEAD.size
_ONE: Final = struct.Struct(_HEAD.format + CQ_ENTRY.format[1:])
_ONE_START_MAX: Final = CHUNK_SIZE - _HEAD_SIZE - _ONE.size
_CHUNK_END: Final = CHUNK_SIZE - _HEAD_SIZE
_RUN_MAX: Final = _CHUNK_END // ENTRY_SIZE * ENTRY_SIZE
_READ_SIZE: Final = 256


class Backlog:
    """Runs of entries, by the place that ``add`` gave them.

    Args:
        path: name of the file for the moment in which it is made.
    """

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path
        self._file: DiskFile | None = None
        self._chunk = bytearray()
        # Its number, where it begins and how many runs went into it.
        self._number = self._start = self._added = 0
        # Chunks that the disk did not take.
        self._kept: dict[int, bytearray] = {}
        # Runs in each chunk that are not taken out; of the newest, less those that went in.
        self._run_counts = [0]
        self._free: list[int] = []

    @property
    def chunk_count(self) -> int:
        """Chunks in use."""
        return len(self._run_counts) - len(self._free)

    def add(self, before: int, entries: bytes | bytearray) -> int:
        """Keep whole entries of a queue.

        Args:
            before: the place of those that come before them, -1 for none.

        Returns:
            Their place.
        """
        chunk, size = self._chunk, len(entries)
        at = len(chunk)
        if at + size > _CHUNK_END:
            if size > _RUN_MAX:
                for start in range(0, size, _RUN_MAX):
                    before = self.add(before, entries[start : start + _RUN_MAX])
                return before
            self._next_chunk()
            chunk, at = self._chunk, 0
        chunk += _HEAD.pack(before, size)
        chunk += entries
        self._added += 1
        return self._start + at

    def add_one(self, before: int, log_offset: int, size: int, tags_code: int) -> int:
        """Keep one entry, as ``add`` does."""
        chunk = self._chunk
        at = len(chunk)
        if at > _ONE_START_MAX:
            self._next_chunk()
            chunk, at = self._chunk, 0
        chunk += _ONE.pack(before, ENTRY_SIZE, log_offset, size, tags_code)
        self._added += 1
        return self._start + at

    def _next_chunk(self) -> None:
        counts = self._run_counts
        counts[self._number] += self._added
        if counts[self._number]:
            self._put_away()
            if not self._free:
                self._free.append(len(counts))
                counts.append(0)
            self._number = self._free.pop()
            self._start = self._number * CHUNK_SIZE
        self._chunk, self._added = bytearray(), 0

    def _put_away(self) -> None:
        """Write the newest chunk to the file; it stays in memory where that is not possible."""
        try:
            if self._file is None:
                self._file = self._disk.open(self._path, create=True)
                self._disk.unlink(self._path)
            self._file.pwrite(self._chunk, self._number * CHUNK_SIZE)
        except OSError:
            # Nothing is lost, and who writes queue files hears of the disk.
            self._kept[self._number] = self._chunk

    def take(self, place: int) -> bytes:
        """Give back the entries at ``place`` and all that come before them, in order.

        Raises:
            OSError: the disk cannot be read; nothing is taken.
        """
        parts: list[bytes] = []
        numbers: list[int] = []
        with may_wait():
            while place >= 0:
                numbers.append(place // CHUNK_SIZE)
                place, entries = self._run(*divmod(place, CHUNK_SIZE))
                parts.append(entries)
        for number in numbers:
            self._run_counts[number] -= 1
            if not self._run_counts[number] and number != self._number:
                self._kept.pop(number, None)
                self._free.append(number)
        parts.reverse()
        return b"".join(parts)

    def _run(self, number: int, at: int) -> tuple[int, bytes]:
        """Return the place of the run before this one, and the entries of this one."""
        chunk = self._chunk if number == self._number else self._kept.get(number)
        if chunk is not None:
            before, size = _HEAD.unpack_from(chunk, at)
            return before, bytes(chunk[at + _HEAD_SIZE : at + _HEAD_SIZE + size])
        assert self._file is not None
        pos = number * CHUNK_SIZE + at
        data = self._file.pread(_READ_SIZE, pos)
        before, size = _HEAD.unpack_from(data)
        if size > _READ_SIZE - _HEAD_SIZE:
            data = self._file.pread(_HEAD_SIZE + size, pos)
        return before, data[_HEAD_SIZE : _HEAD_SIZE + size]

    def close(self) -> None:
        """Give the file up, and all that is in it."""
        if self._file is not None:
            self._file.close()
            self._file = None
