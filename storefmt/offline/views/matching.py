"""Finds the queue entry of each record in one pass over the log, and marks the entries found.

    record (topic, queue, k) ──> entry k of the queue points back at it   mark k
                             └─> it does not                              keep ``ExpectedEntry``

Rule: memory is bounded: one bit for each entry, a few windows of queues, and at most
``EXPECTED_MAX`` records without an entry, one by one; more of them are only counted.

Source: store/ConsumeQueue.java#putMessagePositionInfoWrapper, #multiDispatchLmqQueue,
store/CommitLog.java#checkMessageAndReturnSize (tags code of delayed messages).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from storefmt.dispatch.record_entries import copy_offsets
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, CqEntry
from storefmt.formats.message import Record
from storefmt.offline.views.config import has_light_queues
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import LocatedRecord, StoreView
from storefmt.offline.views.tree import FileSpan, QueueKey

EXPECTED_MAX: Final = 50_000
_WINDOW_ENTRIES: Final = 512
_WINDOWS_MAX: Final = 1024


class ExpectedEntry(NamedTuple):
    """An entry that a record should have.

    Attributes:
        log_offset: where the record lies; ``located`` says the same by file.
        copy: the entry is one more, in a queue the message is also dispatched to.
    """

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    located: LocatedRecord
    copy: bool

    @property
    def record(self) -> Record:
        """The record."""
        return self.located.record

    @property
    def key(self) -> QueueKey:
        """The queue that should have the entry."""
        return self.topic, self.queue_id


@dataclass(slots=True)
class Overflow:
    """Records of one queue without their entry, beyond those kept one by one."""

    first: ExpectedEntry
    count: int = 0


class Marks:
    """One bit for each entry of a queue: set if a record was found for the entry."""

    __slots__ = ("bits", "start")

    def __init__(self, view: QueueView) -> None:
        self.start = view.start_offset
        self.bits = bytearray((max(0, view.max_offset - self.start) + 7) // 8)

    def set(self, queue_offset: int) -> None:
        """Mark one entry; entries that came since the queue was measured are left out."""
        number = queue_offset - self.start
        if number >> 3 < len(self.bits):
            self.bits[number >> 3] |= 1 << (number & 7)

    def has(self, queue_offset: int) -> bool:
        """Return whether an entry is marked."""
        number = queue_offset - self.start
        inside = number >= 0 and number >> 3 < len(self.bits)
        return inside and bool(self.bits[number >> 3] & (1 << (number & 7)))

    def blocks(self, size: int) -> Iterator[tuple[int, bool]]:
        """Yield (first queue offset, whether all are marked) of blocks of ``size`` entries.

        Args:
            size: a multiple of 8.
        """
        full = b"\xff" * (size >> 3)
        for number in range(0, len(self.bits), size >> 3):
            block = self.bits[number : number + (size >> 3)]
            yield self.start + number * 8, block == full


class Matching:
    """Looks up the entry of each record and remembers which entries have a record."""

    def __init__(self, store: StoreView) -> None:
        self.store = store
        self._makes_copies = has_light_queues(store)
        self.marks: dict[QueueKey, Marks] = {}
        self.by_entry: dict[tuple[str, int, int], ExpectedEntry] = {}
        self.by_log: dict[int, ExpectedEntry] = {}
        self.overflow: dict[QueueKey, Overflow] = {}
        self._window = lru_cache(maxsize=_WINDOWS_MAX)(_read_window)
        self._views: dict[QueueKey, QueueView | None] = {}

    def view(self, key: QueueKey) -> QueueView | None:
        """Return the queue, None where there is none."""
        if key not in self._views:
            queue = self.store.queue(*key) if key in self.store.tree.queues else None
            self._views[key] = queue
            if queue is not None:
                self.marks[key] = Marks(queue)
        return self._views[key]

    def match(self, expected: ExpectedEntry) -> CqEntry | None:
        """Return the entry of a record and mark it; None, and remember the record, if none."""
        key = expected.key
        view = self.view(key)
        entry = None if view is None else self._entry(view, expected.queue_offset)
        if entry is not None and is_entry_of(entry, expected):
            self.marks[key].set(expected.queue_offset)
            return entry
        if not expected.copy or (view is not None and self._is_copy_missing(expected, entry)):
            self._remember(expected)
        return None

    def _is_copy_missing(self, expected: ExpectedEntry, entry: CqEntry | None) -> bool:
        """Return whether a copy should have an entry; ``entry`` is the one in its place.

        It should if the rebuild would make one, see ``is_copy_believed``: an entry of an earlier
        record shows that the queue had already passed the place.
        """
        is_again = entry is not None and 0 <= entry.log_offset < expected.log_offset
        is_again = is_again and entry is not None and entry.size > 0 and not entry.is_filler
        return self._makes_copies and not is_again

    def forget(self, expected: ExpectedEntry) -> None:
        """Forget a record whose missing entry has been explained."""
        self.by_entry.pop((*expected.key, expected.queue_offset), None)
        if self.by_log.get(expected.log_offset) is expected:
            del self.by_log[expected.log_offset]

    def _remember(self, expected: ExpectedEntry) -> None:
        if len(self.by_entry) >= EXPECTED_MAX:
            # The body is not needed any more; the first record stands for the others.
            self.overflow.setdefault(expected.key, Overflow(expected)).count += 1
            return
        light = expected._replace(located=expected.located.without_body())
        self.by_entry[(*expected.key, expected.queue_offset)] = light
        if not expected.copy:
            self.by_log[expected.log_offset] = light

    def _entry(self, view: QueueView, queue_offset: int) -> CqEntry | None:
        span = view.file_of(queue_offset) if queue_offset >= 0 else None
        if span is None:
            return None
        number = queue_offset - span.start // ENTRY_SIZE
        window, window_index = divmod(number, _WINDOW_ENTRIES)
        data = self._window(view, span, window)
        if (window_index + 1) * ENTRY_SIZE > len(data):
            return None
        return CqEntry._make(CQ_ENTRY.unpack_from(data, window_index * ENTRY_SIZE))


def _read_window(view: QueueView, span: FileSpan, window: int) -> bytes:
    first = span.start // ENTRY_SIZE + window * _WINDOW_ENTRIES
    return view.read(span, first, _WINDOW_ENTRIES)


def is_entry_of(entry: CqEntry, expected: ExpectedEntry) -> bool:
    """Return whether ``entry`` is the one that is expected; a filler never is."""
    return entry.log_offset == expected.log_offset and entry.size > 0 and not entry.is_filler


def copies_of(record: Record) -> list[tuple[str, tuple[int, ...], int]]:
    """Return (topic, possible queue ids, queue offset) of a record's multi-dispatch entries.

    Light queues use queue 0 with enableLmq and the record's own queue without it.
    """
    offsets = copy_offsets(record.properties_raw)
    return [(topic, (record.queue_id, 0), offset) for topic, offset in offsets.items()]
