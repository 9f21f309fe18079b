"""The results of counting records: counts by key, and spans of time for a picture.

Rule: this module has values only and reads no file; both ways of counting fill the same counts.
A span of time has a length that a person would choose, so that a log has some sixty spans. The
ends of the log decide the length before anything is counted. A record with a damaged time cannot
make a million rows: empty spans are left out if there would be more than ``FILLED_MAX``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from storefmt.offline.views.store_view import StoreView

KEYS_MAX: Final = 100_000
OTHERS: Final = "(others)"
Key = tuple[str | int | None, ...]
"""What records are counted by: (topic,), (topic, queue id), (tag,), (host,), (start in ms,)."""


class By(StrEnum):
    """The key to count by."""

    TOPIC = "topic"
    QUEUE = "queue"
    TAG = "tag"
    PRODUCER = "producer"
    TIME = "time"


@dataclass(slots=True)
class RecordCount:
    """Records under one key: ``size`` in bytes of log, store times in ms."""

    count: int = 0
    size: int = 0
    first_ms: int = 0
    last_ms: int = 0

    def add(self, count: int, size: int, first_ms: int, last_ms: int) -> None:
        """Add ``count`` records of ``size`` bytes, stored from ``first_ms`` to ``last_ms``."""
        self.first_ms = min(self.first_ms, first_ms) if self.count else first_ms
        self.last_ms = max(self.last_ms, last_ms) if self.count else last_ms
        self.count += count
        self.size += size


@dataclass(frozen=True, slots=True, kw_only=True)
class CountFilter:
    """Which records count; None for any. Store times in ms, both ends included."""

    topic: str | None = None
    begin_ms: int | None = None
    end_ms: int | None = None


class Counting(NamedTuple):
    """Which records are counted, and by which key; ``bucket_ms`` is for ``By.TIME``."""

    by: By
    wanted: CountFilter
    bucket_ms: int


class RecordCounts(dict[Key, RecordCount]):
    """The counts of one pass, by key."""

    def add(self, key: Key, count: int, size: int, first_ms: int, last_ms: int) -> None:
        """Add records under ``key``, or under ``OTHERS`` if there are too many keys."""
        if key not in self and len(self) >= KEYS_MAX:
            key = (OTHERS,)
        self.setdefault(key, RecordCount()).add(count, size, first_ms, last_ms)

    def merge(self, others: Mapping[Key, RecordCount]) -> None:
        """Add other counts, of records that come after those counted so far."""
        for key, count in others.items():
            self.add(key, count.count, count.size, count.first_ms, count.last_ms)


BUCKETS_MS: Final = (
    *(1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 3 * 3_600_000),
    *(6 * 3_600_000, 86_400_000, 7 * 86_400_000, 28 * 86_400_000),
)
SPANS_MAX: Final = 60
FILLED_MAX: Final = 100_000
"""With more spans than this, empty spans are left out."""


def bucket_for(first_ms: int, last_ms: int) -> int:
    """Return the shortest length (ms) that gives at most ``SPANS_MAX`` spans, or the longest."""
    for bucket_ms in BUCKETS_MS:
        if last_ms // bucket_ms - first_ms // bucket_ms < SPANS_MAX:
            return bucket_ms
    return BUCKETS_MS[-1]


def with_empty_spans(
    counts: Mapping[int, RecordCount], bucket_ms: int
) -> list[tuple[int, RecordCount]]:
    """Return (start, count) of each span in order, including the empty ones in between.

    Args:
        counts: by start in ms, a multiple of ``bucket_ms``.
    """
    if not counts:
        return []
    first, last = min(counts), max(counts)
    if (last - first) // bucket_ms >= FILLED_MAX:
        return sorted(counts.items())
    return [
        (start_ms, counts.get(start_ms, RecordCount()))
        for start_ms in range(first, last + 1, bucket_ms)
    ]


def span_of(store: StoreView, *, begin_ms: int | None = None, end_ms: int | None = None) -> int:
    """Return the length (ms) of a span that suits the log, or the part that is asked for."""
    if store.log.first is None or store.log.last is None:
        return BUCKETS_MS[0]
    first, last = store.log.first.store_ms, store.log.last[2].store_ms
    low = first if begin_ms is None else max(first, begin_ms)
    return bucket_for(low, max(low, last if end_ms is None else min(last, end_ms)))
