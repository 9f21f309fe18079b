"""``rebuild``: builds queues and index from the log, byte for byte as a broker does.

    log ──splits──> what each record claims ──shuffle by queue──> queue files
        └─────────> index, a task a file         queues without a record, ext files: a task

Rule: ``storefmt.offline.repair.rebuild`` places and writes; this module divides the work. One task
makes each queue, under another name, and moves it to its place when it is whole. Claims (the
entries that records ask for) are shuffled in runs, because a row costs Spark as much as many
entries cost us. A log with damage, or with files that are not where their names say, is rebuilt as
one task: what is lost there decides which entries later records may have.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mqspark.jobs.rebuildindex import write_indexes
from mqspark.jobs.rebuildtarget import RebuildTarget, draft_of
from mqspark.schemas import DAMAGE, schema, struct_of
from mqspark.sources.store.log_tables import LogSplit
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import (
    PARTITIONS_MAX,
    TaskRows,
    frame_of,
    gather,
    one_batch,
    spread,
)
from mqspark.sources.store.stores import open_store, store_path
from mqspark.sources.store.tables import plan, read
from storefmt.formats.properties import INNER_MULTI_DISPATCH
from storefmt.formats.sysflag import TRANSACTION_MASK, TRANSACTION_PREPARED, TRANSACTION_ROLLBACK
from storefmt.names import SCHEDULE_TOPIC
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.placement import PlacedEntry
from storefmt.offline.repair.rebuild import Rebuild, RebuildResult, StoreShape
from storefmt.offline.repair.rebuild import rebuild as rebuild_store
from storefmt.offline.views.storedir import StoreDir
from storefmt.offline.views.tree import QueueKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA: Final = schema(
    store=pa.string(),
    kind=pa.string(),
    topic=pa.string(),
    queue_id=pa.int32(),
    min_offset=pa.int64(),
    max_offset=pa.int64(),
    filler_count=pa.int64(),
    files=pa.int64(),
    note=pa.string(),
)
"""``kind`` is queue, index, or note: a sentence about what could not be rebuilt."""
_ROW: Final[dict[str, Any]] = {
    "topic": "",
    "note": "",
    "queue_id": -1,
    "min_offset": 0,
    "max_offset": 0,
    "filler_count": 0,
    "files": 0,
}
"""The default values of a row."""
_CLAIMS: Final = schema(
    store=pa.int32(),
    topic=pa.string(),
    queue_id=pa.int32(),
    log_offset=pa.int64(),
    claims=pa.binary(),
)
"""A row is a run of up to ``_RUN_MAX`` claims of one queue (``_CLAIM``) in log order, without gaps
in that part of the log; the offset is that of the first claim."""
_COLUMNS: Final = (
    *("topic", "queue_id", "log_offset", "queue_offset", "store_size", "tags_code"),
    *("sys_flag", "properties_raw"),
)
_LOST: Final = schema(
    store=pa.int32(),
    size=pa.int64(),
)
_ENTRY: Final = np.dtype([("log_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_CLAIM: Final = np.dtype([("slot", "<i8"), ("entry", _ENTRY), ("copy", "?")])
PARTS_MIN: Final = 8
_RUN_MIN: Final = 16
"""Shorter runs of entries are put one by one."""
_RUN_MAX: Final = 256
"""Spark sends a worker 10,000 rows at once, so at most 74 MB of claims."""
_CLAIMS_MAX: Final = 1 << 18
"""The claims that a worker sorts together."""
_LOST_NOTE: Final = "bytes of the log are not records; `store verify` shows where"


def rebuild(
    spark: "SparkSession", targets: Mapping[str, str], *, with_index: bool = True
) -> "DataFrame":
    """Rebuild stores right away and return a frame of what was written, see ``SCHEMA``.

    Args:
        targets: a new directory for each store directory.

    Raises:
        BadCall: a target is not empty, or lies in its store.
    """
    jobs = [RebuildTarget(n, *pair, with_index) for n, pair in enumerate(targets.items())]
    for job in jobs:
        OutputDirectory.make(job.out, source=store_path(job.directory))
    lost = spread(spark, _lost(jobs)).toArrow()
    whole = set(lost.column("store").to_pylist()) | {j.number for j in jobs if not _is_regular(j)}
    apart = [job for job in jobs if job.number not in whole]
    frame = spread(spark, TaskRows(_rebuilt, [j for j in jobs if j.number in whole], SCHEMA))
    if apart:
        frame = frame.union(_queues(spark, apart))
    table = frame.toArrow()
    if with_index:
        table = pa.concat_tables([table, _indexes(spark, apart)])
    rests = [_Rest(job, _built(table, job)) for job in apart]
    table = pa.concat_tables([table, spread(spark, TaskRows(_finished, rests, SCHEMA)).toArrow()])
    return frame_of(spark, _sorted(table))


def rebuild_local(targets: Mapping[str, str], *, with_index: bool = True) -> Any:
    """Do the same in this process, store after store; return a ``pyarrow.Table``."""
    jobs = [RebuildTarget(n, *pair, with_index) for n, pair in enumerate(targets.items())]
    for job in jobs:
        OutputDirectory.make(job.out, source=store_path(job.directory))
    return _sorted(gather(TaskRows(_rebuilt, jobs, SCHEMA)))


def targets_of(paths: Sequence[str], to: str) -> dict[str, str]:
    """Return a directory for each store: ``to`` for one, else one below it by the store's path."""
    if len(paths) == 1:
        return {paths[0]: to}
    return {
        path: str(Path(to, _whole(path).strip("/").replace("://", "-").replace("/", "-")))
        for path in paths
    }


def _whole(path: str) -> str:
    return path if "://" in path else str(Path(path).resolve())


def is_damaged(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether a log had bytes that are not records."""
    return any(row["note"].endswith(_LOST_NOTE) for row in rows)


def steps(paths: Sequence[str]) -> str:
    """Return the description of what is done for some stores."""
    splits = sum(len(plan(path)) for path in paths)
    return (
        f"look for damage in {splits} splits of {len(paths)} logs; a damaged one is one task\n"
        f"read what records claim in {splits} splits, shuffle it by queue, write each queue\n"
        f"count keys in {splits} splits, write each index file; then ext files and old queues"
    )


class _Rest(NamedTuple):
    target: RebuildTarget
    built: frozenset[tuple[str, int]]


def _is_regular(target: RebuildTarget) -> bool:
    with open_store(target.directory) as store:
        return _part(store, target).is_regular


def _part(store: StoreDir, target: RebuildTarget) -> Rebuild:
    return Rebuild(store, OutputDirectory(Path(target.out).resolve()), store, StoreShape(), False)


def _lost(jobs: list[RebuildTarget]) -> TaskRows:
    reading = ReadOptions(table=DAMAGE, columns=("length",), check_crc=True)
    tasks = [(job.number, split) for job in jobs for split in plan(job.directory, reading)]
    return TaskRows(_lost_in, tasks, _LOST)


def _lost_in(task: tuple[int, LogSplit]) -> Iterator[Any]:
    reading = ReadOptions(table=DAMAGE, columns=("length",), check_crc=True)
    size = sum(pc.sum(batch.column(0)).as_py() for batch in read(task[1], reading))
    if size:
        yield one_batch(_LOST, [{"store": task[0], "size": size}])


def _indexes(spark: "SparkSession", targets: list[RebuildTarget]) -> Any:
    rows = [
        _ROW
        | {"store": index.target.directory, "kind": "index"}
        | {"max_offset": index.entries, "files": index.files}
        for index in write_indexes(spark, targets)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _rebuilt(target: RebuildTarget) -> Iterator[Any]:
    with open_store(target.directory) as store:
        # A task that runs again starts over.
        out = OutputDirectory(Path(target.out).resolve())
        for left in list(out.root.iterdir()):
            shutil.rmtree(left)
        yield _batch(target, rebuild_store(store, out, with_index=target.with_index))
        out.sync()


def _finished(rest: _Rest) -> Iterator[Any]:
    with open_store(rest.target.directory) as store:
        result = _part(store, rest.target).finish_rest(rest.built)
        OutputDirectory(Path(rest.target.out).resolve()).sync()
    yield _batch(rest.target._replace(with_index=False), result)


def _queues(spark: "SparkSession", targets: list[RebuildTarget]) -> "DataFrame":
    by_number = {target.number: target for target in targets}
    reading = ReadOptions(columns=_COLUMNS)
    splits = [(target, split) for target in targets for split in plan(target.directory, reading)]

    def write(batches: Iterable[Any]) -> Iterator[Any]:
        yield from _written(batches, by_number)

    queue = ("store", "topic", "queue_id")
    parts = min(max(PARTS_MIN, len(splits)), PARTITIONS_MAX)
    claims = spread(spark, TaskRows(_claims, splits, _CLAIMS)).repartition(parts, *queue)
    ordered = claims.sortWithinPartitions(*queue, "log_offset")
    return ordered.mapInArrow(write, struct_of(SCHEMA))


@dataclass(slots=True)
class _Claims:
    """Some claims; ``queues`` has the number of the queue of each, by ``keys``."""

    keys: dict[QueueKey, int] = field(default_factory=dict)
    queues: list[Any] = field(default_factory=list)
    claims: list[Any] = field(default_factory=list)

    def add(self, queues: Any, claims: Any) -> int:
        """Add claims; return how many there are."""
        self.queues.append(queues)
        self.claims.append(claims)
        return sum(map(len, self.claims))

    def number(self, key: QueueKey) -> int:
        """Return the number of a queue."""
        return self.keys.setdefault(key, len(self.keys))

    def runs(self, store: int) -> Iterator[Any]:
        """Yield the claims by queue and in log order, ``_RUN_MAX`` a row."""
        if not self.claims:
            return
        # Without a dtype numpy changes the byte order of the entries.
        queues, claims = np.concatenate(self.queues), np.concatenate(self.claims, dtype=_CLAIM)
        offsets = claims["entry"]["log_offset"].astype(np.int64)
        order = np.lexsort((offsets, queues))
        queues, claims, offsets = queues[order], claims[order], offsets[order]
        starts = np.flatnonzero(np.diff(queues, prepend=-1))
        ends = [*starts[1:].tolist(), len(queues)]
        keys = list(self.keys)
        rows: list[dict[str, Any]] = [
            {
                "store": store,
                "topic": keys[queues[start]][0],
                "queue_id": keys[queues[start]][1],
                "log_offset": int(offsets[first]),
                "claims": claims[first : min(first + _RUN_MAX, end)].tobytes(),
            }
            for start, end in zip(starts.tolist(), ends, strict=True)
            for first in range(start, end, _RUN_MAX)
        ]
        yield one_batch(_CLAIMS, rows)


def _claims(task: tuple[RebuildTarget, LogSplit]) -> Iterator[Any]:
    """Yield the claims of the records of a split; unusual records are handled one by one."""
    target, split = task
    with open_store(target.directory) as store:
        part = _part(store, target)
        some = _Claims()
        for batch in read(split, ReadOptions(columns=_COLUMNS)):
            odd = pc.or_(
                pc.equal(batch.column("topic"), SCHEDULE_TOPIC),
                pc.match_substring(batch.column("properties_raw"), INNER_MULTI_DISPATCH),
            )
            kinds = pc.bit_wise_and(batch.column("sys_flag"), TRANSACTION_MASK)
            none = pa.array([TRANSACTION_PREPARED, TRANSACTION_ROLLBACK], pa.int32())
            plain = batch.filter(pc.invert(pc.or_(odd, pc.is_in(kinds, value_set=none))))
            count = some.add(_queues_of(plain, some), _plain_claims(plain))
            for log_offset in batch.filter(odd).column("log_offset").to_pylist():
                placed = list(part.claims(store.record_at(log_offset)))
                queues = np.array([some.number(each.key) for each in placed], dtype=np.int64)
                rows = [
                    (p.queue_offset, (p.log_offset, p.size, p.tags_code), p.copy) for p in placed
                ]
                count = some.add(queues, np.array(rows, dtype=_CLAIM))
            if count >= _CLAIMS_MAX:
                yield from some.runs(target.number)
                some = _Claims()
        yield from some.runs(target.number)


def _queues_of(batch: Any, some: _Claims) -> Any:
    """Return the number of each record's queue."""
    topics, queue_ids = batch.column("topic"), batch.column("queue_id")
    kinds = topics.dictionary_encode().indices.to_numpy().astype(np.int64)
    pairs = kinds << 32 | queue_ids.to_numpy().view(np.uint32)
    _, rows, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    keys = zip(topics.take(rows).to_pylist(), queue_ids.take(rows).to_pylist(), strict=True)
    return np.array([some.number(key) for key in keys], dtype=np.int64)[inverse]


def _plain_claims(batch: Any) -> Any:
    claims = np.zeros(batch.num_rows, dtype=_CLAIM)
    claims["slot"] = batch.column("queue_offset").to_numpy()
    entries = claims["entry"]
    entries["log_offset"] = batch.column("log_offset").to_numpy()
    entries["size"] = batch.column("store_size").to_numpy()
    entries["tags_code"] = pc.fill_null(batch.column("tags_code"), 0).to_numpy()
    return claims


def _written(batches: Iterable[Any], targets: Mapping[int, RebuildTarget]) -> Iterator[Any]:
    """Write the queues of one partition, whose claims come by store and queue, in log order."""
    rows = (part for batch in batches for part in _by_store(batch))
    for number, parts in groupby(rows, key=lambda part: part[0]):
        target = targets[number]
        with open_store(target.directory) as store, draft_of(target, depth=3) as apart:
            part = _part(store, apart)
            for _, batch in parts:
                _write_claims(part, batch)
            result = part.finish_queues()
        yield _batch(target._replace(with_index=False), result)


def _by_store(batch: Any) -> Iterator[tuple[int, Any]]:
    numbers = batch.column("store").to_numpy()
    for number in np.unique(numbers).tolist():
        yield number, batch.filter(pa.array(numbers == number))


def _write_claims(part: Rebuild, batch: Any) -> None:
    """Put the claims of a batch, in which the claims of each queue are adjacent."""
    columns = (batch.column(name).to_pylist() for name in ("topic", "queue_id", "claims"))
    for topic, queue_id, claims in zip(*columns, strict=True):
        _write_queue_claims(part, (topic, queue_id), np.frombuffer(claims, dtype=_CLAIM))


def _write_queue_claims(part: Rebuild, key: QueueKey, claims: Any) -> None:
    slots, entries, copies = claims["slot"], claims["entry"], claims["copy"]
    ends = np.append(np.flatnonzero(np.diff(slots) != 1) + 1, len(slots)).tolist()
    start = 0
    for end in ends:
        while start < end:
            is_long = end - start >= _RUN_MIN
            first = int(slots[start])
            last = int(entries["log_offset"][end - 1])
            if is_long and part.take_run(
                key,
                first,
                entries[start:end].tobytes(),
                last,
                has_copies=bool(copies[start:end].any()),
            ):
                start = end
                continue
            offset, size, code = entries[start].item()
            has_copies = bool(copies[start])
            part.write_claim(PlacedEntry(key, first, offset, size, code, first, has_copies))
            start += 1


def _built(table: Any, target: RebuildTarget) -> frozenset[tuple[str, int]]:
    return frozenset(
        (row["topic"], row["queue_id"])
        for row in table.to_pylist()
        if row["store"] == target.directory and row["kind"] == "queue"
    )


def _batch(target: RebuildTarget, result: RebuildResult) -> Any:
    rows: list[dict[str, Any]] = [
        {
            "kind": "queue",
            "topic": queue.topic,
            "queue_id": queue.queue_id,
            "min_offset": queue.min_offset,
            "max_offset": queue.max_offset,
            "filler_count": queue.filler_count,
            "files": queue.file_count,
        }
        for queue in result.queues
    ]
    if target.with_index:
        entries, files = result.index_entry_count, result.index_file_count
        rows.append({"kind": "index", "max_offset": entries, "files": files})
    notes = [*result.notes, *([f"{result.lost_size} {_LOST_NOTE}"] if result.lost_size else [])]
    rows += [{"kind": "note", "note": note} for note in notes]
    return one_batch(SCHEMA, [_ROW | {"store": target.directory} | row for row in rows])


def _sorted(table: Any) -> Any:
    """Sort by store, and within each store queues first, then the index, then the notes."""
    kinds = pc.index_in(table.column("kind"), value_set=pa.array(["queue", "index", "note"]))
    order = ["store", "_kind", "topic", "queue_id", "note"]
    keyed = table.append_column("_kind", kinds)
    return keyed.sort_by([(name, "ascending") for name in order]).drop_columns(["_kind"])
