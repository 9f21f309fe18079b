"""``stats``: messages and bytes by topic and hour of the store time.

Rule: both engines give the same rows in the same order, topic first, then hour. Bytes are
those of whole records in the commit log: what a topic takes on disk, its queues left out.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.frames import commitlog
from pipeline.tables import Reading, plan, read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("topic", "store_timestamp", "store_size")


class TopicHour(NamedTuple):
    """What was stored of one topic within one hour.

    Attributes:
        hour_ms: start of the hour, epoch ms.
        bytes: of whole records.
    """

    topic: str
    hour_ms: int
    messages: int
    bytes: int


def stats(spark: "SparkSession", path: str) -> "DataFrame":
    """Return a frame ``topic, hour, messages, bytes`` of the store at ``path``."""
    from pyspark.sql import functions as fn

    hour = fn.date_trunc("hour", fn.col("store_timestamp")).alias("hour")
    counted = (
        commitlog(spark, path, columns=COLUMNS)
        .groupBy("topic", hour)
        .agg(fn.count("*").alias("messages"), fn.sum("store_size").alias("bytes"))
    )
    return counted.orderBy("topic", "hour")


def stats_local(path: str) -> Any:
    """Return the same as a ``pyarrow.Table``, counted in this process without Spark."""
    # Sums of the splits are small, so a store of any size takes little memory.
    parts = [
        _count(pa.Table.from_batches([batch]))
        for split in plan(path)
        for batch in read(split, Reading(columns=COLUMNS))
    ]
    if not parts:
        parts = [_count(pa.schema([("topic", pa.string())]).empty_table())]
    total = pa.concat_tables(parts).group_by(["topic", "hour"])
    summed = total.aggregate([("messages", "sum"), ("bytes", "sum")])
    table = summed.rename_columns(["topic", "hour", "messages", "bytes"])
    return table.sort_by([("topic", "ascending"), ("hour", "ascending")])


def _count(table: Any) -> Any:
    if not table.num_rows:
        table = pa.table(
            {
                "topic": pa.array([], pa.string()),
                "store_timestamp": pa.array([], pa.timestamp("us", "UTC")),
                "store_size": pa.array([], pa.int32()),
            }
        )
    hours = pc.floor_temporal(table.column("store_timestamp"), unit="hour")
    grouped = table.append_column("hour", hours).group_by(["topic", "hour"])
    counted = grouped.aggregate([("store_size", "count"), ("store_size", "sum")])
    return counted.rename_columns(["topic", "hour", "messages", "bytes"])


def rows_of(table: Any) -> list[TopicHour]:
    """Return the rows of an Arrow table of either engine."""
    return [
        TopicHour(row["topic"], _epoch_ms(row["hour"]), row["messages"], row["bytes"])
        for row in table.to_pylist()
    ]


def _epoch_ms(hour: Any) -> int:
    return 0 if hour is None else int(hour.timestamp()) * 1000
