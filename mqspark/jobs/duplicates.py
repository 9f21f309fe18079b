"""``duplicates``: messages that a producer sent more than once.

The client sets a unique key once, so two records of a topic with one key are copies: a send was
tried again, or a file was copied twice. Messages that the broker itself stores again (retries,
delayed and half messages) keep their key under another topic and are not counted.

Rule: both engines give the same rows, largest first, then by topic and key.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from mqspark.schemas import COMMITLOG, schema
from mqspark.sources.store.conditions import ms_of
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, gather, sorted_once, spread
from mqspark.sources.store.stores import Paths
from mqspark.sources.store.tables import StoreTask, plan_all, read_of, schema_of
from storefmt.names import DLQ_PREFIX, HALF_TOPIC, RETRY_PREFIX, SCHEDULE_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("store", "topic", "unique_key", "log_offset", "store_timestamp")
SCHEMA: Final = schema(
    topic=pa.string(),
    unique_key=pa.string(),
    copies=pa.int64(),
    stores=pa.list_(pa.field("element", pa.string())),
    first_log_offset=pa.int64(),
    last_log_offset=pa.int64(),
    first_stored=pa.timestamp("us", "UTC"),
    last_stored=pa.timestamp("us", "UTC"),
)
BROKERS_OWN: Final = (SCHEDULE_TOPIC, HALF_TOPIC)
"""Topics in which a message only waits; it has the same key in its real topic."""
OWN_PREFIXES: Final = (RETRY_PREFIX, DLQ_PREFIX)
_ORDER: Final = [("copies", "descending"), ("topic", "ascending"), ("unique_key", "ascending")]


def duplicates(spark: "SparkSession", paths: Paths) -> "DataFrame":
    """Return a frame with a row for each key that has copies; see ``SCHEMA``."""
    from pyspark.sql import functions as fn

    stores = fn.array_sort(fn.collect_set("store"))
    is_one = fn.size(stores) == 1
    grouped = (
        spread(spark, _rows(paths))
        .groupBy("topic", "unique_key")
        .agg(
            fn.count("*").alias("copies"),
            stores.alias("stores"),
            fn.when(is_one, fn.min("log_offset")).alias("first_log_offset"),
            fn.when(is_one, fn.max("log_offset")).alias("last_log_offset"),
            fn.min("store_timestamp").alias("first_stored"),
            fn.max("store_timestamp").alias("last_stored"),
        )
        .where("copies > 1")
    )
    return sorted_once(grouped, fn.desc("copies"), "topic", "unique_key")


def duplicates_local(paths: Paths) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process.

    Every key of the store is in memory once, with some 60 bytes each: above some 10^8 messages
    use Spark.
    """
    grouped = gather(_rows(paths)).group_by(["topic", "unique_key"])
    counted = grouped.aggregate(
        [
            ("log_offset", "count"),
            ("store", "distinct"),
            ("log_offset", "min"),
            ("log_offset", "max"),
            ("store_timestamp", "min"),
            ("store_timestamp", "max"),
        ]
    ).rename_columns(SCHEMA.names)
    copies = counted.filter(pc.greater(counted.column("copies"), 1)).sort_by(_ORDER)
    stores = [sorted(each) for each in copies.column("stores").to_pylist()]
    is_one = pa.array([len(each) == 1 for each in stores], pa.bool_())
    for name, values in {
        "stores": pa.array(stores, SCHEMA.field("stores").type),
        "first_log_offset": pc.if_else(is_one, copies.column("first_log_offset"), None),
        "last_log_offset": pc.if_else(is_one, copies.column("last_log_offset"), None),
    }.items():
        copies = copies.set_column(SCHEMA.get_field_index(name), SCHEMA.field(name), values)
    return copies


def _rows(paths: Paths) -> TaskRows:
    return TaskRows(_wanted, plan_all(paths), schema_of(COMMITLOG, COLUMNS))


def _wanted(task: StoreTask) -> Iterator[Any]:
    """Yield the messages of a split that may have copies."""
    for batch in read_of(task, ReadOptions(columns=COLUMNS)):
        topic = batch.column("topic")
        own = pc.is_in(topic, value_set=pa.array(BROKERS_OWN))
        for prefix in OWN_PREFIXES:
            own = pc.or_(own, pc.starts_with(topic, prefix))
        yield batch.filter(pc.and_(pc.is_valid(batch.column("unique_key")), pc.invert(own)))


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return a row for each key with copies, of an Arrow table of either engine.

    ``stores`` are those that have a copy, sorted. ``first_log_offset`` and ``last_log_offset`` are
    in bytes, and None if there are several stores.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        row["first_stored_ms"] = ms_of(row.pop("first_stored"))
        row["last_stored_ms"] = ms_of(row.pop("last_stored"))
    return rows
