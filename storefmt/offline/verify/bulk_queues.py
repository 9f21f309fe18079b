"""What many records claim of their queues, held against the entries of all of them at once.

    claims ──by queue──> a read a queue, from its first claimed entry on ──> one array
             compared: log offset, size, tags code ──> fits ──> entries to mark

Rule: nothing is found here. A claim that does not fit is looked at by itself, and so is one
behind the file, or too far behind the first one, of its queue.

Source: store/ConsumeQueue.java#putMessagePositionInfo, store/CommitLog.java#
checkMessageAndReturnSize (tags code of delayed messages).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from storefmt.formats.consumequeue import ENTRY_SIZE, EXT_ADDRESS_MAX
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.tree import QueueKey

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

QUEUE_SPAN_MAX: Final = 1 << 16
SPARE: Final = 64
"""Entries that are read beyond eight times those claimed: claims of a queue lie close."""
DELAY_MS_MAX: Final = 10 * 366 * 86_400_000
_ENTRY: Final = np.dtype([("log_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
assert _ENTRY.itemsize == ENTRY_SIZE


class Marked(NamedTuple):
    """Entries of a queue that records of a window have: ``first`` and what to add to it."""

    key: QueueKey
    first: int
    more: npt.NDArray[np.uint16]


class Claims(NamedTuple):
    """What each of some records says of its entry; a column a field."""

    queue: Ints
    """A number of the queue."""
    queue_offset: Ints
    log_offset: Ints
    size: Ints
    tags_code: Ints
    delayed_ms: Ints
    """Store time of a message that waits for its level, 0 of any other."""


def match(
    claims: Claims,
    key_of: Callable[[int], QueueKey],
    view_of: Callable[[QueueKey], QueueView | None],
) -> tuple[Flags, list[Marked]]:
    """Return which claims fit their entries, and those entries.

    Args:
        key_of: gives the queue of a number.
        view_of: gives None for a queue that is not there, or not looked into.
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
    # An offset may be any number: one more than it may be none.
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
    found = np.frombuffer(b"".join(parts), dtype=_ENTRY)[places[there]]
    fits[rows] = _same(found, Claims(*(column[rows] for column in claims)))
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
) -> list[Marked]:
    # Only what lies within QUEUE_SPAN_MAX of the first one fits.
    kept = more[fits].astype(np.uint16)
    ends = np.add.reduceat(fits, starts, dtype=np.int64).cumsum().tolist()
    begins = [0, *ends[:-1]]
    return [
        Marked(key, low, kept[begin:end])
        for key, low, begin, end in zip(keys, first.tolist(), begins, ends, strict=True)
        if end > begin
    ]
