"""``trace``: the whole history of messages, searched in every store of a fleet at once.

    many stores   a task for each store and key
    one store     index and copies here; a task for each split of the log that must be read

Rule: each store is searched as by ``store trace``: the index first, then what it does not cover.
All copies are rows, in time order over all stores; a row ``note`` says how each store was searched.
A key that no store has is an error.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqspark.schemas import COMMITLOG, schema
from mqspark.sources.store.conditions import Condition
from mqspark.sources.store.log_tables import LogSplit
from mqspark.sources.store.reading import ReadOptions, StoreLayout
from mqspark.sources.store.spread import TaskRows, frame_of, gather, one_batch, sorted_once, spread
from mqspark.sources.store.stores import open_store
from mqspark.sources.store.tables import plan, read, schema_of
from storefmt.errors import NotInStore
from storefmt.formats.message import Record
from storefmt.offline.analyse.trace import LogRange, Scanning, TraceStep, pattern_of
from storefmt.offline.analyse.trace import trace as trace_store
from storefmt.offline.views.storedir import StoreDir

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTE: Final = "note"
SCHEMA: Final = schema(
    store=pa.string(),
    step=pa.string(),
    step_ms=pa.int64(),
    due_ms=pa.int64(),
    topic=pa.string(),
    queue_id=pa.int32(),
    queue_offset=pa.int64(),
    log_offset=pa.int64(),
    size=pa.int32(),
    unique_key=pa.string(),
    keys=pa.list_(pa.field("element", pa.string())),
    msg_id=pa.string(),
    detail=pa.string(),
)
_LOG_OFFSET: Final = "log_offset"
_PROPERTIES: Final = "properties_raw"
_HITS: Final = schema_of(COMMITLOG, [_LOG_OFFSET])
_ORDER: Final = [(name, "ascending") for name in ("step_ms", "store", "log_offset", "step")]


def trace(
    spark: "SparkSession", paths: Sequence[str], *, key: str, topic: str | None = None,
    scan: bool = False,
) -> "DataFrame":  # fmt: skip
    """Return a frame with a row for each step of the messages that ``key`` names, see ``SCHEMA``.

    A single store is searched right away.

    Args:
        spark: the session.
        paths: store directories.
        key: an offset id, a unique key, or a key of the user; several are separated by commas.
        topic: only messages that were sent to this topic.
        scan: whether to read the whole logs, whatever the indexes say.
    """
    rows = _rows(paths, key, topic, scan)
    if len(paths) == 1:
        table = gather(rows._replace(work=partial(_traced, spark=spark)))
        return frame_of(spark, table.sort_by(_ORDER))
    return sorted_once(spread(spark, rows), *(name for name, _ in _ORDER))


def trace_local(
    paths: Sequence[str], *, key: str, topic: str | None = None, scan: bool = False
) -> Any:
    """Return the same as a ``pyarrow.Table``, store after store.

    Args:
        paths, key, topic, scan: as of ``trace``.
    """
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


def steps(paths: Sequence[str]) -> str:
    """Return what is done for one store; empty for many, whose frame has a plan."""
    if len(paths) != 1:
        return ""
    return (
        "ask the index files here\n"
        f"read what they do not cover, or all of it, in up to {len(plan(paths[0]))} splits"
    )


class _Search(NamedTuple):
    directory: str
    key: str
    topic: str | None
    scan: bool


def _rows(paths: Sequence[str], key: str, topic: str | None, scan: bool) -> TaskRows:
    keys = [part.strip() for part in key.split(",") if part.strip()]
    return TaskRows(_traced, [_Search(p, k, topic, scan) for p in paths for k in keys], SCHEMA)


def _traced(search: _Search, *, spark: "SparkSession | None" = None) -> Iterator[Any]:
    with open_store(search.directory) as store:
        try:
            life = trace_store(
                store,
                search.key,
                topic=search.topic,
                scan=search.scan,
                scanning=_scanning(store, spark),
            )
        except NotInStore:
            # Most stores of a fleet have nothing; the driver reports it if none has the key.
            return
        rows = [_row(search.directory, step) for step in life.steps]
        rows += [
            {"store": search.directory, "step": NOTE, "step_ms": 0, "detail": note}
            for note in life.notes
        ]
    yield one_batch(SCHEMA, rows)


def _scanning(store: StoreDir, spark: "SparkSession | None") -> Scanning | None:
    """Return a function that reads a log by splits, None if files are not where their names say."""
    if store.log.bases != [span.start for span in store.log.spans]:
        return None

    def scanning(words: frozenset[str], ranges: list[LogRange]) -> Iterator[Record]:
        pattern = pattern_of(words)
        parts = [(split, pattern) for some in ranges for split in plan(store.root, _reading(*some))]
        rows = TaskRows(_hits, parts, _HITS)
        table = gather(rows) if spark is None else spread(spark, rows).toArrow()
        for log_offset in sorted(table.column(0).to_pylist()):
            yield store.log.record_at(log_offset, check_crc=False)

    return scanning


def _reading(start: int = 0, end: int | None = None) -> ReadOptions:
    bounds = [Condition(_LOG_OFFSET, ">=", start)]
    if end is not None:
        bounds.append(Condition(_LOG_OFFSET, "<", end))
    columns = (_LOG_OFFSET, _PROPERTIES)
    return ReadOptions(columns=columns, layout=StoreLayout.FILE, where=tuple(bounds))


def _hits(part: tuple[LogSplit, str]) -> Iterator[Any]:
    """Yield the places of records in a split whose properties match."""
    split, pattern = part
    for batch in read(split, _reading()):
        hits = batch.filter(pc.match_substring_regex(batch.column(_PROPERTIES), pattern))
        if hits.num_rows:
            yield hits.select([_LOG_OFFSET])


def _row(directory: str, step: TraceStep) -> dict[str, Any]:
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
        "unique_key": record.unique_key,
        "keys": list(record.keys),
        "msg_id": record.msg_id,
        "detail": step.detail,
    }
