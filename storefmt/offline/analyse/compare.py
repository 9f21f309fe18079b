"""Compares two stores: where their logs differ first, and which queue entries only one has.

    A  |=========|======x====…        first divergence: the first byte of the range both
    B      |=====|======y====…        have that is not the same
       by queue: ranges, and entries of only one, by queue offset and CRC of the message

Rule: a log may start later (a slave that began with the newest file) or end earlier (a slave that
is behind). Both are reported, and neither counts as a difference of the logs. Messages are
compared where both logs have them; a message that one store has not stored yet is counted as
present only in the other.

Source: ours; store/ha/HAService.java for what a slave has.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from storefmt.errors import RecordDamaged
from storefmt.formats.consumequeue import CqEntry, is_ext_address
from storefmt.formats.message import Record, decode_record
from storefmt.formats.scan import RECORD_SIZE_MAX
from storefmt.offline.output_dir import progress_none
from storefmt.offline.views.effective_log import ProgressCall
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import QueueKey

WINDOW_SIZE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class LogDifference:
    """The result of comparing two logs.

    Attributes:
        a_start, a_end, b_start, b_end: log offsets of each.
        diverges_at: first log offset in both at which the bytes differ; -1 for none.
        differing_size: bytes from there to the end of what both have; 0 for none.
        unread_size: bytes of the common range that one store has no file for.
    """

    a_start: int
    a_end: int
    b_start: int
    b_end: int
    diverges_at: int
    differing_size: int
    unread_size: int

    @property
    def same(self) -> bool:
        """Return whether one log is a part of the other."""
        return self.diverges_at < 0 and self.unread_size == 0


@dataclass(frozen=True, slots=True)
class QueueDifference:
    """One queue that is not the same; offsets in entries.

    Attributes:
        only_a, only_b: messages of the queue that only this store can give.
        changed: queue offsets that both have, with other messages.
        first_changed: the first of those; -1 for none.
    """

    topic: str
    queue_id: int
    a_min: int
    a_max: int
    b_min: int
    b_max: int
    only_a: int
    only_b: int
    changed: int
    first_changed: int


def compare_logs(
    a: StoreView, b: StoreView, *, progress: ProgressCall = progress_none
) -> LogDifference:
    """Return where the logs of two stores differ first.

    Raises:
        StoreError: a file cannot be read.
    """
    start, end = common_range(a, b)
    log_offset, unread = compare_range(a, b, start, end, progress=progress)
    return difference_of(a, b, log_offset, unread)


def common_range(a: StoreView, b: StoreView) -> tuple[int, int]:
    """Return the range (start, end) of log offsets that both logs have; it may be empty."""
    a_log, b_log = _LogBytes(a), _LogBytes(b)
    return max(a_log.start, b_log.start), min(a_log.end, b_log.end)


def difference_of(a: StoreView, b: StoreView, diverges_at: int, unread_size: int) -> LogDifference:
    """Return the result for two logs whose common range has been compared.

    Args:
        a: the first store.
        b: the second store.
        diverges_at: first log offset at which the bytes differ; -1 for none.
        unread_size: bytes of the common range for which one store has no file.
    """
    a_log, b_log = _LogBytes(a), _LogBytes(b)
    size = min(a_log.end, b_log.end) - diverges_at if diverges_at >= 0 else 0
    return LogDifference(
        a_log.start, a_log.end, b_log.start, b_log.end, diverges_at, size, unread_size
    )


def compare_range(
    a: StoreView, b: StoreView, start: int, end: int, *, progress: ProgressCall = progress_none
) -> tuple[int, int]:
    """Return the first log offset of a range at which the bytes differ, -1 for none, and how
    many bytes before it one store has no file for.

    Raises:
        StoreError: the disk refuses a read.
    """
    a_log, b_log = _LogBytes(a), _LogBytes(b)
    pos, unread = start, 0
    while pos < end:
        count = min(WINDOW_SIZE, end - pos)
        left, right = a_log.read(pos, count), b_log.read(pos, count)
        size = min(len(left), len(right))
        if size == 0:
            step = min(a_log.next_file(pos), b_log.next_file(pos), end) - pos
            unread += step
            pos += step
            continue
        if left[:size] != right[:size]:
            return pos + _first_difference(left, right, size), unread
        pos += size
        progress(pos - start, end - start)
    return -1, unread


def compare_queues(
    a: StoreView,
    b: StoreView,
    logs: LogDifference,
    *,
    keys: Collection[QueueKey] | None = None,
) -> Iterator[QueueDifference]:
    """Yield each queue that differs, by topic and queue.

    Args:
        logs: the result of ``compare_logs``: records before a divergence are not read again.
        keys: the queues to compare; None for all.

    Raises:
        StoreError: the disk refuses a read.
    """
    pair = _Pair(a, b, logs)
    a.need_queues()
    b.need_queues()
    for key in sorted({*a.queues(), *b.queues()} if keys is None else keys):
        difference = pair.compare(key)
        if difference is not None:
            yield difference


class _Pair:
    def __init__(self, a: StoreView, b: StoreView, logs: LogDifference) -> None:
        self._a, self._b = a, b
        self._logs = _LogBytes(a), _LogBytes(b)
        self._equal_from = max(logs.a_start, logs.b_start)
        self._equal_to = min(logs.a_end, logs.b_end)
        if not logs.same:
            self._equal_to = logs.diverges_at if logs.unread_size == 0 else 0

    def compare(self, key: QueueKey) -> QueueDifference | None:
        a, b = _view(self._a, key), _view(self._b, key)
        a_range, b_range = _offsets(a), _offsets(b)
        low, high = max(a_range[0], b_range[0]), min(a_range[1], b_range[1])
        changed, first = 0, -1
        if a is not None and b is not None and low < high:
            pairs = zip(a.entries(low, high - low), b.entries(low, high - low), strict=False)
            for (queue_offset, left), (_, right) in pairs:
                if not self._same(left, right):
                    changed += 1
                    first = queue_offset if first < 0 else first
        only_a, only_b = _outside(a_range, b_range), _outside(b_range, a_range)
        if not changed and not only_a and not only_b:
            return None
        return QueueDifference(*key, *a_range, *b_range, only_a, only_b, changed, first)

    def _same(self, left: CqEntry, right: CqEntry) -> bool:
        """Return whether two entries give the same message."""
        exts = is_ext_address(left.tags_code) or is_ext_address(right.tags_code)
        if left.size != right.size or (left.tags_code != right.tags_code and not exts):
            return False
        if left.log_offset == right.log_offset:
            end = left.log_offset + left.size
            if left.is_filler or self._equal_from <= left.log_offset <= end <= self._equal_to:
                return True
        if left.size <= 0 or left.size > RECORD_SIZE_MAX:
            return left.log_offset == right.log_offset
        a, b = (
            log.read(entry.log_offset, entry.size)
            for log, entry in zip(self._logs, (left, right), strict=True)
        )
        return a == b if left.log_offset == right.log_offset else _is_same_message(a, b)


class _LogBytes:
    """The bytes of one log by log offset, whatever the names of its files are."""

    def __init__(self, store: StoreView) -> None:
        self._log = store.log
        self.start = store.log.min_offset
        self.end = max(self.start, store.log.last_end)

    def read(self, pos: int, size: int) -> bytes:
        """Return up to ``size`` bytes of one file; empty if there is no file."""
        place = self._log.file_at(pos)
        if place is None:
            return b""
        base, span = place
        return self._log.open(span).read(pos - base, min(size, base + span.size - pos))

    def next_file(self, pos: int) -> int:
        """Return where the first file after ``pos`` starts, a huge number for none."""
        return min((base for base in self._log.bases if base > pos), default=1 << 62)


def _first_difference(left: bytes, right: bytes, size: int) -> int:
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _view(store: StoreView, key: QueueKey) -> QueueView | None:
    return store.queue(*key) if key in store.tree.queues else None


def _offsets(view: QueueView | None) -> tuple[int, int]:
    return (0, 0) if view is None else (view.min_offset, view.max_offset)


def _outside(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return how many offsets of one range are not in the other."""
    common = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return one[1] - one[0] - common


def _is_same_message(a: bytes, b: bytes) -> bool:
    """Return whether two records differ only in where and when they were stored."""
    try:
        left, right = decode_record(a), decode_record(b)
    except RecordDamaged:
        return False
    return _identity(left) == _identity(right)


def _identity(record: Record) -> tuple[object, ...]:
    return record.topic, record.queue_id, record.flag, record.body, record.properties_raw
