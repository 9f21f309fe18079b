"""``diff``: where stores differ from a first one, as slaves from their master.

    ranges of the log that both have ──a task each──> first difference
    queues, so many a task           ──────────────> what differs, queue by queue

Rule: ``storefmt.offline.analyse.compare`` compares; this module combines the ranges in order.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from mqspark.errors import BadOption
from mqspark.schemas import schema
from mqspark.sources.store.reading import SPLIT_SIZE
from mqspark.sources.store.spread import TaskRows, frame_of, gather, one_batch, spread
from mqspark.sources.store.stores import Paths, open_store, stores_of
from storefmt.offline.analyse.compare import (
    LogDifference,
    common_range,
    compare_queues,
    compare_range,
    difference_of,
)
from storefmt.offline.views.tree import QueueKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    other=pa.string(),
    kind=pa.string(),
    same=pa.bool_(),
    topic=pa.string(),
    queue_id=pa.int32(),
    a_min=pa.int64(),
    a_max=pa.int64(),
    b_min=pa.int64(),
    b_max=pa.int64(),
    only_a=pa.int64(),
    only_b=pa.int64(),
    changed=pa.int64(),
    first=pa.int64(),
)
"""Numbers are bytes for the log and entries for a queue; ``first`` is where the stores first
differ, -1 if nowhere."""
_FOUND: Final = schema(
    start=pa.int64(),
    at=pa.int64(),
    unread=pa.int64(),
)
QUEUES_A_TASK: Final = 256
_Run = Callable[[TaskRows], Any]


def diff(spark: "SparkSession", path: str, *, other: Paths) -> "DataFrame":
    """Compare a store with one other or several right away.

    The frame has for each other store a row for its log, then one for each queue that is not the
    same.

    Raises:
        BadOption: there is no other store.
    """
    return frame_of(spark, _diffs(path, other, lambda rows: spread(spark, rows).toArrow()))


def diff_local(path: str, *, other: Paths) -> Any:
    """Return the same as a ``pyarrow.Table``, compared in this process."""
    return _diffs(path, other, gather)


def is_different(rows: list[dict[str, Any]]) -> bool:
    """Return whether a row has a difference."""
    return any(
        row["kind"] != "log" or not row["same"] or row["only_a"] + row["only_b"] > 0 for row in rows
    )


def steps(paths: Paths) -> str:
    """Return what is done."""
    return (
        f"compare the common range of both logs, {SPLIT_SIZE >> 20} MiB a task\n"
        f"compare the queues of both, {QUEUES_A_TASK} a task"
    )


class _Range(NamedTuple):
    a: str
    b: str
    start: int
    end: int


class _Queues(NamedTuple):
    a: str
    b: str
    logs: LogDifference
    keys: tuple[QueueKey, ...]


def _diffs(path: str, other: Paths, run: _Run) -> Any:
    others = stores_of(other)
    if not others:
        raise BadOption("diff needs a store to compare with: give two directories or more")
    return pa.concat_tables([_diff(path, each, run) for each in others])


def _diff(a: str, b: str, run: _Run) -> Any:
    with open_store(a) as left, open_store(b) as right:
        start, end = common_range(left, right)
        ranges = [
            _Range(a, b, start_offset, min(start_offset + SPLIT_SIZE, end))
            for start_offset in range(start, end, SPLIT_SIZE)
        ]
        start_offset, unread = -1, 0
        for row in run(TaskRows(_compare_range, ranges, _FOUND)).sort_by("start").to_pylist():
            unread += row["unread"]
            if row["at"] >= 0:
                start_offset = row["at"]
                break
        logs = difference_of(left, right, start_offset, unread)
        keys = sorted({*left.queues(), *right.queues()})
    tasks = [
        _Queues(a, b, logs, tuple(keys[n : n + QUEUES_A_TASK]))
        for n in range(0, len(keys), QUEUES_A_TASK)
    ]
    queues = run(TaskRows(_compare_queues, tasks, SCHEMA))
    queues = queues.sort_by([("topic", "ascending"), ("queue_id", "ascending")])
    return pa.concat_tables([pa.Table.from_batches([_log_row(b, logs)]), queues])


def _compare_range(task: _Range) -> Iterator[Any]:
    with open_store(task.a) as a, open_store(task.b) as b:
        first, unread = compare_range(a, b, task.start, task.end)
    yield one_batch(_FOUND, [{"start": task.start, "at": first, "unread": unread}])


def _compare_queues(task: _Queues) -> Iterator[Any]:
    with open_store(task.a) as a, open_store(task.b) as b:
        rows = [
            {
                **asdict(queue),
                "other": task.b,
                "kind": "queue",
                "same": False,
                "first": queue.first_changed,
            }
            for queue in compare_queues(a, b, task.logs, keys=task.keys)
        ]
    if rows:
        yield one_batch(SCHEMA, rows)


def _log_row(other: str, log: LogDifference) -> Any:
    common = max(0, min(log.a_end, log.b_end) - max(log.a_start, log.b_start))
    row = {
        "other": other,
        "kind": "log",
        "same": log.same,
        "topic": "",
        "queue_id": -1,
        "a_min": log.a_start,
        "a_max": log.a_end,
        "b_min": log.b_start,
        "b_max": log.b_end,
        "only_a": log.a_end - log.a_start - common,
        "only_b": log.b_end - log.b_start - common,
        "changed": log.differing_size + log.unread_size,
        "first": log.diverges_at,
    }
    return one_batch(SCHEMA, [row])
