"""How store times run through a log: on and on, unless nobody wrote, or a clock was set back.

    (log offset, store time) of each record ──> Course: its ends, and the steps that say something
    Course of one part + Course of the next ──> Course of both

Rule: the same steps come of any parts that the log is cut into. A time that no calendar has is
damage, which ``verify`` tells; the step over it is from the record before to the one after.

Source: store/CommitLog.java#asyncPutMessage takes the time under the lock that gives the offset
(4.9.7), so a time that is smaller than the one before is that of a clock that was set back.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Mark(NamedTuple):
    """A record: where it begins, and when it was stored."""

    log_offset: int
    store_ms: int


class Step(NamedTuple):
    """Two records that follow each other, with a time between them that says something."""

    before: Mark
    after: Mark

    @property
    def span_ms(self) -> int:
        """How long nothing came; how far back the clock went where it is negative."""
        return self.after.store_ms - self.before.store_ms


class Course(NamedTuple):
    """The times of a part of a log; ``first`` and ``last`` are None where it has no record."""

    first: Mark | None = None
    last: Mark | None = None
    steps: tuple[Step, ...] = ()


def course_of(marks: Iterable[Mark], *, pause_ms: int) -> Course:
    """Return the course of records in log order; see ``joined``."""
    return joined((Course(mark, mark) for mark in marks), pause_ms=pause_ms)


def joined(courses: Iterable[Course], *, pause_ms: int) -> Course:
    """Return the course of parts that follow each other.

    Args:
        pause_ms: what is shorter is no pause.
    """
    first = last = None
    steps: list[Step] = []
    for course in courses:
        if course.first is None or course.last is None:
            continue
        if last is None:
            first = course.first
        else:
            step = Step(last, course.first)
            if step.span_ms < 0 or step.span_ms >= pause_ms:
                steps.append(step)
        steps += course.steps
        last = course.last
    return Course(first, last, tuple(steps))
