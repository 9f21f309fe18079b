"""Compares consume queues with the commit log and rewrites entries that differ.

    log records ──> expected entries ──compare──> files     equal: nothing is written
                                                  differ: the right bytes replace them

Rule: the log is right. Entries below the first record of a queue that the log still has stay
as they are if they point at expired records. Entries that point at nothing become fillers, which
readers skip, and everything after the last entry is cut off. The result has the same names,
lengths and bytes that the Java broker would have written. In a store that only Java wrote, an
ext address stays. In one of ours it becomes the plain tags code: after a power cut it may lead
to an older unit of another message, whose bit map would hide this message from its consumers.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #recover, #truncateDirtyLogicFiles.
"""

import sys
from enum import Enum
from typing import Final

from mqserver.store.disk.zeros import data_parts
from mqserver.store.queues.queue import ConsumeQueue, queue_bases
from mqserver.store.queues.queue_rows import QueueRow
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.store_errors import OUT_OF_SPACE
from storefmt.dispatch.queue_entries import file_parts, is_history, keep_ext_addresses
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER, FILLER_SIZE, CqEntry

_BUFFER_SIZE: Final = 64 << 10
_UNWRITTEN_MAX: Final = 1 << 20
"""Bytes of entries of each queue that may stay in memory while the disk is full."""
_NO_ENTRY: Final = (0, 0, 0)


class RestOfFiles(Enum):
    """What the files of a queue hold after the entries that are known to be right."""

    NOTHING = "zeros up to the end of the last file"
    ENTRIES = "something in the last file, and no other file"
    ANYTHING = "not examined, or there are other files"


class QueueRebuild:
    """The rebuild of one queue while the log is scanned.

    Args:
        table: the table that has the open files.
        queue: the queue; ``finish`` sets its offsets.
        log_min: log offset of the first retained byte.
        known: the entries that are right; None to compare the whole queue with the log.
        rest: what the files hold after those entries.
        keeps_units: whether an ext address may stay if offset and size agree.
    """

    def __init__(
        self,
        table: QueueTable,
        queue: ConsumeQueue,
        *,
        log_min: int,
        known: QueueRow | None = None,
        rest: RestOfFiles = RestOfFiles.ANYTHING,
        keeps_units: bool = False,
    ) -> None:
        self.queue = queue
        # Only what this object writes has to be synced, not what the files already hold.
        queue.synced_count = sys.maxsize
        self._keeps_units = keeps_units
        self.changed = False
        """Whether something on the disk did not agree with the log."""
        self.next: int | None = None
        """Queue offset that the next record should have; None before the first record."""
        self._start = 0
        # Whether the entries before ``_start`` were already compared with the log.
        self._believed = False
        self._known_base = -1 if known is None else known.first * ENTRY_SIZE
        self._files = table.files
        self._disk = table.files.disk
        self._log_min = log_min
        self._buffer = bytearray()
        self._buffer_start = 0
        self.no_space: OSError | None = None
        """Why entries stay in memory; housekeeping writes them once there is space."""
        self._rest = rest
        table.files.note_names(str(queue.directory))
        if known is not None:
            self._start = self._buffer_start = self.next = known.end
            self._believed = True
        if known is not None and rest is not RestOfFiles.ANYTHING:
            pos, end = known.first * ENTRY_SIZE, known.end * ENTRY_SIZE
            self._bases = list(range(pos, end, self._files.file_size))
        else:
            self._bases = self._usable_bases()

    def _usable_bases(self) -> list[int]:
        """Return the starts of files that follow without gaps; delete the others.

        They are those with the entries that are known to be right, or the last ones. A power cut
        may have lost any file after the known entries, and left a later one.
        """
        file_size = self._files.file_size
        rows: list[list[int]] = []
        for base in queue_bases(self._disk, self.queue.directory):
            if base % file_size:
                self._remove(base)
            elif rows and base == rows[-1][-1] + file_size:
                rows[-1].append(base)
            else:
                rows.append([base])
        known_base = self._known_base
        kept = next((row for row in rows if known_base in row), rows[-1] if rows else [])
        for row in rows:
            for base in row if row is not kept else ():
                self._remove(base)
        return kept

    def _remove(self, base: int) -> None:
        path = self.queue.path_at(base)
        self._files.forget(path)
        self._disk.unlink(path)
        self.changed = True

    def entry_at(self, number: int) -> tuple[int, int, int]:
        """Return the entry on the disk, zeros if it does not exist."""
        log_offset, size, tags_code = CQ_ENTRY.unpack(self._on_disk(number, 1))
        return log_offset, size, tags_code

    def add(self, queue_offset: int, log_offset: int, size: int, tags_code: int) -> None:
        """Add the entry of a record.

        Args:
            queue_offset: queue offset at which it belongs.
            log_offset, size, tags_code: the fields of the entry.

        Raises:
            OSError: the disk refused.
        """
        if self.next is None or queue_offset < self.next:
            self._go_back(queue_offset)
        assert self.next is not None
        if self.next < queue_offset:
            self._buffer += FILLER * (queue_offset - self.next)
            self.next = queue_offset
        self.add_next(log_offset, size, tags_code)

    def _go_back(self, queue_offset: int) -> None:
        """Make ``queue_offset`` the next one, for the first record or one that starts over."""
        self.flush()
        if self._buffer and self.no_space is not None:
            raise self.no_space
        if self.next is None or queue_offset < self._start:
            self._start = queue_offset
            self._believed = False
            self._known_base = -1
        self._buffer_start = self.next = queue_offset
        if self._rest is not RestOfFiles.ANYTHING:
            self._rest = RestOfFiles.ANYTHING
            self._bases = self._usable_bases()

    def add_next(self, log_offset: int, size: int, tags_code: int) -> None:
        """Add the entry of the record that has the queue offset ``next``.

        Raises:
            OSError: the disk refused.
        """
        assert self.next is not None
        self._buffer += CQ_ENTRY.pack(log_offset, size, tags_code)
        self.next += 1
        if len(self._buffer) >= (_BUFFER_SIZE if self.no_space is None else _UNWRITTEN_MAX):
            self.flush()

    def flush(self) -> None:
        """Compare the collected entries with the files, and write those that differ.

        On a full disk they stay in memory, as the entries of a running broker do.

        Raises:
            OSError: the disk refused.
        """
        if not self._buffer:
            return
        try:
            self._write()
        except OSError as error:
            if error.errno not in OUT_OF_SPACE or len(self._buffer) >= _UNWRITTEN_MAX:
                raise
            self.no_space = error

    def _write(self) -> None:
        rebuilt, on_disk = self._buffer, b""
        if self._rest is not RestOfFiles.NOTHING:
            on_disk = self._on_disk(self._buffer_start, len(rebuilt) // ENTRY_SIZE)
        if on_disk != rebuilt:
            if self._keeps_units and on_disk != bytes(len(on_disk)):
                keep_ext_addresses(rebuilt, enumerate(CQ_ENTRY.iter_unpack(on_disk)))
            if on_disk != rebuilt:
                self.changed = True
                self.queue.put_bytes(self._buffer_start, bytes(rebuilt))
        # What a dead process wrote can be read although it may not be on the disk.
        pos = self._buffer_start * ENTRY_SIZE
        for base, _, _ in file_parts(pos, len(rebuilt), file_size=self._files.file_size):
            self.queue.note_written(base)
        self._buffer_start += len(rebuilt) // ENTRY_SIZE
        self.queue.written_count = self._buffer_start
        self._buffer.clear()

    def _on_disk(self, start: int, count: int) -> bytes:
        """Return ``count`` entries from the files, with zeros if a file is short or missing."""
        parts: list[bytes] = []
        pos, whole = start * ENTRY_SIZE, count * ENTRY_SIZE
        for base, in_file, size in file_parts(pos, whole, file_size=self._files.file_size):
            try:
                data = self._files.get(self.queue.path_at(base)).pread(size, in_file)
            except FileNotFoundError:
                data = b""
            parts.append(data.ljust(size, b"\0"))
        return b"".join(parts)

    def finish(self, *, log_end: int) -> None:
        """Write the rest, cut off what follows it and set the offsets of the queue.

        Args:
            log_end: used for a queue none of whose records was found. It ends at the first
                entry that points beyond ``log_end``, since the log lost that record before
                the queue's file was written.

        Raises:
            OSError: the disk refused.
        """
        self.flush()
        if self.next is None:
            self._start = self.next = self._end_of_unseen(log_end)
            first = self._first_entry()
        else:
            first = self.settle()
        if self._rest is not RestOfFiles.NOTHING:
            self._cut(self.next)
        queue = self.queue
        queue.first = first
        queue.max_offset = queue.next_offset = self.next
        queue.tail = self._buffer
        queue.tail_start = queue.written_count = self.next - len(self._buffer) // ENTRY_SIZE
        queue.synced_count = min(queue.synced_count, queue.written_count)
        queue.min_offset = min_offset_of(queue, self._log_min)

    def settle(self) -> int:
        """Write the collected entries and check those before them; return the first entry.

        Raises:
            OSError: the disk refused.
        """
        self.flush()
        first = self._first_entry()
        if not self._believed:
            self._check_history(first)
            self._believed = True
        return first

    def _first_entry(self) -> int:
        """Return the first entry that has, or will have, a file; delete files before it."""
        if self._believed and self._bases:
            return self._bases[0] // ENTRY_SIZE
        count = self.queue.file_entry_count
        file_start = self._start - self._start % count
        if (
            self._bases
            and self._bases[0] // ENTRY_SIZE <= file_start <= self._bases[-1] // ENTRY_SIZE
        ):
            return self._bases[0] // ENTRY_SIZE
        for base in list(self._bases):
            if base // ENTRY_SIZE < file_start:
                self._remove(base)
                self._bases.remove(base)
        return file_start

    def _end_of_unseen(self, log_end: int) -> int:
        """Return the end of a queue whose records the log no longer has."""
        for base in self._bases:
            first = base // ENTRY_SIZE
            data = self._on_disk(first, self.queue.file_entry_count)
            for number, (log_offset, size, _) in enumerate(CQ_ENTRY.iter_unpack(data), first):
                beyond = size != FILLER_SIZE and log_offset + size > log_end
                if size <= 0 or log_offset < 0 or beyond:
                    return number
        return (self._bases[-1] + self._files.file_size) // ENTRY_SIZE if self._bases else 0

    def _check_history(self, first: int) -> None:
        """Replace entries before the first record by fillers unless they point at expired ones."""
        for start in range(first, self._start, _BUFFER_SIZE // ENTRY_SIZE):
            count = min(self._start - start, _BUFFER_SIZE // ENTRY_SIZE)
            on_disk = self._on_disk(start, count)
            entries = map(CqEntry._make, CQ_ENTRY.iter_unpack(on_disk))
            expected = b"".join(
                CQ_ENTRY.pack(*entry) if is_history(entry, self._log_min) else FILLER
                for entry in entries
            )
            if expected != on_disk:
                self.changed = True
                self.queue.put_bytes(start, expected)

    def _cut(self, end: int) -> None:
        """Remove everything from entry ``end`` on, and give the last files their full length."""
        end_pos = end * ENTRY_SIZE
        if self._rest is RestOfFiles.ENTRIES:
            in_file = end_pos % self._files.file_size
            if in_file:
                self._erase(end_pos - in_file, in_file)
            return
        for base in queue_bases(self._disk, self.queue.directory):
            if base >= end_pos:
                self._remove(base)
                continue
            self._erase(base, end_pos - base)
            self._fix_length(base)

    def _erase(self, base: int, start: int) -> None:
        """Overwrite a file with zeros from ``start`` on."""
        file_size = self._files.file_size
        if start >= file_size:
            return
        try:
            file = self._files.get(self.queue.path_at(base))
        except FileNotFoundError:
            # The disk had no space to create it yet.
            return
        for pos, data in data_parts(file, start, file_size):
            self.changed = True
            file.pwrite(bytes(len(data)), pos)
            self.queue.note_written(base)

    def _fix_length(self, base: int) -> None:
        path = self.queue.path_at(base)
        stat = self._disk.stat(path)
        if stat is not None and stat.size != self._files.file_size:
            self._files.get(path).truncate(self._files.file_size)
            self.queue.note_written(base)
            self.changed = True


def min_offset_of(queue: ConsumeQueue, log_min: int) -> int:
    """Return the first entry that points at a retained record, or ``max_offset`` if none does.

    Source: store/ConsumeQueue.java#correctMinOffset (which examines one file only).
    """
    low, high = queue.first, queue.max_offset
    begin = queue.entry(low)
    if begin is not None and begin[0] >= log_min and begin[1] != FILLER_SIZE:
        # Nothing has expired, as is nearly always the case.
        return low
    while low < high:
        middle = probe = (low + high) // 2
        entry = queue.entry(probe)
        # A filler does not show where to search next; the next message does.
        while entry is not None and entry[1] == FILLER_SIZE and log_min and probe + 1 < high:
            probe += 1
            entry = queue.entry(probe)
        if entry is None or entry[0] < log_min:
            low = probe + 1
        else:
            high = middle
    # A queue whose first message is not at the start of a file begins with fillers.
    while log_min and low < queue.max_offset and (queue.entry(low) or _NO_ENTRY)[1] == FILLER_SIZE:
        low += 1
    return low
