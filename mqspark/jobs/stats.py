"""``stats``: messages and bytes by topic and hour of the store time, or finer.

Rule: both engines return the same rows in the same order: by topic, then by queue, producer, tag or
store if wanted, then by hour. Bytes are those of whole records in the commit log, which a topic
takes on disk without its queues. A split is counted where it is read, so that only sums leave the
worker.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from mqspark.errors import BadOption
from mqspark.schemas import COMMITLOG
from mqspark.sources.store.conditions import ms_of
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, gather, sorted_once, spread
from mqspark.sources.store.stores import Paths
from mqspark.sources.store.tables import StoreTask, plan_all, read_of, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("topic", "store_timestamp", "store_size")
_COLUMN_OF: Final = {"queue": "queue_id", "producer": "born_host", "tag": "tags", "store": "store"}
WAYS: Final = tuple(_COLUMN_OF)
_SUMS: Final = ("messages", "bytes")


def stats(spark: "SparkSession", paths: Paths, *, by: str | None = None) -> "DataFrame":
    """Return a frame ``topic, [what else], hour, messages, bytes`` of one store or several.

    Args:
        by: queue, producer, tag or store, in addition to topic and hour.

    Raises:
        BadOption: ``by`` is none of these.
    """
    from pyspark.sql import functions as fn

    keys = _keys(by)
    counted = spread(spark, _rows(paths, keys)).groupBy(*keys)
    summed = counted.agg(*(fn.sum(name).alias(name) for name in _SUMS))
    return sorted_once(summed, *(fn.asc_nulls_last(key) for key in keys))


def stats_local(paths: Paths, *, by: str | None = None) -> Any:
    """Return the same as a ``pyarrow.Table``, counted in this process without Spark."""
    keys = _keys(by)
    table = _summed(gather(_rows(paths, keys)), keys)
    return table.sort_by([(key, "ascending") for key in keys])


def _rows(paths: Paths, keys: list[str]) -> TaskRows:
    """Return the sums of each split, which are small: no message leaves its worker."""
    return TaskRows(partial(_counted, keys=keys), plan_all(paths), _schema(keys))


def _counted(task: StoreTask, keys: list[str]) -> Iterator[Any]:
    columns = (*COLUMNS, *keys[1:-1])
    parts = [
        _count(pa.Table.from_batches([batch]), keys)
        for batch in read_of(task, ReadOptions(columns=columns))
    ]
    if parts:
        yield from _summed(pa.concat_tables(parts), keys).cast(_schema(keys)).to_batches()


def _summed(table: Any, keys: list[str]) -> Any:
    summed = table.group_by(keys).aggregate([(name, "sum") for name in _SUMS])
    return summed.rename_columns([*keys, *_SUMS])


def _schema(keys: list[str]) -> Any:
    fields = schema_of(COMMITLOG, keys[:-1])
    hour = pa.field("hour", pa.timestamp("us", "UTC"))
    return pa.schema([*fields, hour, *(pa.field(name, pa.int64()) for name in _SUMS)])


def _keys(by: str | None) -> list[str]:
    if by is None:
        return ["topic", "hour"]
    if by not in _COLUMN_OF:
        raise BadOption(f"option by is {by!r}, expected {', '.join(WAYS)}")
    return ["topic", _COLUMN_OF[by], "hour"]


def _count(table: Any, keys: list[str]) -> Any:
    # The hours of a time zone are looked up for each row, which takes as long as all the rest.
    in_utc = table.column("store_timestamp").cast(pa.timestamp("us"))
    hours = pc.floor_temporal(in_utc, unit="hour")
    grouped = table.append_column("hour", hours).group_by(keys)
    counted = grouped.aggregate([("store_size", "count"), ("store_size", "sum")])
    return counted.rename_columns([*keys, *_SUMS])


def rows_of(table: Any, **_options: object) -> list[dict[str, Any]]:
    """Return a row for each topic and hour of an Arrow table of either engine.

    ``hour_ms`` is the start of the hour (epoch ms), ``bytes`` counts whole records. ``queue_id``,
    ``producer`` (the address from which the messages were sent), ``tag`` and ``store`` are None
    if rows are not divided by them.
    """
    return [
        {
            "topic": row["topic"],
            "hour_ms": ms_of(row["hour"]),
            "messages": row["messages"],
            "bytes": row["bytes"],
            "queue_id": row.get("queue_id"),
            "producer": row.get("born_host"),
            "tag": row.get("tags"),
            "store": row.get("store"),
        }
        for row in table.to_pylist()
    ]
