"""Finds gaps in the store times of a log: pauses without a message, and clocks set back.

    (log offset, store time) of each record ──> StoreTimes: its ends and the significant gaps
    StoreTimes of one part + StoreTimes of the next ──> StoreTimes of both

Rule: the gaps are the same for any parts into which the log is cut. A time beyond the calendar is
damage, which ``verify`` reports; the gap then reaches from the record before to the record after.

Source: store/CommitLog.java#asyncPutMessage takes the time under the lock that gives the offset
(4.9.7), so a time that is smaller than the one before is that of a clock that was set back.
"""

from collections.abc import Iterable
from typing import NamedTuple


class RecordTime(NamedTuple):
    """The position of a record in the log (bytes) and its store time (ms)."""

    log_offset: int
    store_ms: int


class TimeGap(NamedTuple):
    """Two records in a row between whose store times there is a pause or a step back."""

    before: RecordTime
    after: RecordTime

    @property
    def span_ms(self) -> int:
        """Length of the pause in ms; a negative value is how far the clock went back."""
        return self.after.store_ms - self.before.store_ms


class StoreTimes(NamedTuple):
    """The store times of a part of a log; ``first`` and ``last`` are None without a record."""

    first: RecordTime | None = None
    last: RecordTime | None = None
    gaps: tuple[TimeGap, ...] = ()


def store_times_of(marks: Iterable[RecordTime], *, pause_ms: int) -> StoreTimes:
    """Return the times of records in log order; see ``joined_times``."""
    return joined_times((StoreTimes(mark, mark) for mark in marks), pause_ms=pause_ms)


def joined_times(parts: Iterable[StoreTimes], *, pause_ms: int) -> StoreTimes:
    """Return the store times of parts of a log that follow each other.

    Args:
        pause_ms: shortest pause that becomes a gap, in ms.
    """
    first = last = None
    gaps: list[TimeGap] = []
    for times in parts:
        if times.first is None or times.last is None:
            continue
        if last is None:
            first = times.first
        else:
            gap = TimeGap(last, times.first)
            if gap.span_ms < 0 or gap.span_ms >= pause_ms:
                gaps.append(gap)
        gaps += times.gaps
        last = times.last
    return StoreTimes(first, last, tuple(gaps))
