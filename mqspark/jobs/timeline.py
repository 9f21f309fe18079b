"""``timeline``: when the messages of stores were stored, as in ``store timeline``.

Rule: both engines count by the same spans of store time (UTC); empty spans between others are rows,
too.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from mqspark.schemas import schema
from mqspark.sources.store.conditions import Condition, stored_between
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, gather, sorted_once, spread
from mqspark.sources.store.stores import Paths, open_store, stores_of
from mqspark.sources.store.tables import StoreTask, plan_all, read_of
from storefmt.offline.analyse.record_counts import RecordCount, span_of, with_empty_spans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    start_ms=pa.int64(),
    every_ms=pa.int64(),
    count=pa.int64(),
    bytes=pa.int64(),
    first_ms=pa.int64(),
    last_ms=pa.int64(),
)
_KEYS: Final = ["start_ms", "every_ms"]
_SUMS: Final = (("count", "sum"), ("bytes", "sum"), ("first_ms", "min"), ("last_ms", "max"))


def timeline(
    spark: "SparkSession",
    paths: Paths,
    *,
    every_ms: int | None = None,
    topic: str | None = None,
    begin_ms: int | None = None,
    end_ms: int | None = None,
) -> "DataFrame":
    """Return a frame with a row for each span that has messages, see ``SCHEMA``; times in ms.

    Args:
        spark: the session.
        paths: one store or several, which are counted together.
        every_ms: the length of a span; None for some sixty spans.
        topic: only this topic; None for all.
        begin_ms, end_ms: the first and last store time that counts; None for no limit.
    """
    from pyspark.sql import functions as fn

    every = every_ms or _span(paths, begin_ms, end_ms)
    parts = spread(spark, _rows(paths, every, topic, begin_ms, end_ms)).groupBy(*_KEYS)
    counted = parts.agg(*(getattr(fn, how)(name).alias(name) for name, how in _SUMS))
    return sorted_once(counted, "start_ms")


def timeline_local(
    paths: Paths,
    *,
    every_ms: int | None = None,
    topic: str | None = None,
    begin_ms: int | None = None,
    end_ms: int | None = None,
) -> Any:
    """Return the same as a ``pyarrow.Table``, counted in this process without Spark.

    Args:
        paths, every_ms, topic, begin_ms, end_ms: as of ``timeline``.
    """
    every = every_ms or _span(paths, begin_ms, end_ms)
    return _summed(gather(_rows(paths, every, topic, begin_ms, end_ms))).sort_by("start_ms")


def _rows(
    paths: Paths, every_ms: int, topic: str | None, begin_ms: int | None, end_ms: int | None
) -> TaskRows:
    of_topic = () if topic is None else (Condition("topic", "=", topic),)
    reading = ReadOptions(
        columns=("store_timestamp", "store_size"),
        where=(*of_topic, *stored_between(begin_ms, end_ms)),
    )
    return TaskRows(
        partial(_counted, reading=reading, every_ms=every_ms), plan_all(paths, reading), SCHEMA
    )


def _counted(task: StoreTask, reading: ReadOptions, every_ms: int) -> Iterator[Any]:
    """Yield the sums of a split, which are small: no message leaves its worker."""
    parts = [_count(batch, every_ms) for batch in read_of(task, reading)]
    if parts:
        yield from _summed(pa.concat_tables(parts)).to_batches()


def _count(batch: Any, every_ms: int) -> Any:
    # A damaged time is null, and counts as 0, as in `store timeline`.
    at_ms = batch.column("store_timestamp").cast(pa.int64()).fill_null(0).to_numpy() // 1000
    return _summed(
        pa.Table.from_arrays(
            [
                pa.array(at_ms // every_ms * every_ms),
                pa.repeat(pa.scalar(every_ms, pa.int64()), len(at_ms)),
                pa.repeat(pa.scalar(1, pa.int64()), len(at_ms)),
                batch.column("store_size").cast(pa.int64()),
                pa.array(at_ms),
                pa.array(at_ms),
            ],
            schema=SCHEMA,
        )
    )


def _summed(table: Any) -> Any:
    summed = table.group_by(_KEYS).aggregate(list(_SUMS))
    return summed.rename_columns(SCHEMA.names)


def rows_of(table: Any, **_options: object) -> list[dict[str, Any]]:
    """Return a row for each span, also empty ones; ``relative`` compares it with the fullest."""
    rows = table.to_pylist()
    if not rows:
        return []
    every = rows[0]["every_ms"]
    tallies = {
        row["start_ms"]: RecordCount(row["count"], row["bytes"], row["first_ms"], row["last_ms"])
        for row in rows
    }
    largest = max(row["count"] for row in rows)
    return [
        {
            "start_ms": start,
            "end_ms": start + every,
            "count": tally.count,
            "bytes": tally.size,
            "relative": round(tally.count / largest, 6),
            "first_ms": tally.first_ms,
            "last_ms": tally.last_ms,
        }
        for start, tally in with_empty_spans(tallies, every)
    ]


def _span(paths: Paths, begin_ms: int | None, end_ms: int | None) -> int:
    """Return the length of a span that suits the store that needs the longest."""
    spans = []
    for path in stores_of(paths):
        with open_store(path) as store:
            spans.append(span_of(store, begin_ms=begin_ms, end_ms=end_ms))
    return max(spans)
