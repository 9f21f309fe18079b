"""``events``: what happened to a store, and when, as ``store events`` says it.

    log ──splits──> the course of store times in each ──joined──> pauses, clocks set back
    other files ─────────────────────────────────────────driver─> deleted, flushed, not stopped

Rule: what an event is, and how parts of a course are joined, is ``storefmt.offline``'s; here its
work is shared out. A split tells its two ends and its steps, however many records it has.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.logtables import Split
from pipeline.reading import Reading
from pipeline.spread import Rows, fixed, gather, one_batch, spread
from pipeline.stores import open_store
from pipeline.tables import plan, read
from storefmt.offline.analyse.events import PAUSE_MS, events_of
from storefmt.offline.analyse.record_batches import COLUMNS, course_of_batch
from storefmt.offline.analyse.time_gaps import Course, Mark, Step, joined

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = pa.schema(
    [
        pa.field("at_ms", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("log_offset", pa.int64()),
        pa.field("span_ms", pa.int64()),
        pa.field("detail", pa.string()),
    ]
)
_COURSES: Final = pa.schema(
    [
        pa.field("start", pa.int64()),
        pa.field("is_step", pa.bool_()),
        pa.field("before_offset", pa.int64()),
        pa.field("before_ms", pa.int64()),
        pa.field("after_offset", pa.int64()),
        pa.field("after_ms", pa.int64()),
    ]
)
"""The ends of a split's course as one row, each of its steps as another."""
_READING: Final = Reading(columns=COLUMNS)


def events(spark: "SparkSession", path: str, *, pause_ms: int = PAUSE_MS) -> "DataFrame":
    """Return a frame with a row an event, oldest first, see ``SCHEMA``; times in ms.

    Args:
        pause_ms: what is shorter is no pause.
    """
    rows = spread(spark, _tasks(path, pause_ms)).toArrow()
    return fixed(spark, _events(path, rows, pause_ms))


def events_local(path: str, *, pause_ms: int = PAUSE_MS) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process."""
    return _events(path, gather(_tasks(path, pause_ms)), pause_ms)


def steps(where: str) -> str:
    """Return what is done."""
    return (
        f"{len(plan(where, _READING))} tasks: the course of store times in each split of the log\n"
        "here: the courses joined; log files, checkpoint and abort of the store"
    )


def _tasks(path: str, pause_ms: int) -> Rows:
    return Rows(_course, [(split, pause_ms) for split in plan(path, _READING)], _COURSES)


def _course(task: tuple[Split, int]) -> Iterator[Any]:
    split, pause_ms = task
    batches = read(split, _READING)
    course = joined(
        (course_of_batch(batch, pause_ms=pause_ms) for batch in batches), pause_ms=pause_ms
    )
    if course.first is not None and course.last is not None:
        pairs = [Step(course.first, course.last), *course.steps]
        rows = [
            (course.first.log_offset, number > 0, *pair.before, *pair.after)
            for number, pair in enumerate(pairs)
        ]
        yield one_batch(_COURSES, [dict(zip(_COURSES.names, row, strict=True)) for row in rows])


def _events(path: str, table: Any, pause_ms: int) -> Any:
    rows = sorted(table.to_pylist(), key=itemgetter("start", "is_step", "before_offset"))
    courses = [_read_back(list(group)) for _, group in groupby(rows, itemgetter("start"))]
    with open_store(path) as store:
        found = events_of(store, joined(courses, pause_ms=pause_ms))
    return pa.Table.from_pylist([one._asdict() for one in found], schema=SCHEMA)


def _read_back(rows: list[dict[str, int]]) -> Course:
    ends, *steps_ = [
        Step(
            Mark(row["before_offset"], row["before_ms"]), Mark(row["after_offset"], row["after_ms"])
        )
        for row in rows
    ]
    return Course(ends.before, ends.after, tuple(steps_))


def rows_of(table: Any, **_options: object) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table of either engine."""
    found: list[dict[str, Any]] = table.to_pylist()
    return found
