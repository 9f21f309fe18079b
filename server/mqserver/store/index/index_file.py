"""One index file of a store that serves: it takes new keys and answers queries.

Rule: ``storefmt.dispatch.index_table`` makes the bytes. Here they are written through the disk
and read back, whether they are in the file or only in memory. A new file is created by the first
write: until then nothing needs it, and a key never waits for the disk.

Source: store/index/IndexFile.java#putKey.
"""

from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk, DiskFile
from mqserver.store.disk.file_write import FileWrite, write_file
from mqserver.store.disk.zeros import is_blank_to
from storefmt.dispatch.index_table import IndexTable, IndexWrite
from storefmt.formats.index import (
    ENTRY,
    HEADER,
    PAGE_SLOTS,
    SLOT,
    IndexEntry,
    IndexHeader,
    decode_slots,
    entry_pos,
    slot_pos,
)

_ZERO_PAGE: Final = bytes(PAGE_SLOTS * SLOT.size)
FRESH_SIZE_MAX: Final = 1 << 20


class IndexFile(IndexTable):
    """One file on the disk.

    Args:
        disk: the disk that holds the file.
        path: its path; ``write`` creates the file, sparse, if ``header`` is given.
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
        self._disk = disk
        self._file: DiskFile | None = None
        self.unsynced = False
        self._is_new = header is not None
        self.is_made = header is None
        """Whether the file exists."""
        if header is None:
            header = IndexHeader.decode(self._opened().pread(HEADER.size, 0))
        super().__init__(header, slot_count=slot_count, entry_count_max=entry_count_max)
        self._empty_header = self._header_bytes()

    def _opened(self) -> DiskFile:
        if self._file is None:
            self._file = self._disk.open(self.path)
        return self._file

    def _load_slots(self) -> memoryview:
        """Copy the used slots into memory; pages that were never touched cost nothing."""
        slots = super()._load_slots()
        if self._is_new:
            return slots
        file = self._opened()
        for first in range(0, self.slot_count, PAGE_SLOTS):
            size = min(PAGE_SLOTS, self.slot_count - first) * SLOT.size
            data = file.pread(size, slot_pos(first))
            if data != _ZERO_PAGE[:size]:
                slots[first : first + size // SLOT.size] = memoryview(decode_slots(data))
        return slots

    def write(self, *, pages_max: int | None = None) -> bool:
        """Write what is only in memory as ``write_to`` does; return True if nothing is left.

        Args:
            pages_max: most slot pages of 4 KiB to write now; None for all.

        Raises:
            OSError: the disk refused them; they stay in memory.
        """
        if self.is_written:
            return True
        write, is_done = self.begin_write(pages_max=pages_max), False
        try:
            write_file(self._disk, self.file_write(write))
            is_done = True
        finally:
            self.end_write(write, is_done=is_done)
        return self.is_written

    def file_write(self, write: IndexWrite) -> FileWrite:
        """Return a write that ``begin_write`` returned, for the thread that carries it out."""
        # A file that a kill leaves behind has the header of an empty one, if not a later one.
        first = [] if self.is_made else [(0, self._empty_header)]
        return FileWrite(str(self.path), self.file_size, [*first, *write.parts])

    def end_write(self, write: IndexWrite, *, is_done: bool) -> None:
        """Let go of what is in the file now, as ``IndexTable.end_write`` does."""
        super().end_write(write, is_done=is_done)
        self.unsynced = True
        self.is_made = self.is_made or is_done
        if self.is_done:
            self.release_slots()

    @property
    def is_done(self) -> bool:
        """Return whether the file is full and fully written."""
        return self.is_full and self.is_written

    def release_slots(self) -> None:
        """Free the memory of the slots once the file is full and written."""
        self._slots = None
        self._is_new = False

    def is_time_matched(self, begin_ms: int, end_ms: int) -> bool:
        """Return whether the file may hold records stored from ``begin_ms`` to ``end_ms``."""
        return (
            (begin_ms < self.begin_ms and end_ms > self.end_ms)
            or self.begin_ms <= begin_ms <= self.end_ms
            or self.begin_ms <= end_ms <= self.end_ms
        )

    def newest_number(self, key_hash: int) -> int:
        """Return the number of the newest entry in the slot of ``key_hash``; 0 or less for none."""
        slot = key_hash % self.slot_count
        if self._slots is not None:
            return self._slots[slot]
        return int.from_bytes(self._opened().pread(4, slot_pos(slot)), "big", signed=True)

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
        """Return whether the file has only zeros after its header."""
        return is_blank_to(self._opened(), HEADER.size, self.file_size)

    def fdatasync(self) -> None:
        """Write the file's data to the disk, and return when it is there."""
        self._opened().fdatasync()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._file is not None:
            self._file.close()
            self._file = None
