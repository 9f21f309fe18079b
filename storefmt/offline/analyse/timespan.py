"""Spans of time for a picture: some sixty of a length that a person would choose.

Rule: the length is chosen from the ends of the log before anything is counted. A record
with a damaged time cannot make a million rows: where there would be more than
``FILLED_MAX``, empty spans are left out.
"""

from collections.abc import Mapping
from typing import Final

from storefmt.offline.analyse.tally import Tally
from storefmt.offline.views.opened import Opened

BUCKETS_MS: Final = (
    *(1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 3 * 3_600_000),
    *(6 * 3_600_000, 86_400_000, 7 * 86_400_000, 28 * 86_400_000),
)
SPANS_USUAL: Final = 60
FILLED_MAX: Final = 100_000
"""More empty spans than this are left out."""


def bucket_for(first_ms: int, last_ms: int, *, spans_max: int = SPANS_USUAL) -> int:
    """Return the shortest length (ms) that gives at most ``spans_max`` spans, or the longest."""
    for bucket_ms in BUCKETS_MS:
        if last_ms // bucket_ms - first_ms // bucket_ms < spans_max:
            return bucket_ms
    return BUCKETS_MS[-1]


def filled(tallies: Mapping[int, Tally], bucket_ms: int) -> list[tuple[int, Tally]]:
    """Return (start, tally) of each span in order, the empty ones between them too.

    Args:
        tallies: by start in ms, a multiple of ``bucket_ms``.
    """
    if not tallies:
        return []
    first, last = min(tallies), max(tallies)
    if (last - first) // bucket_ms >= FILLED_MAX:
        return sorted(tallies.items())
    return [(at, tallies.get(at, Tally())) for at in range(first, last + 1, bucket_ms)]


def span_of(store: Opened, *, begin_ms: int | None = None, end_ms: int | None = None) -> int:
    """Return the length (ms) of a span that suits the log, or the part that is asked for."""
    if store.log.first is None or store.log.last is None:
        return BUCKETS_MS[0]
    first, last = store.log.first.store_ms, store.log.last[2].store_ms
    low = first if begin_ms is None else max(first, begin_ms)
    return bucket_for(low, max(low, last if end_ms is None else min(last, end_ms)))
