"""``timeline``: when the messages of a store were stored, as in ``store timeline``.

Rule: both engines count by the same spans of store time (UTC); empty spans between others are rows,
too.
"""

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.frames import commitlog
from pipeline.sources.store.stores import open_store
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.analyse.tally import By, Tally, Wanted, filled, span_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = pa.schema(
    [
        pa.field("start_ms", pa.int64()),
        pa.field("every_ms", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("bytes", pa.int64()),
        pa.field("first_ms", pa.int64()),
        pa.field("last_ms", pa.int64()),
    ]
)


def timeline(
    spark: "SparkSession",
    path: str,
    *,
    every_ms: int | None = None,
    topic: str | None = None,
    begin_ms: int | None = None,
    end_ms: int | None = None,
) -> "DataFrame":
    """Return a frame with a row for each span that has messages, see ``SCHEMA``; times in ms.

    Args:
        spark: the session.
        path: the store directory.
        every_ms: the length of a span; None for some sixty spans.
        topic: only this topic; None for all.
        begin_ms, end_ms: the first and last store time that counts; None for no limit.
    """
    from pyspark.sql import functions as fn

    every = every_ms or _span(path, begin_ms, end_ms)
    options = {"topics": topic, "startTime": begin_ms, "endTime": end_ms}
    given = {name: str(value) for name, value in options.items() if value is not None}
    frame = commitlog(spark, path, columns=("store_timestamp", "store_size"), options=given)
    # A damaged time is null, and counts as 0, as in `store timeline`.
    at_ms = fn.coalesce(fn.unix_millis("store_timestamp"), fn.lit(0))
    start = (at_ms - fn.pmod(at_ms, fn.lit(every))).alias("start_ms")
    counted = frame.groupBy(start).agg(
        fn.lit(every).cast("bigint").alias("every_ms"),
        fn.count("*").alias("count"),
        fn.sum("store_size").alias("bytes"),
        fn.min(at_ms).alias("first_ms"),
        fn.max(at_ms).alias("last_ms"),
    )
    return counted.orderBy("start_ms")


def timeline_local(
    path: str,
    *,
    every_ms: int | None = None,
    topic: str | None = None,
    begin_ms: int | None = None,
    end_ms: int | None = None,
) -> Any:
    """Return the same as a ``pyarrow.Table``, by processes of this machine where it pays.

    Args:
        path, every_ms, topic, begin_ms, end_ms: as of ``timeline``.
    """
    wanted = Wanted(topic=topic, begin_ms=begin_ms, end_ms=end_ms)
    every = every_ms or _span(path, begin_ms, end_ms)
    with open_store(path) as store:
        found = count_records(store, By.TIME, wanted=wanted, bucket_ms=every, jobs=None)
    rows = [
        {
            "start_ms": start,
            "every_ms": every,
            "count": tally.count,
            "bytes": tally.size,
            "first_ms": tally.first_ms,
            "last_ms": tally.last_ms,
        }
        for (start, *_), tally in found.items()
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA).sort_by("start_ms")


def rows_of(table: Any, **_options: object) -> list[dict[str, Any]]:
    """Return a row for each span, also empty ones; ``relative`` compares it with the fullest."""
    rows = table.to_pylist()
    if not rows:
        return []
    every = rows[0]["every_ms"]
    tallies = {
        row["start_ms"]: Tally(row["count"], row["bytes"], row["first_ms"], row["last_ms"])
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
        for start, tally in filled(tallies, every)
    ]


def _span(path: str, begin_ms: int | None, end_ms: int | None) -> int:
    with open_store(path) as store:
        return span_of(store, begin_ms=begin_ms, end_ms=end_ms)
