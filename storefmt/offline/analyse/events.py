"""What happened to a store, and when, by its own evidence.

    log      first and last message; nothing for long; a clock set back; files that are gone
    others   how far it was flushed (checkpoint); a broker that did not stop (abort)

Rule: an event is what the files prove, its time that of the record next to it. Why nothing came
for an hour they do not say: a broker that was down and one without senders leave the same log.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from storefmt.errors import RecordDamaged
from storefmt.formats.checkpoint import Checkpoint
from storefmt.formats.message import CALENDAR_MS, Record
from storefmt.offline.analyse.stats import COLUMNS_SIZE_MIN, has_columns
from storefmt.offline.analyse.time_gaps import Course, Mark, course_of, joined
from storefmt.offline.views.opened import Opened

PAUSE_MS: Final = 3_600_000
"""What is shorter is no pause, where nobody says otherwise."""


class EventKind(StrEnum):
    """What happened."""

    DELETED = "deleted"
    FIRST = "first"
    MISSING = "missing"
    PAUSE = "pause"
    CLOCK_BACK = "clock-back"
    FLUSHED = "flushed"
    LAST = "last"
    NOT_STOPPED = "not-stopped"


_ORDER: Final = list(EventKind)


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        at_ms: store time of the record that proves it; a pause begins then.
        log_offset: of that record, -1 where none is meant.
        span_ms: how long a pause was, how far a clock went back; else 0.
        detail: the same for a person.
    """

    at_ms: int
    kind: EventKind
    log_offset: int
    span_ms: int
    detail: str


def store_events(
    store: Opened,
    *,
    pause_ms: int = PAUSE_MS,
    columns: bool | None = None,
    on_done: Callable[[int], None] = lambda size: None,
) -> list[Event]:
    """Return what happened, oldest first.

    Args:
        pause_ms: what is shorter is no pause.
        columns: use numpy and pyarrow; None for whether they are there, and worth loading.
        on_done: told how many bytes of the log were gone through, now and then.

    Raises:
        StoreError: the disk refuses a read.
    """
    if columns is None:
        size = store.log.end - store.log.min_offset
        columns = size > COLUMNS_SIZE_MIN and has_columns()
    course = (_by_batches if columns else _by_records)(store, pause_ms, on_done)
    return events_of(store, course)


def events_of(store: Opened, course: Course) -> list[Event]:
    """Return what happened to a store whose log has this course."""
    found = [*_steps(course), *_files(store), *_state(store, course)]
    if course.first is not None and course.last is not None:
        found.append(Event(course.first.store_ms, EventKind.FIRST, course.first.log_offset, 0,
                           "first message that is left"))  # fmt: skip
        found.append(Event(course.last.store_ms, EventKind.LAST, course.last.log_offset, 0,
                           "last message"))  # fmt: skip
    return sorted(found, key=lambda one: (one.at_ms, one.log_offset, _ORDER.index(one.kind)))


def _by_records(store: Opened, pause_ms: int, on_done: Callable[[int], None]) -> Course:
    def marks() -> Iterator[Mark]:
        for number, (_, _, item) in enumerate(store.log.walk(check_crc=False)):
            if isinstance(item, Record) and item.store_ms in CALENDAR_MS:
                yield Mark(item.log_offset, item.store_ms)
                if number % 10_000 == 0:
                    on_done(item.log_offset - store.log.min_offset)

    return course_of(marks(), pause_ms=pause_ms)


def _by_batches(store: Opened, pause_ms: int, on_done: Callable[[int], None]) -> Course:
    # Heavy, and not installed everywhere.
    from storefmt.arrow.columns import iter_batches
    from storefmt.offline.analyse.record_batches import COLUMNS, course_of_batch

    def courses() -> Iterator[Course]:
        paths = [span.path for span in store.log.spans]
        for batch in iter_batches(paths, columns=COLUMNS, on_damage=lambda file, damage: None):
            course = course_of_batch(batch, pause_ms=pause_ms)
            if course.last is not None:
                on_done(course.last.log_offset - store.log.min_offset)
            yield course

    return joined(courses(), pause_ms=pause_ms)


def _steps(course: Course) -> Iterator[Event]:
    for step in course.steps:
        at_ms, log_offset = step.before.store_ms, step.before.log_offset
        if step.span_ms < 0:
            detail = f"the clock went back at {step.after.log_offset}"
            yield Event(at_ms, EventKind.CLOCK_BACK, log_offset, -step.span_ms, detail)
        else:
            detail = f"nothing was stored until {step.after.log_offset}"
            yield Event(at_ms, EventKind.PAUSE, log_offset, step.span_ms, detail)


def _files(store: Opened) -> Iterator[Event]:
    """Tell of log files that are gone: before the first one, and between two."""
    end = 0
    for span in store.log.spans:
        if span.start > end:
            items = store.log.items(span.start)
            after = next((item for item in items if isinstance(item, Record)), None)
            if after is not None:
                kind = EventKind.MISSING if end else EventKind.DELETED
                why = "and should be there" if end else "deleted by age, or never copied here"
                detail = f"{span.start - end} bytes of log before this are gone, {why}"
                yield Event(after.store_ms, kind, after.log_offset, 0, detail)
        end = span.end


def _state(store: Opened, course: Course) -> Iterator[Event]:
    try:
        flushed = store.checkpoint() or Checkpoint()
    except RecordDamaged:
        # ``verify`` tells of it; here it proves nothing.
        flushed = Checkpoint()
    for at_ms, what in (
        (flushed.physic_ms, "the log"),
        (flushed.logics_ms, "the queues"),
        (flushed.index_ms, "the index"),
    ):
        if at_ms:
            detail = f"{what} had been flushed up to messages of this time"
            yield Event(at_ms, EventKind.FLUSHED, -1, 0, detail)
    if store.aborted and course.last is not None:
        detail = "a broker runs on the store, or died with it open (file abort)"
        yield Event(course.last.store_ms, EventKind.NOT_STOPPED, course.last.log_offset, 0, detail)
