"""One opened consume queue: a row of files with entries of 20 bytes.

    file 0        file 6000      file 12000
    |e0 … e299|   |e300 … e599|  |e600 … e640|00000|
    ^ min_offset (entries behind the start of the log)  ^ max_offset

Rule: an all-zero entry was never written, and the queue ends after its last entry that is not
zero. ``entries`` skips the entries of missing files. Nothing here reads the log; ``verify`` does.

Source: store/ConsumeQueue.java#correctMinOffset, #getMaxOffsetInQueue.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from storefmt.errors import NotInStore
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, CqEntry, decode_entries, ext_offset
from storefmt.formats.consumequeue_ext import ExtUnit, decode_unit
from storefmt.offline.views.tree import FileSpan
from storefmt.store_file import OpenFiles, StoreFile

ENTRIES_A_READ: Final = 10_000
_UNIT_SIZE_MAX: Final = 1 << 15


class QueueView:
    """One consume queue.

    Args:
        spans: its files, by start; ``ext``: its ext files.
        log_min_offset: where the log starts: entries before that are no longer readable.
    """

    def __init__(
        self,
        topic: str,
        queue_id: int,
        *,
        spans: list[FileSpan],
        ext: list[FileSpan],
        open_files: OpenFiles,
        log_min_offset: int,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        # A name that is not a multiple of the entry size has no place; verify reports it.
        self.files = [span for span in spans if span.start % ENTRY_SIZE == 0]
        self.ext = ext
        self._open = open_files
        self._log_min_offset = log_min_offset

    @cached_property
    def start_offset(self) -> int:
        """Return the first queue offset that the files have room for."""
        return self.files[0].start // ENTRY_SIZE if self.files else 0

    @cached_property
    def max_offset(self) -> int:
        """Return the queue offset after the last entry; the next one to be written."""
        for span in reversed(self.files):
            end = self._open.open(span.path).data_end()
            if end:
                return (span.start + end + ENTRY_SIZE - 1) // ENTRY_SIZE
        return self.start_offset

    @cached_property
    def min_offset(self) -> int:
        """Return the first queue offset whose record the log may still have.

        As in Java, this is the first entry that does not point before the log; ``max_offset`` if
        all of them do.
        """
        for queue_offset, entry in self.entries():
            if entry.log_offset >= self._log_min_offset:
                return queue_offset
        return self.max_offset

    def entries(
        self, start: int | None = None, count: int | None = None
    ) -> Iterator[tuple[int, CqEntry]]:
        """Yield (queue offset, entry) from ``start``, at most ``count`` of them.

        All-zero entries between others are yielded (they are damage), those after the last entry
        are not.
        """
        low = self.start_offset if start is None else max(start, self.start_offset)
        high = self.max_offset if count is None else min(self.max_offset, low + count)
        for span in self.files:
            first = max(low, span.start // ENTRY_SIZE)
            last = min(high, span.end // ENTRY_SIZE)
            for number in range(first, last, ENTRIES_A_READ):
                data = self.read(span, number, min(ENTRIES_A_READ, last - number))
                yield from enumerate(decode_entries(data), number)

    def entry(self, queue_offset: int) -> CqEntry:
        """Return one entry.

        Raises:
            NotInStore: it lies outside of the queue, or its file is missing.
        """
        span = self.file_of(queue_offset)
        if span is not None and self.start_offset <= queue_offset < self.max_offset:
            data = self.read(span, queue_offset, 1)
            if len(data) == ENTRY_SIZE:
                return CqEntry._make(CQ_ENTRY.unpack(data))
        raise NotInStore(
            f"queue {self.topic} {self.queue_id} has no entry {queue_offset}; "
            f"it has {self.min_offset} to {self.max_offset - 1}"
        )

    def read(self, span: FileSpan, queue_offset: int, count: int) -> bytes:
        """Return the bytes of whole entries of one file; fewer at its end."""
        pos = queue_offset * ENTRY_SIZE - span.start
        data = self._open.open(span.path).read(pos, count * ENTRY_SIZE)
        return data[: len(data) - len(data) % ENTRY_SIZE]

    def file_of(self, queue_offset: int) -> FileSpan | None:
        """Return the file that holds an entry, None where it is missing or cut before it."""
        pos = queue_offset * ENTRY_SIZE
        number = bisect_right(self.files, pos, key=lambda span: span.start) - 1
        if number < 0 or pos + ENTRY_SIZE > self.files[number].end:
            return None
        return self.files[number]

    def range_of(self, span: FileSpan) -> tuple[int, int]:
        """Return the queue offsets that one file holds: the first, and after the last."""
        low = span.start // ENTRY_SIZE
        return low, max(low, min(self.max_offset, span.end // ENTRY_SIZE))

    def ext_unit(self, tags_code: int) -> ExtUnit | None:
        """Return the ext unit that an entry's ``tags_code`` is the address of; None for none.

        Raises:
            RecordDamaged: the bytes there are not a unit.
        """
        pos = ext_offset(tags_code)
        for span in self.ext:
            if span.start <= pos < span.end:
                file: StoreFile = self._open.open(span.path)
                return decode_unit(file.read(pos - span.start, _UNIT_SIZE_MAX))
        return None
