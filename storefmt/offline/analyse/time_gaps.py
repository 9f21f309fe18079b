"""How store times run through a log: on and on, unless nobody wrote, or a clock was set back.

    (log offset, store time) of each record ──> StoreTimes: its ends, the gaps that say something
    StoreTimes of one part + StoreTimes of the next ──> StoreTimes of both

Rule: the same gaps come of any parts that the log is cut into. A time that no calendar has is
damage, which ``verify`` tells; the gap over it is from the record before to the one after.

Source: store/CommitLog.java#asyncPutMessage takes the time under the lock that gives the offset
(4.9.7), so a time that is smaller than the one before is that of a clock that was set back.
"""

from collections.abc import Iterable
from typing import NamedTuple


class RecordTime(NamedTuple):
    """A record: where it begins, and when it was stored."""

    log_offset: int
    store_ms: int


class TimeGap(NamedTuple):
    """Two records that follow each other, with a time between them that says something."""

    before: RecordTime
    after: RecordTime

    @property
    def span_ms(self) -> int:
        """How long nothing came; how far back the clock went where it is negative."""
        return self.after.store_ms - self.before.store_ms


class StoreTimes(NamedTuple):
    """The times of a part of a log; ``first`` and ``last`` are None where it has no record."""

    first: RecordTime | None = None
    last: RecordTime | None = None
    gaps: tuple[TimeGap, ...] = ()


def store_times_of(marks: Iterable[RecordTime], *, pause_ms: int) -> StoreTimes:
    """Return the times of records in log order; see ``joined_times``."""
    return joined_times((StoreTimes(mark, mark) for mark in marks), pause_ms=pause_ms)


def joined_times(parts: Iterable[StoreTimes], *, pause_ms: int) -> StoreTimes:
    """Return the times of parts that follow each other.

    Args:
        pause_ms: what is shorter is no pause.
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
