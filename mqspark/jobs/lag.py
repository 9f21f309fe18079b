"""``lag``: how far each group was behind, when its stores were copied, or earlier.

    offsets of a store                         ┐ a row a group, topic, queue
    an older consumerOffset.json, and what its ├──> time, group, topic: queues, lag, oldest unread
      queues had at the time of that file      ┘

Rule: a queue counts with its lag, but never below 0: a group that is ahead of a queue (whose topic
was created again) does not reduce the lag of other queues. The queues of several stores, each of
one broker, are added up. The end of a queue at a time is behind the last message stored by then;
messages that the log no longer has were stored before. Both engines return the same rows.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqspark.errors import BadOption
from mqspark.schemas import schema
from mqspark.sources.store.conditions import ms_of
from mqspark.sources.store.entry_tables import batch_of
from mqspark.sources.store.spread import TaskRows, gather, sorted_once, spread
from mqspark.sources.store.state_tables import offset_rows, stored_ms
from mqspark.sources.store.stores import open_store
from storefmt.config.tables import ConsumerOffsets
from storefmt.errors import StoreError
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.storedir import StoreDir

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    at_ms=pa.int64(),
    consumer_group=pa.string(),
    topic=pa.string(),
    queue_id=pa.int32(),
    lag=pa.int64(),
    last_consumed_timestamp=pa.timestamp("us", "UTC"),
)
_KEYS: Final = ("at_ms", "consumer_group", "topic")


class Older(NamedTuple):
    """A consumerOffset.json of an earlier time of a store."""

    path: str
    at_ms: int


class _Look(NamedTuple):
    directory: str
    older: Older | None


def older_of(text: str) -> list[Older]:
    """Return the files of ``FILE[@EPOCH_MS],…``; without a time it is that of their change.

    Raises:
        ValueError: a file does not exist.
    """
    copies = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        path, _, at_ms = part.rpartition("@")
        if not path or not at_ms.isdecimal():
            path, at_ms = part, ""
        try:
            changed_ms = Path(path).stat().st_mtime_ns // 1_000_000
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from error
        copies.append(Older(path, int(at_ms) if at_ms else changed_ms))
    return copies


def lag(
    spark: "SparkSession", paths: Sequence[str], *, offsets: Sequence[Older] | None = None
) -> "DataFrame":
    """Return a frame ``at_ms, consumer_group, topic, queues, lag, last_consumed``.

    Rows come by time, of each the largest lag first.

    Args:
        paths: store directories, one for each broker.
        offsets: older consumer offsets of one store.

    Raises:
        BadOption: older offsets are given for several stores.
    """
    from pyspark.sql import functions as fn

    grouped = (
        spread(spark, _looks(paths, offsets))
        .groupBy(*_KEYS)
        .agg(
            fn.count("*").alias("queues"),
            fn.sum(fn.greatest(fn.col("lag"), fn.lit(0))).alias("lag"),
            fn.min("last_consumed_timestamp").alias("last_consumed"),
        )
    )
    return sorted_once(grouped, "at_ms", fn.desc("lag"), "consumer_group", "topic")


def lag_local(paths: Sequence[str], *, offsets: Sequence[Older] | None = None) -> Any:
    """Return the same as a ``pyarrow.Table``, in this process."""
    rows = gather(_looks(paths, offsets))
    behind = pc.max_element_wise(rows.column("lag"), 0)
    rows = rows.set_column(rows.schema.get_field_index("lag"), "lag", behind)
    grouped = rows.group_by(list(_KEYS)).aggregate(
        [("queue_id", "count"), ("lag", "sum"), ("last_consumed_timestamp", "min")]
    )
    named = grouped.rename_columns([*_KEYS, "queues", "lag", "last_consumed"])
    order = [("at_ms", "ascending"), ("lag", "descending")]
    return named.sort_by([*order, ("consumer_group", "ascending"), ("topic", "ascending")])


def rows_of(table: Any, **_options: object) -> list[dict[str, Any]]:
    """Return a row for each group and topic, of an Arrow table of either engine.

    ``at_ms`` is the time of the offsets, 0 for the time at which the store was copied, and
    ``last_consumed_ms`` the store time of the last consumed message, 0 if the log does not have it.
    """
    return [
        {
            "at_ms": row["at_ms"],
            "group": row["consumer_group"],
            "topic": row["topic"],
            "queues": row["queues"],
            "lag": row["lag"],
            "last_consumed_ms": ms_of(row["last_consumed"]),
        }
        for row in table.to_pylist()
    ]


def _looks(paths: Sequence[str], offsets: Sequence[Older] | None) -> TaskRows:
    if offsets and len(paths) > 1:
        raise BadOption(f"older offsets are those of one store, not of {len(paths)}")
    looks = [_Look(path, None) for path in paths]
    looks += [_Look(paths[0], each) for each in offsets or ()]
    return TaskRows(_looked, looks, SCHEMA)


def _looked(look: _Look) -> Iterator[Any]:
    with open_store(look.directory) as store:
        found = offset_rows(store) if look.older is None else _older_rows(store, look.older)
        rows = list(found)
    yield batch_of(SCHEMA, SCHEMA.names, [{"at_ms": 0, **row} for row in rows])


def _older_rows(store: StoreDir, older: Older) -> Iterator[dict[str, Any]]:
    try:
        offsets = ConsumerOffsets.decode(Path(older.path).read_bytes()).by_queue()
    except StoreError as error:
        raise StoreError(f"{older.path}: {error}") from error
    for (topic, group), queues in sorted(offsets.items()):
        for queue_id, offset in sorted(queues.items()):
            end, last_ms = 0, None
            if (topic, queue_id) in store.tree.queues:
                view = store.queue(topic, queue_id)
                end = _end_at(store, view, older.at_ms)
                last_ms = stored_ms(store, view, offset - 1)
            yield {
                "at_ms": older.at_ms,
                "consumer_group": group,
                "topic": topic,
                "queue_id": queue_id,
                "lag": end - offset,
                "last_consumed_timestamp": last_ms,
            }


def _end_at(store: StoreDir, view: QueueView, at_ms: int) -> int:
    """Return the queue offset behind the last message stored by a time."""
    have = range(view.min_offset, view.max_offset)
    return have.start + bisect_right(
        have, at_ms, key=lambda queue_offset: stored_ms(store, view, queue_offset) or 0
    )
