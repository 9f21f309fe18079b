"""The index of ``rebuild``, divided into tasks: one task makes each of its files.

    log ──splits──> keys by log file ──sums──> where each index file begins
    index file k:   a task reads from the log file in which index file k-1 ends

Rule: the files are those that a single writer makes, byte for byte. So an index with history has
one writer (``storefmt.offline.repair.rebuild_index``). Otherwise the results of the writers are
compared: each must begin behind the entry with which the one before ended, and the file names must
increase. If that is not so, one writer makes all files again.
"""

import os
import shutil
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from mqspark.jobs.rebuildtarget import RebuildTarget, draft_of
from mqspark.schemas import schema
from mqspark.sources.store.log_tables import LogSplit
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.spread import TaskRows, one_batch, spread
from mqspark.sources.store.stores import open_store
from mqspark.sources.store.tables import plan, read
from storefmt.formats.sysflag import TRANSACTION_MASK, TRANSACTION_ROLLBACK
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild_index import (
    IndexShare,
    has_history,
    indexes_tags,
    shape_of,
    write_index,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS: Final = ("unique_key", "keys", "tags", "sys_flag")
_COUNTS: Final = schema(
    store=pa.int32(),
    start=pa.int64(),
    entries=pa.int64(),
)
_MADE: Final = schema(
    store=pa.int32(),
    part=pa.int32(),
    files=pa.int64(),
    entries=pa.int64(),
    follows=pa.int64(),
    end=pa.int64(),
)


class IndexTask(NamedTuple):
    """The files of an index that one task makes; all of them if ``share`` is None.

    Attributes:
        start: the log offset of the first log file to read.
    """

    target: RebuildTarget
    number: int
    share: IndexShare | None = None
    start: int = 0

    @property
    def folder(self) -> str:
        """The directory of its files until all files are there."""
        return f".index-{self.number}"


class Indexed(NamedTuple):
    """The index of one store, when it is written."""

    target: RebuildTarget
    files: int
    entries: int


def write_indexes(spark: "SparkSession", targets: list[RebuildTarget]) -> list[Indexed]:
    """Write the indexes of stores whose logs have no damage, and return the results."""
    shared = {target.number: target for target in targets if not _has_history(target)}
    counts: dict[int, dict[int, int]] = {number: {} for number in shared}
    for row in spread(spark, _count_tasks(list(shared.values()))).toArrow().to_pylist():
        of_store = counts[row["store"]]
        of_store[row["start"]] = of_store.get(row["start"], 0) + row["entries"]
    parts = [part for target in targets for part in _parts(target, counts.get(target.number))]
    made = _made(spark, parts)
    again = [
        target
        for target in shared.values()
        if not _are_whole(target, made[target.number], counts[target.number])
    ]
    for target in again:
        for row in made[target.number]:
            shutil.rmtree(Path(target.out, _folder(row)), ignore_errors=True)
    made |= _made(spark, [IndexTask(target, 0) for target in again])
    return [_placed(target, made[target.number]) for target in targets]


def _has_history(target: RebuildTarget) -> bool:
    with open_store(target.directory) as store:
        return has_history(store, store.log.min_offset)


def _count_tasks(targets: list[RebuildTarget]) -> TaskRows:
    reading = ReadOptions(columns=_COLUMNS)
    splits = [(target, split) for target in targets for split in plan(target.directory, reading)]
    return TaskRows(_counted, splits, _COUNTS)


def _counted(task: tuple[RebuildTarget, LogSplit]) -> Iterator[Any]:
    """Yield how many index entries the records of a split have."""
    target, split = task
    with open_store(target.directory) as store:
        with_tags = indexes_tags(store)
    count = sum(
        _entries_of(batch, with_tags) for batch in read(split, ReadOptions(columns=_COLUMNS))
    )
    start = int(Path(split.path).name)
    yield one_batch(_COUNTS, [{"store": target.number, "start": start, "entries": count}])


def _entries_of(batch: Any, with_tags: bool) -> int:
    kinds = pc.bit_wise_and(batch.column("sys_flag"), TRANSACTION_MASK)
    kept = batch.filter(pc.not_equal(kinds, TRANSACTION_ROLLBACK))
    keys = pc.sum(pc.list_value_length(kept.column("keys"))).as_py() or 0
    unique = kept.num_rows - kept.column("unique_key").null_count
    tags = kept.num_rows - kept.column("tags").null_count if with_tags else 0
    return int(keys + unique + tags)


def _parts(target: RebuildTarget, counts: dict[int, int] | None) -> list[IndexTask]:
    """Return the tasks that make the index of a store."""
    if counts is None:
        return [IndexTask(target, 0)]
    room = _room(target)
    starts = sorted(counts)
    behind = list(accumulate(counts[start] for start in starts))
    total = behind[-1] if behind else 0
    parts = []
    for number in range(max(1, -(-total // room))):
        entries_before = number * room
        # This is the log file that has the last entry of the previous index file.
        index = next((n for n, count in enumerate(behind) if count >= entries_before), 0)
        passed = entries_before - (behind[index] - counts[starts[index]]) if number else 0
        share = IndexShare(passed, is_last=(number + 1) * room >= total)
        parts.append(IndexTask(target, number, share, starts[index] if number else 0))
    return parts


def _room(target: RebuildTarget) -> int:
    """Return how many entries an index file has when it is full."""
    with open_store(target.directory) as store:
        return shape_of(store).entry_count - 1


def _made(spark: "SparkSession", parts: list[IndexTask]) -> dict[int, list[dict[str, int]]]:
    """Run tasks and return what those of each store made, in the order of their files."""
    rows_by_target: dict[int, list[dict[str, int]]] = {part.target.number: [] for part in parts}
    if parts:
        for row in spread(spark, TaskRows(_written, parts, _MADE)).toArrow().to_pylist():
            rows_by_target[row["store"]].append(row)
    return {
        number: sorted(rows, key=lambda row: row["part"]) for number, rows in rows_by_target.items()
    }


def _written(part: IndexTask) -> Iterator[Any]:
    with (
        open_store(part.target.directory) as store,
        draft_of(part.target, depth=1, to=part.folder) as apart,
    ):
        out = OutputDirectory(Path(apart.out).resolve())
        result = write_index(store, out, share=part.share, start=part.start)
    row = {"store": part.target.number, "part": part.number}
    counts = {"files": result.file_count, "entries": result.entry_count}
    ends = {"follows": result.follows, "end": result.end_log_offset}
    yield one_batch(_MADE, [{**row, **counts, **ends}])


def _are_whole(target: RebuildTarget, rows: list[dict[str, int]], counts: dict[int, int]) -> bool:
    """Return whether the files of several writers are those that a single writer would make."""
    names = [name for row in rows for name in _names(target, row)]
    return (
        all(row["entries"] == _room(target) for row in rows[:-1])
        and sum(row["entries"] for row in rows) == sum(counts.values())
        and all(after["follows"] == before["end"] for before, after in pairwise(rows))
        and all(name < later for name, later in pairwise(names))
    )


def _placed(target: RebuildTarget, rows: list[dict[str, int]]) -> Indexed:
    """Move the files of a store's index to their place."""
    index = Path(target.out, "index")
    for row in rows:
        folder = Path(target.out, _folder(row))
        for name in _names(target, row):
            index.mkdir(exist_ok=True)
            os.rename(folder / "index" / name, index / name)
        if folder.exists():
            shutil.rmtree(folder)
    return Indexed(target, sum(row["files"] for row in rows), sum(row["entries"] for row in rows))


def _folder(row: dict[str, int]) -> str:
    return f".index-{row['part']}"


def _names(target: RebuildTarget, row: dict[str, int]) -> list[str]:
    folder = Path(target.out, _folder(row), "index")
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
