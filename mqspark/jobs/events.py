"""``events``: what happened to stores, and when, as ``store events`` says it.

    log ──splits──> store times of each part ──joined──> pauses, clocks set back
    other files ─────────────────────────────────────────driver─> deleted, flushed, not stopped

Rule: ``storefmt.offline.analyse`` decides what an event is and joins the times of parts; this
module divides the work. A split returns its two ends and its gaps, however many records it has.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from mqspark.schemas import schema
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, frame_of, gather, one_batch, spread
from mqspark.sources.store.stores import Paths, open_store, stores_of
from mqspark.sources.store.tables import StoreTask, plan_all, read_of
from storefmt.offline.analyse.events import PAUSE_MS, events_of
from storefmt.offline.analyse.record_batches import COLUMNS, store_times_of_batch
from storefmt.offline.analyse.time_gaps import RecordTime, StoreTimes, TimeGap, joined_times

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    store=pa.string(),
    at_ms=pa.int64(),
    kind=pa.string(),
    log_offset=pa.int64(),
    span_ms=pa.int64(),
    detail=pa.string(),
)
_COURSES: Final = schema(
    store=pa.string(),
    start=pa.int64(),
    is_step=pa.bool_(),
    before_offset=pa.int64(),
    before_ms=pa.int64(),
    after_offset=pa.int64(),
    after_ms=pa.int64(),
)
"""The ends of a split's times as one row, each of its gaps as another."""
_READING: Final = ReadOptions(columns=COLUMNS)


def events(spark: "SparkSession", paths: Paths, *, pause_ms: int = PAUSE_MS) -> "DataFrame":
    """Return a frame with a row for each event, oldest first, see ``SCHEMA``; times in ms.

    Args:
        pause_ms: the shortest time without messages that counts as a pause.
    """
    rows = spread(spark, _tasks(paths, pause_ms)).toArrow()
    return frame_of(spark, _events(paths, rows, pause_ms))


def events_local(paths: Paths, *, pause_ms: int = PAUSE_MS) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process."""
    return _events(paths, gather(_tasks(paths, pause_ms)), pause_ms)


def steps(where: Paths) -> str:
    """Return what is done."""
    return (
        f"{len(plan_all(where, _READING))} tasks: the course of store times in each split\n"
        "here: the courses joined; log files, checkpoint and abort of the store"
    )


def _tasks(paths: Paths, pause_ms: int) -> TaskRows:
    return TaskRows(_course, [(task, pause_ms) for task in plan_all(paths, _READING)], _COURSES)


def _course(part: tuple[StoreTask, int]) -> Iterator[Any]:
    task, pause_ms = part
    batches = read_of(task, _READING)
    times = joined_times(
        (store_times_of_batch(batch, pause_ms=pause_ms) for batch in batches), pause_ms=pause_ms
    )
    if times.first is not None and times.last is not None:
        pairs = [TimeGap(times.first, times.last), *times.gaps]
        rows = [
            (task.store, times.first.log_offset, number > 0, *pair.before, *pair.after)
            for number, pair in enumerate(pairs)
        ]
        yield one_batch(_COURSES, [dict(zip(_COURSES.names, row, strict=True)) for row in rows])


def _events(paths: Paths, table: Any, pause_ms: int) -> Any:
    rows = sorted(table.to_pylist(), key=itemgetter("start", "is_step", "before_offset"))
    found = []
    for path in stores_of(paths):
        own = [row for row in rows if row["store"] == path]
        parts = [_read_back(list(group)) for _, group in groupby(own, itemgetter("start"))]
        with open_store(path) as store:
            events = events_of(store, joined_times(parts, pause_ms=pause_ms))
        found += [{"store": path, **event._asdict()} for event in events]
    # The events of one store are already in order.
    return pa.Table.from_pylist(sorted(found, key=itemgetter("at_ms")), schema=SCHEMA)


def _read_back(rows: list[dict[str, Any]]) -> StoreTimes:
    ends, *gaps_ = [
        TimeGap(
            RecordTime(row["before_offset"], row["before_ms"]),
            RecordTime(row["after_offset"], row["after_ms"]),
        )
        for row in rows
    ]
    return StoreTimes(ends.before, ends.after, tuple(gaps_))
