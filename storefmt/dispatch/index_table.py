"""One index file while keys are added: slots and new entries in memory, then in the file.

    0        40        40 + 4 * slots
    | header | slots … | entries …     entries below written_count are in the file
      last     dirty                   the others are in memory

Rule: the bytes are those of Java's IndexFile.putKey, including its quirks: the time difference
of the first entry is relative to the end of the previous file, the slot count in the header
counts used slots, and an empty file has an entry count of 0. A new file is named by the local
time, and its begin is the end of the file before it until its first key comes. Slots are kept in
anonymous memory, which takes space only when touched.

Source: store/index/IndexFile.java#putKey, store/index/IndexHeader.java,
store/index/IndexService.java#getAndCreateLastIndexFile (4.9.7).
"""

import mmap
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import compress, count, islice
from typing import Final, NamedTuple, Protocol

from storefmt.dispatch.record_entries import is_indexed
from storefmt.formats.index import (
    ENTRY,
    PAGE_SLOTS,
    IndexHeader,
    encode_slots,
    entry_pos,
    index_file_size,
    index_key,
    slot_pos,
    time_diff_s,
)
from storefmt.formats.javahash import index_key_hash
from storefmt.kernels import load

_TIME_FORMAT: Final = "%Y%m%d%H%M%S"

Keyed = tuple[str, int, int, int, int, int, int, int, tuple[str, ...]]
"""One record: topic, queue id, queue offset, log offset, size, tags code, store time in ms,
sys flag, and keys."""
Row = tuple[int, int, int]
"""One key: its hash, the log offset of its record, and the store time of that record in ms."""


class WritableFile(Protocol):
    """A file that is written in places."""

    def pwrite(self, data: bytes | bytearray, pos: int) -> None:
        """Write all of ``data`` at ``pos`` or raise ``OSError``."""


class IndexWrite(NamedTuple):
    """What one write copies from memory into the file of a table."""

    parts: list[tuple[int, bytes]]
    """Positions and bytes, in the order in which they are written."""
    entries_size: int
    """Bytes of entries among them."""
    entry_count: int
    """Entry count of the table when the write began."""
    pages: list[int]
    """Pages of slots among them."""


class IndexTable:
    """The content of one file; it is full when ``entry_count`` has reached ``entry_count_max``.

    Args:
        header: header of the file so far.
        slot_count: number of slots.
        entry_count_max: most entries, including the unused entry 0.
    """

    def __init__(self, header: IndexHeader, *, slot_count: int, entry_count_max: int) -> None:
        self.slot_count = slot_count
        self.entry_count_max = entry_count_max
        (
            self.begin_ms,
            self.end_ms,
            self.begin_log_offset,
            self.end_log_offset,
            self.used_slot_count,
            self.entry_count,
        ) = header
        self._written_count = self.entry_count
        self._fresh = bytearray()
        self._slots: memoryview | None = None
        # One byte for each page of slots: whether it has to be written.
        self._dirty = bytearray()

    @property
    def file_size(self) -> int:
        """Bytes of the file."""
        return index_file_size(self.slot_count, self.entry_count_max)

    @property
    def is_full(self) -> bool:
        """Return whether the next key needs a new file."""
        return self.entry_count >= self.entry_count_max

    @property
    def is_written(self) -> bool:
        """Return whether the file has everything that is in memory."""
        return not self._fresh and 1 not in self._dirty

    @property
    def fresh_size(self) -> int:
        """Bytes of entries that are only in memory."""
        return len(self._fresh)

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

    def put_rows(self, rows: list[Row]) -> int:
        """Add keys in log order while there is room; return how many were added."""
        if self._slots is None:
            # Loaded at the first key, so that slots that could not be read never count as empty.
            self._slots = self._load_slots()
            self._dirty = bytearray(-(-self.slot_count // PAGE_SLOTS))
        room = self.entry_count_max - self.entry_count
        if len(rows) > room:
            rows = rows[: max(room, 0)]
        if not rows:
            return 0
        used, self.begin_ms, self.begin_log_offset = _add_rows(
            rows,
            self._slots,
            self._dirty,
            self._fresh,
            self.entry_count,
            self.begin_ms,
            self.begin_log_offset,
        )
        self.used_slot_count += used
        self.entry_count += len(rows)
        _, self.end_log_offset, self.end_ms = rows[-1]
        return len(rows)

    def _load_slots(self) -> memoryview:
        """Return the slots of a new file."""
        memory = mmap.mmap(-1, max(self.slot_count * 4, 1))
        return memoryview(memory).cast("i")

    def write_to(self, file: WritableFile, *, pages_max: int | None = None) -> bool:
        """Write entries, then slots, then the header; return True if nothing is left.

        Args:
            file: the file of this table.
            pages_max: most pages of ``PAGE_SLOTS`` slots to write now; None for all.

        Raises:
            OSError: the disk refused them; they stay in memory.
        """
        write, is_done = self.begin_write(pages_max=pages_max), False
        try:
            for pos, data in write.parts:
                file.pwrite(data, pos)
            is_done = True
        finally:
            self.end_write(write, is_done=is_done)
        return self.is_written

    def begin_write(self, *, pages_max: int | None = None) -> IndexWrite:
        """Copy what ``write_to`` writes; pass the copy to ``end_write`` when it is in the file.

        Keys may be added meanwhile, but no other write may begin.
        """
        parts: list[tuple[int, bytes]] = []
        if self._fresh:
            start = entry_pos(self._written_count, slot_count=self.slot_count)
            parts.append((start, bytes(self._fresh)))
        pages = list(islice(compress(count(), self._dirty), pages_max))
        for first, last in _runs(pages):
            assert self._slots is not None
            start, end = first * PAGE_SLOTS, min((last + 1) * PAGE_SLOTS, self.slot_count)
            parts.append((slot_pos(start), encode_slots(self._slots[start:end])))
        for page in pages:
            self._dirty[page] = 0
        if 1 not in self._dirty:
            parts.append((0, self._header_bytes()))
        return IndexWrite(parts, len(self._fresh), self.entry_count, pages)

    def end_write(self, write: IndexWrite, *, is_done: bool) -> None:
        """Release what is in the file now; unless ``is_done``, it has to be written again."""
        if is_done:
            del self._fresh[: write.entries_size]
            self._written_count = write.entry_count
        else:
            for page in write.pages:
                self._dirty[page] = 1

    def _header_bytes(self) -> bytes:
        # Java counts entries from 1 but never writes that 1 for an empty file.
        entry_count = self.entry_count if self.entry_count > 1 else 0
        return self.header._replace(entry_count=entry_count).encode()


def key_rows(records: Sequence[Keyed]) -> list[Row]:
    """Return a row for each key of records in log order; rollback records have none."""
    return _key_rows(records)


def key_rows_pure(records: Sequence[Keyed]) -> list[Row]:
    """Do what ``key_rows`` does, in plain Python."""
    return [
        (index_key_hash(index_key(topic, key)), log_offset, store_ms)
        for topic, _, _, log_offset, _, _, store_ms, sys_flag, keys in records
        if keys and is_indexed(sys_flag)
        for key in keys
    ]


def add_rows_pure(
    rows: list[Row],
    slots: "memoryview[int]",
    dirty: bytearray,
    fresh: bytearray,
    number: int,
    begin_ms: int,
    begin_log_offset: int,
    /,
) -> tuple[int, int, int]:
    """Append an entry to ``fresh`` for each row and let its slot point at it.

    Args:
        rows: the keys.
        slots: the slots of the file.
        dirty: is set to 1 for each page with a slot that was changed.
        fresh: takes the bytes of the entries.
        number: number of the first new entry.
        begin_ms, begin_log_offset: of the header.

    Returns:
        How many more slots are in use, and begin_ms and begin_log_offset as they are now.
    """
    used = seconds = 0
    slot_count, pack = len(slots), ENTRY.pack
    known_ms = -1
    for key_hash, log_offset, store_ms in rows:
        # Keys of one store time come one after another.
        if store_ms != known_ms:
            known_ms, seconds = store_ms, time_diff_s(store_ms, begin_ms=begin_ms)
        slot = key_hash % slot_count
        previous = slots[slot]
        if previous <= 0 or previous > number:
            previous = 0
            used += 1
        fresh += pack(key_hash, log_offset, seconds, previous)
        slots[slot] = number
        dirty[slot // PAGE_SLOTS] = 1
        if number <= 1:
            begin_ms, begin_log_offset = store_ms, log_offset
            known_ms = -1
        number += 1
    return used, begin_ms, begin_log_offset


_key_rows = load("storefmt.dispatch.index_kernel", "key_rows_compiled", pure=key_rows_pure)
_add_rows = load("storefmt.dispatch.index_kernel", "add_rows_compiled", pure=add_rows_pure)


def following_header(before: IndexHeader | None) -> IndexHeader:
    """Return the header of a new file after the one with the header ``before``, None for none."""
    if before is None:
        return IndexHeader()
    end_ms, end = before.end_ms, before.end_log_offset
    return IndexHeader(end_ms, end_ms, end, end)


def new_file_name(now_ms: int, *, last: str = "") -> str:
    """Return a name by local time (yyyyMMddHHmmssSSS) that sorts after the name ``last``."""
    name = _time_name(now_ms)
    return name if name > last else _next_name(last)


def _time_name(now_ms: int) -> str:
    try:
        when = datetime.fromtimestamp(now_ms / 1000)
    except (ValueError, OverflowError, OSError):
        # The store time of the record is damaged; any name in the right order is good.
        return f"{0:017d}"
    return f"{when:{_TIME_FORMAT}}{now_ms % 1000:03d}"


def _next_name(last: str) -> str:
    """Return the time name one ms after ``last``, or the next number if it is not a time."""
    try:
        when = datetime.strptime(last[:14], _TIME_FORMAT).timestamp()
    except ValueError:
        return str(int(last) + 1).zfill(len(last))
    return _time_name(int(when) * 1000 + int(last[14:] or "0") + 1)


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
