"""Unwritten queue entries of evicted queues.

    queue "a": 7 ──> | previous -1, 1 entry |      chunks of 64 KiB
               ^──── | previous 7, 2 entries |

Rule: entries of all queues are appended one after another, so that ten thousand queues with
one entry each take no more space than one queue with ten thousand entries, and dirty no queue
file pages. All entries of a queue are taken out together, and a chunk with no entries left
is freed. Everything is in memory: a write here would be one of the event loop, which must not wait
for the disk. ``QueueTable`` limits it to some 64 MiB.
"""

import struct
from typing import Final

from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE

CHUNK_SIZE: Final = 64 << 10
# A place takes 32 bits, which reach 2 GiB.
_HEAD: Final = struct.Struct(">ii")
_HEAD_SIZE: Final = _HEAD.size
_ONE: Final = struct.Struct(_HEAD.format + CQ_ENTRY.format[1:])
ONE_START_MAX: Final = CHUNK_SIZE - _HEAD_SIZE - _ONE.size
"""Where a run of one entry may begin in a chunk at the latest."""
_CHUNK_END: Final = CHUNK_SIZE - _HEAD_SIZE
_RUN_MAX: Final = _CHUNK_END // ENTRY_SIZE * ENTRY_SIZE


class Backlog:
    """Runs of entries; ``add`` returns the place of each."""

    def __init__(self) -> None:
        self.chunk = bytearray()
        """The newest chunk; the compiled dispatch appends to it as well."""
        self.start = 0
        """The place at which it begins."""
        self.added = 0
        """How many runs were added to it."""
        self._number = 0
        # The other chunks with entries, by number.
        self._full: dict[int, bytearray] = {}
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
        index = len(chunk)
        if index + size > _CHUNK_END:
            if size > _RUN_MAX:
                for start in range(0, size, _RUN_MAX):
                    before = self.add(before, entries[start : start + _RUN_MAX])
                return before
            self._next_chunk()
            chunk, index = self.chunk, 0
        chunk += _HEAD.pack(before, size)
        chunk += entries
        self.added += 1
        return self.start + index

    def add_one(self, before: int, log_offset: int, size: int, tags_code: int) -> int:
        """Add one entry as ``add`` does.

        Args:
            before: place of the queue's previous run, -1 for none.
            log_offset, size, tags_code: the fields of the entry.
        """
        chunk = self.chunk
        index = len(chunk)
        if index > ONE_START_MAX:
            self._next_chunk()
            chunk, index = self.chunk, 0
        chunk += _ONE.pack(before, ENTRY_SIZE, log_offset, size, tags_code)
        self.added += 1
        return self.start + index

    def _next_chunk(self) -> None:
        counts = self._run_counts
        counts[self._number] += self.added
        if counts[self._number]:
            self._full[self._number] = self.chunk
            if not self._free:
                self._free.append(len(counts))
                counts.append(0)
            self._number = self._free.pop()
            self.start = self._number * CHUNK_SIZE
        self.chunk, self.added = bytearray(), 0

    def take_entries(self, place: int) -> bytes:
        """Remove and return the entries at ``place`` and in all previous runs, in queue order."""
        parts: list[bytes] = []
        while place >= 0:
            number, index = divmod(place, CHUNK_SIZE)
            chunk = self.chunk if number == self._number else self._full[number]
            place, size = _HEAD.unpack_from(chunk, index)
            parts.append(bytes(chunk[index + _HEAD_SIZE : index + _HEAD_SIZE + size]))
            self._run_counts[number] -= 1
            if not self._run_counts[number] and number != self._number:
                del self._full[number]
                self._free.append(number)
        parts.reverse()
        return b"".join(parts)
