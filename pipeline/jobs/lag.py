"""``lag``: how far each group of a store was behind, when the store was copied.

    offsets (one row a group, topic, queue) -> group, topic: queues, lag, oldest unread

Rule: a queue counts with its lag or 0: a group that is ahead of a queue (its topic was made
again) does not make another queue's lag smaller. Both engines give the same rows.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.frames import table
from pipeline.reading import Reading
from pipeline.tables import plan, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("consumer_group", "topic", "queue_id", "lag", "last_consumed_timestamp")


class GroupLag(NamedTuple):
    """Where a group stood in a topic; ``last_consumed_ms`` is 0 where the log does not say."""

    group: str
    topic: str
    queues: int
    lag: int
    last_consumed_ms: int


def lag(spark: "SparkSession", path: str) -> "DataFrame":
    """Return a frame ``consumer_group, topic, queues, lag, last_consumed``, largest lag first."""
    from pyspark.sql import functions as fn

    grouped = (
        table(spark, "offsets", path, columns=COLUMNS)
        .groupBy("consumer_group", "topic")
        .agg(
            fn.count("*").alias("queues"),
            fn.sum(fn.greatest(fn.col("lag"), fn.lit(0))).alias("lag"),
            fn.min("last_consumed_timestamp").alias("last_consumed"),
        )
    )
    return grouped.orderBy(fn.desc("lag"), "consumer_group", "topic")


def lag_local(path: str) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process."""
    reading = Reading(table="offsets", columns=COLUMNS)
    batches = [batch for task in plan(path, reading) for batch in read(task, reading)]
    rows = pa.Table.from_batches(batches)
    behind = pc.max_element_wise(rows.column("lag"), 0)
    rows = rows.set_column(rows.schema.get_field_index("lag"), "lag", behind)
    grouped = rows.group_by(["consumer_group", "topic"]).aggregate(
        [("queue_id", "count"), ("lag", "sum"), ("last_consumed_timestamp", "min")]
    )
    named = grouped.rename_columns(["consumer_group", "topic", "queues", "lag", "last_consumed"])
    return named.sort_by(
        [("lag", "descending"), ("consumer_group", "ascending"), ("topic", "ascending")]
    )


def rows_of(found: Any) -> list[GroupLag]:
    """Return the rows of an Arrow table of either engine."""
    return [
        GroupLag(
            row["consumer_group"],
            row["topic"],
            row["queues"],
            row["lag"],
            0 if row["last_consumed"] is None else round(row["last_consumed"].timestamp() * 1000),
        )
        for row in found.to_pylist()
    ]
