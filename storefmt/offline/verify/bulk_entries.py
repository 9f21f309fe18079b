"""Compares what records claim about their queue entries with the entries, a queue at a time.

    claims of a window ──by queue──> one read of its entries ──> which claims fit, entries to mark

Rule: a claim is what one record says about its entry. A claim that does not fit is not a finding
yet, because the check of that record decides.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from storefmt.arrow.record_positions import Flags, Ints
from storefmt.formats import layout
from storefmt.formats.consumequeue import ENTRY_SIZE, EXT_ADDRESS_MAX
from storefmt.offline.verify.entries import DELAY_MS_MAX
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.tree import QueueKey

QUEUE_SPAN_MAX: Final = 1 << 16
SPARE: Final = 64
"""Entries that are read beyond eight times the claimed ones; claims of a queue lie close."""
_ENTRY: Final = np.dtype(layout.CONSUME_QUEUE_ENTRY.numpy_fields())
assert _ENTRY.itemsize == ENTRY_SIZE


class MarkedEntries(NamedTuple):
    """Entries of a queue that belong to records of a window, relative to ``first``."""

    key: QueueKey
    first: int
    more: npt.NDArray[np.uint16]


class Claims(NamedTuple):
    """Claims: what some records say about their entries, as one column for each field."""

    queue: Ints
    """A number of the queue."""
    queue_offset: Ints
    log_offset: Ints
    size: Ints
    tags_code: Ints
    delayed_ms: Ints
    """Store time of a message that waits for its level, 0 for any other."""


def match(
    claims: Claims,
    key_of: Callable[[int], QueueKey],
    view_of: Callable[[QueueKey], QueueView | None],
) -> tuple[Flags, list[MarkedEntries]]:
    """Return which claims agree with their entries, and those entries.

    Args:
        key_of: returns the queue of a number.
        view_of: returns the queue's view, None for a queue that is missing or not checked.
    """
    fits = np.zeros(len(claims.queue), dtype=bool)
    if not len(fits):
        return fits, []
    order = np.argsort(claims.queue, kind="stable")
    queues, offsets = claims.queue[order], claims.queue_offset[order]
    starts = np.flatnonzero(np.diff(queues, prepend=queues[0] - 1))
    first = np.minimum.reduceat(offsets, starts)
    row_counts = np.diff(starts, append=len(order))
    most = np.minimum(8 * row_counts + SPARE, QUEUE_SPAN_MAX)
    # An offset may be the largest number, so adding 1 could overflow.
    spans = np.minimum(np.maximum.reduceat(offsets, starts) - first, most - 1) + 1
    keys = [key_of(number) for number in queues[starts].tolist()]
    parts = [
        _entries(view_of(key), low, span)
        for key, low, span in zip(keys, first.tolist(), spans.tolist(), strict=True)
    ]
    counts = np.fromiter(map(len, parts), np.int64, len(parts)) // ENTRY_SIZE
    more = offsets - np.repeat(first, row_counts)
    there = more < np.repeat(counts, row_counts)
    places = more + np.repeat(counts.cumsum() - counts, row_counts)
    rows = order[there]
    entries = np.frombuffer(b"".join(parts), dtype=_ENTRY)[places[there]]
    fits[rows] = _same(entries, Claims(*(column[rows] for column in claims)))
    return fits, _marked(keys, first, starts, more, fits[order])


def _entries(view: QueueView | None, first: int, count: int) -> bytes:
    span = None if view is None else view.file_of(first)
    return b"" if view is None or span is None else view.read(span, first, count)


def _same(entries: npt.NDArray[np.void], claims: Claims) -> Flags:
    code = entries["tags_code"].astype(np.int64)
    late = code - claims.delayed_ms
    same: Flags = (claims.delayed_ms > 0) & (late >= 0) & (late <= DELAY_MS_MAX)
    same |= code == claims.tags_code
    same &= code > EXT_ADDRESS_MAX
    same &= entries["log_offset"] == claims.log_offset
    same &= entries["size"] == claims.size
    return same


def _marked(
    keys: list[QueueKey], first: Ints, starts: Ints, more: Ints, fits: Flags
) -> list[MarkedEntries]:
    # Only what lies within QUEUE_SPAN_MAX of the first one fits.
    kept = more[fits].astype(np.uint16)
    ends = np.add.reduceat(fits, starts, dtype=np.int64).cumsum().tolist()
    begins = [0, *ends[:-1]]
    return [
        MarkedEntries(key, low, kept[begin:end])
        for key, low, begin, end in zip(keys, first.tolist(), begins, ends, strict=True)
        if end > begin
    ]
