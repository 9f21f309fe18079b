"""The columns of every table, declared once: Arrow's schemas, and Spark's made of them.

    schemas.STORE["commitlog"]                the columns of a table of ``rocketmq_store``
    schemas.LIVE                              the columns of ``rocketmq``
    schemas.struct_of(schemas.LIVE)           the same as Spark's StructType

Rule: every column is nullable. ``log_offset`` is bytes of the commit log, ``queue_offset`` entries
of a queue, ``unique_key`` what the client gave a message. Times are timestamps (UTC), and ms since
1970 only where the name ends with ``_ms``. Both engines need the declarations, and the local one
does without Spark, so they are Arrow's.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from storefmt.arrow.columns import SCHEMA
from storefmt.arrow.queue_columns import INDEX_SCHEMA, QUEUE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

COMMITLOG: Final = "commitlog"
DAMAGE: Final = "damage"
RECORDS: Final = "records"
"""The column of ``files`` for which each file of the log has to be read."""
STORE_COLUMN: Final = "store"
"""The column of every table that names the store of a row; it is there if several stores are read,
or if it is named."""
_STRING: Final = pa.string()
_TIME: Final = pa.timestamp("us", "UTC")
_ATTRIBUTES: Final = pa.map_(pa.string(), pa.string())
"""The ``attributes`` of 5.x; null if the file has none."""


def schema(**fields: Any) -> Any:
    """Return the Arrow schema of columns that are given with their types."""
    return pa.schema([pa.field(name, kind) for name, kind in fields.items()])


STORE: Final[Mapping[str, Any]] = {
    COMMITLOG: SCHEMA,
    DAMAGE: schema(
        file=_STRING,
        log_offset=pa.int64(),
        length=pa.int64(),
        kind=_STRING,
        resumed_at=pa.int64(),
        detail=_STRING,
    ),
    "consumequeue": QUEUE_SCHEMA,
    "index": INDEX_SCHEMA,
    "index_files": schema(
        file=_STRING,
        size=pa.int64(),
        begin_timestamp=_TIME,
        end_timestamp=_TIME,
        begin_log_offset=pa.int64(),
        end_log_offset=pa.int64(),
        hash_slot_count=pa.int32(),
        index_count=pa.int32(),
    ),
    "offsets": schema(
        consumer_group=_STRING,
        topic=_STRING,
        queue_id=pa.int32(),
        queue_offset=pa.int64(),
        min_offset=pa.int64(),
        max_offset=pa.int64(),
        lag=pa.int64(),
        last_consumed_timestamp=_TIME,
    ),
    "delay_offsets": schema(delay_level=pa.int32(), queue_offset=pa.int64()),
    "topics": schema(
        topic=_STRING,
        read_queue_nums=pa.int32(),
        write_queue_nums=pa.int32(),
        perm=pa.int32(),
        topic_filter_type=_STRING,
        topic_sys_flag=pa.int32(),
        order=pa.bool_(),
        attributes=_ATTRIBUTES,
        raw=_STRING,
    ),
    "groups": schema(
        consumer_group=_STRING,
        consume_enable=pa.bool_(),
        consume_from_min_enable=pa.bool_(),
        consume_broadcast_enable=pa.bool_(),
        retry_queue_nums=pa.int32(),
        retry_max_times=pa.int32(),
        broker_id=pa.int64(),
        which_broker_when_consume_slowly=pa.int64(),
        notify_consumer_ids_changed_enable=pa.bool_(),
        attributes=_ATTRIBUTES,
        raw=_STRING,
    ),
    # ``end_reason`` is what follows the last record of a log file: blank, zero, truncated, or a
    # kind of damage; ``records`` are messages of a log file, entries of a queue or of an index.
    "files": schema(
        path=_STRING,
        kind=_STRING,
        size=pa.int64(),
        start=pa.int64(),
        end=pa.int64(),
        fill_size=pa.int64(),
        allocated_bytes=pa.int64(),
        first_store_timestamp=_TIME,
        last_store_timestamp=_TIME,
        newest_topic=_STRING,
        end_reason=_STRING,
        records=pa.int64(),
    ),
    "checkpoint": schema(
        physic_timestamp=_TIME, logics_timestamp=_TIME, index_timestamp=_TIME, abort=pa.bool_()
    ),
}
ORIGIN: Final = ("cluster", "broker_name", "broker_address")
LIVE: Final = pa.schema(
    [
        *(field for field in SCHEMA if field.name != "file"),
        *(pa.field(name, _STRING) for name in ORIGIN),
    ]
)
"""Names and types are those of the store, so that both can be combined in a union. There is no
``file``, because a broker does not tell it."""


def struct_of(schema: Any) -> "StructType":
    """Return Spark's form of an Arrow schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
