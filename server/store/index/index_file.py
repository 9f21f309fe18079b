"""One index file that is being written: slots and new entries in memory, then on the disk.

    0        40        40 + 4 * slots
    | header | slots … | entries …     entries below written_count are in the file
      dirty    dirty                   the others are in ``fresh``

Rule: the bytes are those of Java's IndexFile.putKey, including its quirks: the time difference
of the first entry is relative to the end of the previous file, and the slot count in the header
counts used slots. Slots are kept in anonymous memory, which takes space only when touched.

Source: store/index/IndexFile.java#putKey, #selectPhyOffset, store/index/IndexHeader.java.
"""

import mmap
import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from server.store.disk.disk import Disk, DiskFile
from server.store.disk.zeros import is_blank_to
from storefmt.formats.index import (
    ENTRY,
    HEADER,
    IndexEntry,
    IndexHeader,
    entry_pos,
    index_file_size,
    select_offsets,
    slot_pos,
    walk_chain,
)

_PAGE_SLOTS: Final = 1024
_PAGE_SIZE: Final = _PAGE_SLOTS * 4
_ZERO_PAGE: Final = bytes(_PAGE_SIZE)
_TIME_DIFF_S_MAX: Final = 0x7FFFFFFF
FRESH_SIZE_MAX: Final = 1 << 20


class IndexFile:
    """One file; it is full when ``header.entry_count`` has reached ``entry_count_max``.

    Args:
        disk: the disk that holds the file.
        path: its path; the file is created sparse if ``header`` is given.
        slot_count: number of slots.
        entry_count_max: most entries, including the unused entry 0.
        header: header of a new file; None to read the header of an existing one.
    """

    def __init__(
        self,
        disk: Disk,
        path: Path,
        *,
        slot_count: int,
        entry_count_max: int,
        header: IndexHeader | None = None,
    ) -> None:
        self.path = path
        self.slot_count = slot_count
        self.entry_count_max = entry_count_max
        self._disk = disk
        self._file: DiskFile | None = None
        self._slots: memoryview | None = None
        self._dirty_pages: set[int] = set()
        self._fresh = bytearray()
        self.unsynced = False
        self._is_new = header is not None
        if header is None:
            header = IndexHeader.decode(self._opened().pread(HEADER.size, 0))
        else:
            self._create(header)
        (
            self.begin_ms,
            self.end_ms,
            self.begin_log_offset,
            self.end_log_offset,
            self.used_slot_count,
            self.entry_count,
        ) = header
        self._written_count = self.entry_count

    def _create(self, header: IndexHeader) -> None:
        self._disk.mkdir(self.path.parent)
        self._file = self._disk.open(self.path, create=True)
        self._file.truncate(index_file_size(self.slot_count, self.entry_count_max))
        # Java counts entries from 1 but never writes that 1 for an empty file.
        self._file.pwrite(header._replace(entry_count=0).encode(), 0)
        self.unsynced = True

    def _opened(self) -> DiskFile:
        if self._file is None:
            self._file = self._disk.open(self.path)
        return self._file

    @property
    def is_full(self) -> bool:
        """Tell whether the next key needs a new file."""
        return self.entry_count >= self.entry_count_max

    @property
    def header(self) -> IndexHeader:
        """Return the current header, on the disk or not."""
        return IndexHeader(
            self.begin_ms,
            self.end_ms,
            self.begin_log_offset,
            self.end_log_offset,
            self.used_slot_count,
            self.entry_count,
        )

    def put_rows(self, rows: Sequence[tuple[int, int, int]]) -> int:
        """Add keys while there is room; return how many were added.

        Args:
            rows: (key hash, log offset, store time in ms) for each key, in log order.
        """
        slots = self._slots if self._slots is not None else self._load_slots()
        slot_count = self.slot_count
        pack = ENTRY.pack
        touch = self._dirty_pages.add
        number = first = self.entry_count
        parts: list[bytes] = []
        used = time_diff_s = 0
        known_ms = -1
        for key_hash, log_offset, store_ms in rows[: self.entry_count_max - number]:
            # Keys of one store time come one after another.
            if store_ms != known_ms:
                known_ms, time_diff_s = store_ms, self._time_diff_s(store_ms)
            slot = key_hash % slot_count
            previous = slots[slot]
            if previous <= 0 or previous > number:
                previous = 0
                used += 1
            parts.append(pack(key_hash, log_offset, time_diff_s, previous))
            slots[slot] = number
            touch(slot // _PAGE_SLOTS)
            if number <= 1:
                self.begin_log_offset = log_offset
                self.begin_ms = store_ms
                known_ms = -1
            number += 1
        if number > first:
            self._fresh += b"".join(parts)
            self.used_slot_count += used
            self.entry_count = number
            _, self.end_log_offset, self.end_ms = rows[number - first - 1]
        return number - first

    def _time_diff_s(self, store_ms: int) -> int:
        begin_ms = self.begin_ms
        if store_ms > begin_ms > 0:
            return min((store_ms - begin_ms) // 1000, _TIME_DIFF_S_MAX)
        return 0

    def _load_slots(self) -> memoryview:
        """Copy the used slots into memory; pages that were never touched cost nothing."""
        memory = mmap.mmap(-1, max(self.slot_count * 4, 1))
        slots = memoryview(memory).cast("i")
        file = self._opened()
        pages = 0 if self._is_new else -(-self.slot_count // _PAGE_SLOTS)
        for page in range(pages):
            size = min(_PAGE_SIZE, (self.slot_count - page * _PAGE_SLOTS) * 4)
            data = file.pread(size, slot_pos(page * _PAGE_SLOTS))
            if data != _ZERO_PAGE[:size]:
                slots[page * _PAGE_SLOTS : page * _PAGE_SLOTS + size // 4] = _swapped(data)
        self._slots = slots
        return slots

    @property
    def fresh_size(self) -> int:
        """Bytes of entries that are only in memory."""
        return len(self._fresh)

    def write(self, *, pages_max: int | None = None) -> bool:
        """Write entries, then slots, then the header; return True if nothing is left.

        Args:
            pages_max: most slot pages of 4 KiB to write now; None for all.

        Raises:
            OSError: the disk refused them; they stay in memory.
        """
        if not self._fresh and not self._dirty_pages:
            return True
        file = self._opened()
        self.unsynced = True
        if self._fresh:
            file.pwrite(self._fresh, entry_pos(self._written_count, slot_count=self.slot_count))
            self._fresh = bytearray()
            self._written_count = self.entry_count
        pages = sorted(self._dirty_pages)[:pages_max]
        for first, last in _runs(pages):
            self._write_slots(file, first, last)
        self._dirty_pages.difference_update(pages)
        if not self._dirty_pages:
            file.pwrite(self.header.encode(), 0)
        return not self._dirty_pages

    def _write_slots(self, file: DiskFile, first: int, last: int) -> None:
        assert self._slots is not None
        start = first * _PAGE_SLOTS
        part = array("i")
        end = min((last + 1) * _PAGE_SLOTS, self.slot_count)
        part.frombytes(self._slots[start:end].tobytes())
        if sys.byteorder == "little":
            part.byteswap()
        file.pwrite(part.tobytes(), slot_pos(start))

    @property
    def is_done(self) -> bool:
        """Tell whether the file is full and fully written."""
        return self.is_full and not self._fresh and not self._dirty_pages

    def release_slots(self) -> None:
        """Free the memory of the slots once the file is full and written."""
        self._slots = None
        self._is_new = False

    def is_time_matched(self, begin_ms: int, end_ms: int) -> bool:
        """Tell whether the file may hold records stored from ``begin_ms`` to ``end_ms``."""
        return (
            (begin_ms < self.begin_ms and end_ms > self.end_ms)
            or self.begin_ms <= begin_ms <= self.end_ms
            or self.begin_ms <= end_ms <= self.end_ms
        )

    def select(self, key_hash: int, *, begin_ms: int, end_ms: int, count_max: int) -> list[int]:
        """Return log offsets of records with this key hash, newest first.

        Args:
            key_hash: hash of ``topic#key``.
            begin_ms: oldest store time.
            end_ms: newest store time.
            count_max: most log offsets to return.

        Raises:
            RecordDamaged: the chain of the slot is circular.
        """
        if self.entry_count <= 1:
            return []
        slot = key_hash % self.slot_count
        if self._slots is not None:
            first = self._slots[slot]
        else:
            first = int.from_bytes(self._opened().pread(4, slot_pos(slot)), "big", signed=True)
        chain = walk_chain(first, read_entry=self.entry, entry_count=self.entry_count)
        return select_offsets(
            chain,
            key_hash=key_hash,
            begin_ms=self.begin_ms,
            query_begin_ms=begin_ms,
            query_end_ms=end_ms,
            count_max=count_max,
        )

    def entry(self, number: int) -> IndexEntry:
        """Return entry ``number``, 0 < number < entry_count."""
        if number >= self._written_count:
            pos = (number - self._written_count) * ENTRY.size
            return IndexEntry.decode(bytes(self._fresh[pos : pos + ENTRY.size]))
        pos = entry_pos(number, slot_count=self.slot_count)
        return IndexEntry.decode(self._opened().pread(ENTRY.size, pos))

    def keys_at_end(self) -> int:
        """Return how many entries at the end belong to the record at ``end_log_offset``."""
        count = 0
        for number in range(self.entry_count - 1, 0, -1):
            if self.entry(number).log_offset != self.end_log_offset:
                break
            count += 1
        return count

    def is_blank(self) -> bool:
        """Tell whether the file has only zeros after its header."""
        size = index_file_size(self.slot_count, self.entry_count_max)
        return is_blank_to(self._opened(), HEADER.size, size)

    def fdatasync(self) -> None:
        """Write the file's data to the disk, and return when it is there."""
        self._opened().fdatasync()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _swapped(data: bytes) -> memoryview:
    part = array("i", data)
    if sys.byteorder == "little":
        part.byteswap()
    return memoryview(part)


def _runs(pages: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each run of adjacent numbers."""
    first = last = -2
    for page in pages:
        if page != last + 1:
            if last >= 0:
                yield first, last
            first = page
        last = page
    if last >= 0:
        yield first, last
