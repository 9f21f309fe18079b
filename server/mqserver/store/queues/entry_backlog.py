"""Unwritten queue entries of evicted queues.

    queue "a": 7 ──> | previous -1, 1 entry |      chunks of 64 KiB: the newest in memory,
               ^──── | previous 7, 2 entries |     the others in an unlinked file

Rule: entries of all queues are appended one after another, so that ten thousand queues with
one entry each take no more space than one queue with ten thousand entries, and dirty no queue
file pages. All entries of a queue are taken out together, and a chunk with no entries left
is used again. The file is never synced and disappears with the process, since its entries are
rebuilt from the commit log. If the disk refuses a chunk, it stays in memory.
"""

import struct
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk, DiskFile
from mqserver.store.disk.nowait import may_wait
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE

CHUNK_SIZE: Final = 64 << 10
# A place takes 32 bits, which reach 2 GiB; ``QueueTable`` uses some 64 MiB of it.
_HEAD: Final = struct.Struct(">ii")
_HEAD_SIZE: Final = _HEAD.size
_ONE: Final = struct.Struct(_HEAD.format + CQ_ENTRY.format[1:])
ONE_START_MAX: Final = CHUNK_SIZE - _HEAD_SIZE - _ONE.size
"""Where a run of one entry may begin in a chunk at the latest."""
_CHUNK_END: Final = CHUNK_SIZE - _HEAD_SIZE
_RUN_MAX: Final = _CHUNK_END // ENTRY_SIZE * ENTRY_SIZE
_READ_SIZE: Final = 256


class Backlog:
    """Runs of entries; ``add`` returns the place of each.

    Args:
        path: name of the file between its creation and its removal from the directory.
    """

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path
        self._file: DiskFile | None = None
        self.chunk = bytearray()
        """The newest chunk; the compiled dispatch appends to it, too."""
        self.start = 0
        """The place at which it begins."""
        self.added = 0
        """How many runs were added to it."""
        self._number = 0
        # Chunks that the disk refused.
        self._kept: dict[int, bytearray] = {}
        # Runs left in each chunk; for the newest, the runs in ``added`` are not counted yet.
        self._run_counts = [0]
        self._free: list[int] = []

    @property
    def chunk_count(self) -> int:
        """Number of chunks in use."""
        return len(self._run_counts) - len(self._free)

    def add(self, before: int, entries: bytes | bytearray) -> int:
        """Add whole entries of a queue.

        Args:
            before: place of the queue's previous run, -1 for none.

        Returns:
            The place of this run.
        """
        chunk, size = self.chunk, len(entries)
        at = len(chunk)
        if at + size > _CHUNK_END:
            if size > _RUN_MAX:
                for start in range(0, size, _RUN_MAX):
                    before = self.add(before, entries[start : start + _RUN_MAX])
                return before
            self._next_chunk()
            chunk, at = self.chunk, 0
        chunk += _HEAD.pack(before, size)
        chunk += entries
        self.added += 1
        return self.start + at

    def add_one(self, before: int, log_offset: int, size: int, tags_code: int) -> int:
        """Add one entry as ``add`` does.

        Args:
            before: place of the queue's previous run, -1 for none.
            log_offset, size, tags_code: the fields of the entry.
        """
        chunk = self.chunk
        at = len(chunk)
        if at > ONE_START_MAX:
            self._next_chunk()
            chunk, at = self.chunk, 0
        chunk += _ONE.pack(before, ENTRY_SIZE, log_offset, size, tags_code)
        self.added += 1
        return self.start + at

    def _next_chunk(self) -> None:
        counts = self._run_counts
        counts[self._number] += self.added
        if counts[self._number]:
            self._put_away()
            if not self._free:
                self._free.append(len(counts))
                counts.append(0)
            self._number = self._free.pop()
            self.start = self._number * CHUNK_SIZE
        self.chunk, self.added = bytearray(), 0

    def _put_away(self) -> None:
        """Write the newest chunk to the file; it stays in memory if the disk refuses it."""
        try:
            if self._file is None:
                self._file = self._disk.open(self._path, create=True)
                self._disk.unlink(self._path)
            self._file.pwrite(self.chunk, self._number * CHUNK_SIZE)
        except OSError:
            # Nothing is lost; the error will also show up when queue files are written.
            self._kept[self._number] = self.chunk

    def take(self, place: int) -> bytes:
        """Remove and return the entries at ``place`` and in all previous runs, in queue order.

        Raises:
            OSError: the disk could not be read; nothing is removed.
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
        """Return the place of the previous run, and the entries of this one."""
        chunk = self.chunk if number == self._number else self._kept.get(number)
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
        """Close the file and lose its entries."""
        if self._file is not None:
            self._file.close()
            self._file = None
