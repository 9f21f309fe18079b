"""``trace``: the whole life of messages, looked for in every store of a fleet at once.

Rule: each store is asked by one task, as ``store trace`` does: the index first, then what it
does not cover. All copies are rows, in time order over all stores; how each store was
searched is a row ``note``. A key that no store has is an error.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from pipeline.spread import Rows, gather, one_batch, spread
from pipeline.stores import open_store
from storefmt.errors import NotInStore
from storefmt.offline.trace import LifeStep
from storefmt.offline.trace import trace as trace_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTE: Final = "note"
SCHEMA: Final = pa.schema(
    [
        pa.field("store", pa.string()),
        pa.field("step", pa.string()),
        pa.field("step_ms", pa.int64()),
        pa.field("due_ms", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("queue_id", pa.int32()),
        pa.field("queue_offset", pa.int64()),
        pa.field("log_offset", pa.int64()),
        pa.field("size", pa.int32()),
        pa.field("uniq_key", pa.string()),
        pa.field("keys", pa.list_(pa.field("element", pa.string()))),
        pa.field("msg_id", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
_ORDER: Final = [(name, "ascending") for name in ("step_ms", "store", "log_offset", "step")]


def trace(
    spark: "SparkSession", paths: Sequence[str], *, key: str, topic: str | None = None,
    scan: bool = False,
) -> "DataFrame":  # fmt: skip
    """Return a frame with a row a step of the messages that ``key`` names, see ``SCHEMA``.

    Args:
        key: an offset id, a unique key, or a key of the user; several with commas.
        topic: only messages that were sent to this topic.
        scan: read the whole logs, whatever the indexes say.
    """
    frame = spread(spark, _rows(paths, key, topic, scan))
    return frame.orderBy(*(name for name, _ in _ORDER))


def trace_local(
    paths: Sequence[str], *, key: str, topic: str | None = None, scan: bool = False
) -> Any:
    """Return the same as a ``pyarrow.Table``, store after store."""
    return gather(_rows(paths, key, topic, scan)).sort_by(_ORDER)


def rows_of(table: Any, *, key: str, **_options: object) -> list[dict[str, Any]]:
    """Return the rows, notes last.

    Raises:
        NotInStore: no store has the key.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    if all(row["step"] == NOTE for row in rows):
        raise NotInStore(f"no store has a message with id or key {key!r}")
    return sorted(rows, key=lambda row: row["step"] == NOTE)


class _Search(NamedTuple):
    directory: str
    key: str
    topic: str | None
    scan: bool


def _rows(paths: Sequence[str], key: str, topic: str | None, scan: bool) -> Rows:
    keys = [part.strip() for part in key.split(",") if part.strip()]
    return Rows(_traced, [_Search(p, k, topic, scan) for p in paths for k in keys], SCHEMA)


def _traced(search: _Search) -> Iterator[Any]:
    with open_store(search.directory) as store:
        try:
            life = trace_store(store, search.key, topic=search.topic, scan=search.scan)
        except NotInStore:
            # Most stores of a fleet have nothing; the driver tells when none has.
            return
        rows = [_row(search.directory, step) for step in life.steps]
        rows += [
            {"store": search.directory, "step": NOTE, "step_ms": 0, "detail": note}
            for note in life.notes
        ]
    yield one_batch(SCHEMA, rows)


def _row(directory: str, step: LifeStep) -> dict[str, Any]:
    topic, queue_id, queue_offset = step.queue
    record = step.record
    return {
        "store": directory,
        "step": step.step.value,
        "step_ms": step.at_ms,
        "due_ms": step.due_ms,
        "topic": topic,
        "queue_id": queue_id,
        "queue_offset": queue_offset,
        "log_offset": record.log_offset,
        "size": record.size,
        "uniq_key": record.unique_key,
        "keys": list(record.keys),
        "msg_id": record.msg_id,
        "detail": step.detail,
    }
