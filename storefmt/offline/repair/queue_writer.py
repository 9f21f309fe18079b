"""Writes new consume queue files, byte for byte as a broker leaves them.

    |history|filler|entry k|entry k+1|…|0 0 0|     files of one size, named by first byte

Rule: entries come in order. A queue that starts inside a file begins with fillers, or with the
entries of the old file that point before the log (history, which the log no longer contains). If
an entry is missing, fillers take its place. An entry that comes again replaces the earlier one,
and entry 0 starts the queue over, because its topic was created again. If the old entry had the
address of an ext unit for the same record, the address stays, because the unit stays.

Source: store/ConsumeQueue.java#putMessagePositionInfo, #fillPreBlank.
"""

from pathlib import Path
from typing import Final

from storefmt.dispatch.queue_entries import file_parts, is_history, keep_ext_addresses
from storefmt.errors import StoreError
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER
from storefmt.offline.output_dir import OutputDirectory, sparse_file
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.tree import QueueKey
from storefmt.paths import log_file_name

QUEUE_FILE_SIZE: Final = 6_000_000
"""Bytes of a consume queue file unless ``mappedFileSizeConsumeQueue`` says otherwise."""
_NO_START: Final = 1 << 62
FILLERS_MAX: Final = 50_000_000
"""A longer run of entries without records counts as damage; it would be 1 GB of fillers."""


class QueueWriter:
    """The files of one queue while they are written.

    Args:
        out: where they go, as ``consumequeue/<topic>/<queue id>/…``.
        file_size: of each file in bytes, a multiple of an entry.
        old: the old queue, or None if there is none.
        log_min: log offset of the first byte of the log.
    """

    def __init__(
        self,
        out: OutputDirectory,
        key: QueueKey,
        *,
        file_size: int,
        old: QueueView | None,
        log_min: int,
    ) -> None:
        self.key = key
        self.next: int | None = None
        """Queue offset of the next entry; None before the first."""
        self.start = 0
        """Queue offset of the first entry that has a file."""
        self.filler_count = 0
        self.plain_ext_count = 0
        """Entries whose ext unit is lost: they have the plain hash."""
        self.expired_first = self.expired_count = 0
        """Old entries that only point before the log: their files are not rewritten."""
        self._out = out
        self._file_size = file_size
        self._old = old
        self._log_min = log_min
        self._buffer = bytearray()
        self._buffer_start = 0
        self._bases: set[int] = set()
        self._high = 0
        self._old_start = self._find_old_start()

    @property
    def buffered_size(self) -> int:
        """Bytes that are not written to the disk yet."""
        return len(self._buffer)

    def put(self, slot: int, log_offset: int, size: int, tags_code: int) -> None:
        """Make the record at ``log_offset`` entry ``slot``.

        Raises:
            OSError: the disk refuses.
        """
        if self.next is None or slot < self.start or (slot == 0 and self.next > 0):
            self._begin(slot)
        elif slot < self.next:
            self._go_back(slot)
        else:
            while self.next < slot:
                self._fill(slot)
        self._buffer += CQ_ENTRY.pack(log_offset, size, tags_code)
        self.next = slot + 1

    def put_run(self, entries: bytes) -> None:
        """Add entries, 20 bytes each, that follow the last one."""
        assert self.next is not None
        self._buffer += entries
        self.next += len(entries) // ENTRY_SIZE

    def keep_history(self) -> None:
        """Copy an old queue whose records are no longer in the log."""
        if self.next is not None or self._old is None or not self._old.files:
            return
        end = start = min(self._old_start, self._old.max_offset)
        for queue_offset, entry in self._old.entries(start):
            if not is_history(entry, self._log_min):
                break
            end = queue_offset + 1
        if end > start:
            self._begin(end)

    def finish(self) -> None:
        """Write the rest; everything after the last entry becomes free space.

        Raises:
            OSError: the disk refuses.
        """
        if self.next is not None and self._high > self.next:
            self._buffer += bytes((self._high - self.next) * ENTRY_SIZE)
        self.flush()
        for base in [base for base in self._bases if base >= (self.next or 0) * ENTRY_SIZE]:
            self._path(base).unlink()
            self._bases.discard(base)

    def flush(self) -> None:
        """Write what is in memory.

        Raises:
            OSError: the disk refuses.
        """
        if self._old is not None and self._old.ext:
            self._keep_ext(self._old)
        pos, done = self._buffer_start * ENTRY_SIZE, 0
        for base, in_file, size in file_parts(pos, len(self._buffer), file_size=self._file_size):
            with sparse_file(self._path(base), size=self._file_size) as file:
                file.pwrite(self._buffer[done : done + size], in_file)
            self._bases.add(base)
            done += size
        self._buffer_start += len(self._buffer) // ENTRY_SIZE
        self._buffer = bytearray()

    def _path(self, base: int) -> Path:
        topic, queue_id = self.key
        return self._out.file("consumequeue", topic, str(queue_id), log_file_name(base))

    def _fill(self, slot: int) -> None:
        assert self.next is not None
        count = min(slot - self.next, self._file_size // ENTRY_SIZE)
        self._buffer += FILLER * count
        self.filler_count += count
        self.next += count
        if len(self._buffer) >= self._file_size:
            self.flush()

    def _go_back(self, slot: int) -> None:
        """Continue at entry ``slot``, which is already written."""
        assert self.next is not None
        self.flush()
        self._high = max(self._high, self.next)
        self._buffer_start = self.next = slot

    def _begin(self, slot: int) -> None:
        """Start the queue with entry ``slot``: drop later entries, and write those before it."""
        for base in self._bases:
            self._path(base).unlink()
        self._bases.clear()
        self._buffer = bytearray()
        self.filler_count = self._high = 0
        in_file = slot % (self._file_size // ENTRY_SIZE)
        self.start = self._buffer_start = self.next = slot - in_file
        old = self._old
        if old is not None and self._old_start < self.start:
            self.start = self._buffer_start = self.next = self._old_start
        if old is not None and slot > self.next:
            for queue_offset, entry in old.entries(self.next, slot - self.next):
                if queue_offset != self.next:
                    break
                kept = is_history(entry, self._log_min)
                self._buffer += CQ_ENTRY.pack(*entry) if kept else FILLER
                self.next += 1
                if len(self._buffer) >= self._file_size:
                    self.flush()
        while self.next < slot:
            self._fill(slot)

    def _find_old_start(self) -> int:
        """Return the first entry of the old files that is worth keeping, a huge one for none.

        As in retention, a file that only points before the log is dropped unless it is the newest.
        """
        old = self._old
        if old is None or not old.files or old.files[0].start % self._file_size:
            return _NO_START
        start = old.start_offset
        for before, after in zip(old.files, old.files[1:], strict=False):
            if before.end != after.start or before.size != self._file_size:
                return _NO_START
            if after.start // ENTRY_SIZE < old.max_offset and start == before.start // ENTRY_SIZE:
                for _, last in old.entries(after.start // ENTRY_SIZE - 1, 1):
                    if is_history(last, self._log_min) and not last.is_filler:
                        start = after.start // ENTRY_SIZE
        self.expired_first, self.expired_count = old.start_offset, start - old.start_offset
        return start

    def _keep_ext(self, old: QueueView) -> None:
        start, count = self._buffer_start, len(self._buffer) // ENTRY_SIZE
        entries = ((number - start, entry) for number, entry in old.entries(start, count))

        def may_stay(address: int, tags_code: int) -> bool:
            is_there = self._ext_code(old, address) == tags_code
            self.plain_ext_count += not is_there
            return is_there

        keep_ext_addresses(self._buffer, entries, may_stay)

    def _ext_code(self, old: QueueView, address: int) -> int | None:
        try:
            unit = old.ext_unit(address)
        except StoreError:
            return None
        return None if unit is None else unit.tags_code
