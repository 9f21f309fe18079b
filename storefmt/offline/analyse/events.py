"""Lists what happened to a store and when, from the evidence in its files.

    log      first and last message; long pauses; a clock set back; files that are gone
    others   how far it was flushed (checkpoint); a broker that did not stop cleanly (abort)

Rule: an event is a fact that the files prove, and its time is the store time of the record next to
it. The files do not show the reason of a pause: a broker that was down and a broker without
senders leave the same log.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from storefmt.errors import RecordDamaged
from storefmt.formats.checkpoint import Checkpoint
from storefmt.formats.message import CALENDAR_MS, Record
from storefmt.offline.analyse.stats import COLUMNS_SIZE_MIN, has_columns
from storefmt.offline.analyse.time_gaps import RecordTime, StoreTimes, joined_times, store_times_of
from storefmt.offline.views.store_view import StoreView

PAUSE_MS: Final = 3_600_000
"""Default for the shortest pause that is reported, in ms."""


class EventKind(StrEnum):
    """The kind of an event."""

    DELETED = "deleted"
    FIRST = "first"
    MISSING = "missing"
    PAUSE = "pause"
    CLOCK_BACK = "clock-back"
    FLUSHED = "flushed"
    LAST = "last"
    NOT_STOPPED = "not-stopped"


_ORDER: Final = list(EventKind)


class StoreEvent(NamedTuple):
    """One event of a store.

    Attributes:
        at_ms: store time of the record that proves it; a pause begins then.
        log_offset: log offset of that record, -1 for none.
        span_ms: length of a pause, or how far a clock went back; 0 for other events.
        detail: a sentence for people.
    """

    at_ms: int
    kind: EventKind
    log_offset: int
    span_ms: int
    detail: str


def store_events(
    store: StoreView,
    *,
    pause_ms: int = PAUSE_MS,
    columns: bool | None = None,
    on_done: Callable[[int], None] = lambda size: None,
) -> list[StoreEvent]:
    """Return the events of a store, oldest first.

    Args:
        pause_ms: shortest pause that is reported, in ms.
        columns: use numpy and pyarrow; None to use them if installed and the log is large.
        on_done: is called now and then with the bytes of the log that are done.

    Raises:
        StoreError: a file cannot be read.
    """
    if columns is None:
        size = store.log.end - store.log.min_offset
        columns = size > COLUMNS_SIZE_MIN and has_columns()
    times = (_by_batches if columns else _by_records)(store, pause_ms, on_done)
    return events_of(store, times)


def events_of(store: StoreView, times: StoreTimes) -> list[StoreEvent]:
    """Return the events of a store, given the store times of its log."""
    events = [*_gaps(times), *_files(store), *_state(store, times)]
    if times.first is not None and times.last is not None:
        events.append(StoreEvent(times.first.store_ms, EventKind.FIRST, times.first.log_offset, 0,
                           "first message that is left"))  # fmt: skip
        events.append(StoreEvent(times.last.store_ms, EventKind.LAST, times.last.log_offset, 0,
                           "last message"))  # fmt: skip
    return sorted(
        events, key=lambda event: (event.at_ms, event.log_offset, _ORDER.index(event.kind))
    )


def _by_records(store: StoreView, pause_ms: int, on_done: Callable[[int], None]) -> StoreTimes:
    def marks() -> Iterator[RecordTime]:
        for number, record in enumerate(store.log.sound_records()):
            if record.store_ms in CALENDAR_MS:
                yield RecordTime(record.log_offset, record.store_ms)
                if number % 10_000 == 0:
                    on_done(record.log_offset - store.log.min_offset)

    return store_times_of(marks(), pause_ms=pause_ms)


def _by_batches(store: StoreView, pause_ms: int, on_done: Callable[[int], None]) -> StoreTimes:
    # Heavy, and not installed everywhere.
    from storefmt.arrow.columns import iter_batches
    from storefmt.offline.analyse.record_batches import COLUMNS, store_times_of_batch

    def parts() -> Iterator[StoreTimes]:
        paths = [span.path for span in store.log.spans]
        for batch in iter_batches(paths, columns=COLUMNS, on_damage=lambda file, damage: None):
            times = store_times_of_batch(batch, pause_ms=pause_ms)
            if times.last is not None:
                on_done(times.last.log_offset - store.log.min_offset)
            yield times

    return joined_times(parts(), pause_ms=pause_ms)


def _gaps(times: StoreTimes) -> Iterator[StoreEvent]:
    for gap in times.gaps:
        at_ms, log_offset = gap.before.store_ms, gap.before.log_offset
        if gap.span_ms < 0:
            detail = f"the clock went back at {gap.after.log_offset}"
            yield StoreEvent(at_ms, EventKind.CLOCK_BACK, log_offset, -gap.span_ms, detail)
        else:
            detail = f"nothing was stored until {gap.after.log_offset}"
            yield StoreEvent(at_ms, EventKind.PAUSE, log_offset, gap.span_ms, detail)


def _files(store: StoreView) -> Iterator[StoreEvent]:
    """Yield an event for each range of log files that is missing."""
    end = 0
    for span in store.log.spans:
        if span.start > end:
            items = store.log.items(span.start)
            after = next((item for item in items if isinstance(item, Record)), None)
            if after is not None:
                kind = EventKind.MISSING if end else EventKind.DELETED
                why = "and should be there" if end else "deleted by age, or never copied here"
                detail = f"{span.start - end} bytes of log before this are gone, {why}"
                yield StoreEvent(after.store_ms, kind, after.log_offset, 0, detail)
        end = span.end


def _state(store: StoreView, times: StoreTimes) -> Iterator[StoreEvent]:
    try:
        flushed = store.checkpoint() or Checkpoint()
    except RecordDamaged:
        # A damaged checkpoint proves nothing; ``verify`` reports it.
        flushed = Checkpoint()
    for at_ms, what in (
        (flushed.physic_ms, "the log"),
        (flushed.logics_ms, "the queues"),
        (flushed.index_ms, "the index"),
    ):
        if at_ms:
            detail = f"{what} had been flushed up to messages of this time"
            yield StoreEvent(at_ms, EventKind.FLUSHED, -1, 0, detail)
    if store.aborted and times.last is not None:
        detail = "a broker is running on the store, or died with it open (file abort)"
        yield StoreEvent(
            times.last.store_ms, EventKind.NOT_STOPPED, times.last.log_offset, 0, detail
        )
