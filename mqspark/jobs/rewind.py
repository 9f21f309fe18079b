"""``rewind-plan``: what moving consumer groups to a time would replay or skip.

Rule: nothing is changed; each row ends with the command that would do it.
``storefmt.offline.analyse.rewind`` searches by the rules of a broker; queues are divided into
tasks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from mqspark.schemas import schema
from mqspark.sources.store.spread import TaskRows, gather, one_batch, sorted_once, spread
from mqspark.sources.store.stores import open_store
from storefmt.offline.analyse.rewind import rewinds_to
from storefmt.offline.views.info import GroupInfo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    store=pa.string(),
    group=pa.string(),
    topic=pa.string(),
    queue_id=pa.int32(),
    queue_offset=pa.int64(),
    target=pa.int64(),
    replayed=pa.int64(),
    skipped=pa.int64(),
    bytes=pa.int64(),
    target_ms=pa.int64(),
    command=pa.string(),
)
QUEUES_A_TASK: Final = 256
_ORDER: Final = [(name, "ascending") for name in ("store", "group", "topic", "queue_id")]


def rewind_plan(
    spark: "SparkSession", paths: Sequence[str], *, to_ms: int, group: str | None = None,
    topic: str | None = None,
) -> "DataFrame":  # fmt: skip
    """Return a frame with a row for each queue of each group, see ``SCHEMA``.

    Args:
        spark: the session.
        paths: store directories.
        to_ms: the store time to move to, epoch ms.
        group, topic: only this group or topic; None for all.
    """
    frame = spread(spark, _rows(paths, to_ms, group, topic))
    return sorted_once(frame, *(name for name, _ in _ORDER))


def rewind_plan_local(
    paths: Sequence[str], *, to_ms: int, group: str | None = None, topic: str | None = None
) -> Any:
    """Return the same as a ``pyarrow.Table``, computed in this process.

    Args:
        paths, to_ms, group, topic: as of ``rewind_plan``.
    """
    return gather(_rows(paths, to_ms, group, topic)).sort_by(_ORDER)


class _Queues(NamedTuple):
    directory: str
    infos: tuple[GroupInfo, ...]
    to_ms: int


def _rows(paths: Sequence[str], to_ms: int, group: str | None, topic: str | None) -> TaskRows:
    tasks = []
    for path in paths:
        with open_store(path) as store:
            infos = [
                info
                for info in store.group_offsets()
                if group in (None, info.group) and topic in (None, info.topic)
            ]
        tasks += [
            _Queues(path, tuple(infos[first : first + QUEUES_A_TASK]), to_ms)
            for first in range(0, len(infos), QUEUES_A_TASK)
        ]
    return TaskRows(_moves, tasks, SCHEMA)


def _moves(task: _Queues) -> Iterator[Any]:
    when = datetime.fromtimestamp(task.to_ms / 1000, UTC).isoformat(timespec="milliseconds")
    when = when.replace("+00:00", "Z")
    with open_store(task.directory) as store:
        rows = [
            {
                **asdict(move),
                "store": task.directory,
                "queue_offset": move.offset,
                "bytes": move.size,
                "command": f"mqadmin offset reset {move.group} {move.topic} --to {when}",
            }
            for move in rewinds_to(store, list(task.infos), task.to_ms)
        ]
    yield one_batch(SCHEMA, rows)
