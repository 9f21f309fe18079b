"""``duplicates``: messages that a producer sent more than once.

The client sets a unique key once, so two records of a topic with one key are copies: a send was
tried again, or a file was copied twice. Messages that the broker itself stores again (retries,
delayed and half messages) keep their key under another topic and are not counted.

Rule: both engines give the same rows, largest first, then by topic and key.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.sources.store.spread import Rows, gather, spread
from pipeline.sources.store.tables import COMMITLOG, Reading, plan, read, schema_of
from storefmt.names import DLQ_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("topic", "uniq_key", "commit_log_offset", "store_timestamp")
SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("uniq_key", pa.string()),
        pa.field("copies", pa.int64()),
        pa.field("first_offset", pa.int64()),
        pa.field("last_offset", pa.int64()),
        pa.field("first_stored", pa.timestamp("us", "UTC")),
        pa.field("last_stored", pa.timestamp("us", "UTC")),
    ]
)
BROKERS_OWN: Final = (SCHEDULE_TOPIC, HALF_TOPIC)
"""Topics in which a message only waits; it has the same key in its real topic."""
OWN_PREFIXES: Final = (RETRY_PREFIX, DLQ_PREFIX)
_ORDER: Final = [("copies", "descending"), ("topic", "ascending"), ("uniq_key", "ascending")]


class Duplicate(NamedTuple):
    """One unique key with more than one record; offsets are bytes of the commit log."""

    topic: str
    uniq_key: str
    copies: int
    first_offset: int
    last_offset: int
    first_stored_ms: int
    last_stored_ms: int


def duplicates(spark: "SparkSession", path: str) -> "DataFrame":
    """Return a frame with a row for each key that has copies; see ``SCHEMA``."""
    from pyspark.sql import functions as fn

    grouped = (
        spread(spark, _rows(path))
        .groupBy("topic", "uniq_key")
        .agg(
            fn.count("*").alias("copies"),
            fn.min("commit_log_offset").alias("first_offset"),
            fn.max("commit_log_offset").alias("last_offset"),
            fn.min("store_timestamp").alias("first_stored"),
            fn.max("store_timestamp").alias("last_stored"),
        )
        .where("copies > 1")
    )
    return grouped.orderBy(fn.desc("copies"), "topic", "uniq_key")


def duplicates_local(path: str) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process.

    Every key of the store is in memory once, with some 60 bytes each: above some 10^8 messages
    use Spark.
    """
    grouped = gather(_rows(path)).group_by(["topic", "uniq_key"])
    counted = grouped.aggregate(
        [
            ("commit_log_offset", "count"),
            ("commit_log_offset", "min"),
            ("commit_log_offset", "max"),
            ("store_timestamp", "min"),
            ("store_timestamp", "max"),
        ]
    ).rename_columns(SCHEMA.names)
    return counted.filter(pc.greater(counted.column("copies"), 1)).sort_by(_ORDER)


def _rows(path: str) -> Rows:
    return Rows(_wanted, plan(path), schema_of(COMMITLOG, COLUMNS))


def _wanted(split: Any) -> Iterator[Any]:
    """Yield the messages of a split that may have copies."""
    for batch in read(split, Reading(columns=COLUMNS)):
        topic = batch.column("topic")
        own = pc.is_in(topic, value_set=pa.array(BROKERS_OWN))
        for prefix in OWN_PREFIXES:
            own = pc.or_(own, pc.starts_with(topic, prefix))
        yield batch.filter(pc.and_(pc.is_valid(batch.column("uniq_key")), pc.invert(own)))


def rows_of(table: Any) -> list[Duplicate]:
    """Return the rows of an Arrow table of either engine."""
    return [
        Duplicate(
            row["topic"],
            row["uniq_key"],
            row["copies"],
            row["first_offset"],
            row["last_offset"],
            _ms(row["first_stored"]),
            _ms(row["last_stored"]),
        )
        for row in table.to_pylist()
    ]


def _ms(moment: Any) -> int:
    return 0 if moment is None else round(moment.timestamp() * 1000)
