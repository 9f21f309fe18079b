"""``stats``: messages and bytes by topic and hour of the store time, or finer.

Rule: both engines return the same rows in the same order: by topic, then by queue, producer or tag
if wanted, then by hour. Bytes are those of whole records in the commit log, which a topic takes on
disk without its queues.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import BadOption
from pipeline.frames import commitlog
from pipeline.sources.store.tables import COMMITLOG, Reading, plan, read, schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("topic", "store_timestamp", "store_size")
_COLUMN_OF: Final = {"queue": "queue_id", "producer": "born_host", "tag": "tags"}
WAYS: Final = tuple(_COLUMN_OF)


class TopicHour(NamedTuple):
    """The messages of one topic that were stored within one hour.

    Attributes:
        hour_ms: start of the hour, epoch ms.
        bytes: the bytes of whole records.
        producer: the address from which the messages were sent.
        tag: the tag, None without one; the last three are None if rows are not divided by them.
    """

    topic: str
    hour_ms: int
    messages: int
    bytes: int
    queue_id: int | None = None
    producer: str | None = None
    tag: str | None = None


def stats(spark: "SparkSession", path: str, *, by: str | None = None) -> "DataFrame":
    """Return a frame ``topic, [what else], hour, messages, bytes`` of the store at ``path``.

    Args:
        by: queue, producer or tag, in addition to topic and hour.

    Raises:
        BadOption: ``by`` is none of these.
    """
    from pyspark.sql import functions as fn

    finer = _finer(by)
    hour = fn.date_trunc("hour", fn.col("store_timestamp")).alias("hour")
    counted = (
        commitlog(spark, path, columns=(*COLUMNS, *finer))
        .groupBy("topic", *finer, hour)
        .agg(fn.count("*").alias("messages"), fn.sum("store_size").alias("bytes"))
    )
    keys = ("topic", *finer, "hour")
    return counted.orderBy(*(fn.asc_nulls_last(key) for key in keys))


def stats_local(path: str, *, by: str | None = None) -> Any:
    """Return the same as a ``pyarrow.Table``, counted in this process without Spark."""
    # Sums of the splits are small, so a store of any size takes little memory.
    columns = (*COLUMNS, *_finer(by))
    keys = ["topic", *_finer(by), "hour"]
    parts = [_count(schema_of(COMMITLOG, columns).empty_table(), keys)]
    parts += [
        _count(pa.Table.from_batches([batch]), keys)
        for split in plan(path)
        for batch in read(split, Reading(columns=columns))
    ]
    total = pa.concat_tables(parts).group_by(keys)
    summed = total.aggregate([("messages", "sum"), ("bytes", "sum")])
    table = summed.rename_columns([*keys, "messages", "bytes"])
    return table.sort_by([(key, "ascending") for key in keys])


def _finer(by: str | None) -> tuple[str, ...]:
    if by is None:
        return ()
    if by not in _COLUMN_OF:
        raise BadOption(f"option by is {by!r}, expected {', '.join(WAYS)}")
    return (_COLUMN_OF[by],)


def _count(table: Any, keys: list[str]) -> Any:
    hours = pc.floor_temporal(table.column("store_timestamp"), unit="hour")
    grouped = table.append_column("hour", hours).group_by(keys)
    counted = grouped.aggregate([("store_size", "count"), ("store_size", "sum")])
    return counted.rename_columns([*keys, "messages", "bytes"])


def rows_of(table: Any, **_options: object) -> list[TopicHour]:
    """Return the rows of an Arrow table of either engine."""
    return [
        TopicHour(
            row["topic"],
            _epoch_ms(row["hour"]),
            row["messages"],
            row["bytes"],
            *(row.get(column) for column in _COLUMN_OF.values()),
        )
        for row in table.to_pylist()
    ]


def _epoch_ms(hour: Any) -> int:
    return 0 if hour is None else int(hour.timestamp()) * 1000
