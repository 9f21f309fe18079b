"""The effective commit log: files in the order of their records, up to the end of the log.

    file 0 … file n: record, record, damage, record …, damage, ghost, ghost
                                                       ^ end: nothing after it counts

Rule: the records of a file decide its place in the log. After a clean stop every record has been
dispatched to the queues. So damage in the last file, after every record that the queues know, is
the tail that an earlier recovery left there, and records after it are ghosts that do not count.
After a kill, or where no queue is left as evidence, every readable record counts.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from storefmt.formats.message import Record
from storefmt.offline.views.info import dispatched_end
from storefmt.offline.views.log_scan import Damage, End, LogItem, walk_file
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan

ProgressCall = Callable[[int, int], None]
"""Is called with the number of bytes done and the total."""


class EffectiveItem(NamedTuple):
    """One item of the log; ``log_offset`` is its real position, whatever the record says."""

    span: FileSpan
    base: int
    pos: int
    item: LogItem

    @property
    def log_offset(self) -> int:
        """The position of the item in the log, in bytes."""
        return self.base + self.pos


class EffectiveLog:
    """The log of one store, in order and up to its end.

    Attributes:
        files: (base, file) in order; a second file for the same place is in ``doubles``.
        tail_from: damage in the last file from this log offset on is the tail.
    """

    def __init__(self, store: StoreView) -> None:
        self._store = store
        self.files: list[tuple[int, FileSpan]] = []
        self.doubles: list[FileSpan] = []
        seen: set[int] = set()
        for base, span in sorted(zip(store.log.bases, store.log.spans, strict=True)):
            if base in seen:
                self.doubles.append(span)
            else:
                self.files.append((base, span))
                seen.add(base)
        queues = (store.queue(*key) for key in store.queues())
        end = 0 if store.aborted else max(map(dispatched_end, queues), default=0)
        self.tail_from = end if end > 0 else 1 << 63
        self.end = self.min_offset
        """Log offset after the last item that counts, once ``items`` has ended."""

    @property
    def min_offset(self) -> int:
        """Where the first file starts."""
        return self.files[0][0] if self.files else 0

    def items(self, progress: ProgressCall, *, start: int = 0) -> Iterator[EffectiveItem]:
        """Yield the items of the log in order; damage is one kind of item.

        Args:
            progress: is called with the bytes that are done and the bytes in total.
            start: log offset of the first file to read.

        Raises:
            StoreError: a file cannot be read.
        """
        files = [
            (base, span) for base, span in self.files if base >= start and self._has_data(span)
        ]
        total, done_size = sum(span.size for _, span in files), 0
        for number, (base, span) in enumerate(files):
            last = number == len(files) - 1
            file = self._store.log.open(span)
            for pos, item in walk_file(file, base=base):
                if last and isinstance(item, End):
                    break
                if last and isinstance(item, Damage) and base + pos >= self.tail_from:
                    break
                yield EffectiveItem(span, base, pos, item)
                progress(done_size + pos, total)
                if isinstance(item, Record | Damage):
                    self.end = base + pos + item.size
                else:
                    self.end = base + span.size
            done_size += span.size
        progress(total, total)

    def _has_data(self, span: FileSpan) -> bool:
        return self._store.log.open(span).first_data() is not None
