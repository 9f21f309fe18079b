"""Stores as a stream: the records that each log has gained since the last batch.

    known offset ── walk the newest file to its last whole record ──> where the batch ends
    {"/data/store": log offset, …}                                   what Spark keeps

A running broker may be writing the last record, and a copy may end inside one. So a batch ends
behind the last record that is whole: its body has the CRC that the record says. A record that is
not whole yet is part of a later batch. All files before the newest are whole, so only that one is
walked, from the known offset on.

Rule: the bytes between two offsets of a log never change, so reading a batch again returns the same
rows. A log that begins behind the known offset, or ends before it, has lost records or is another
one, which is an error.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mqspark.errors import BadOption, DataLost
from mqspark.schemas import COMMITLOG
from mqspark.sources.store.conditions import Condition, log_range
from mqspark.sources.store.log_tables import newest_base
from mqspark.sources.store.raft_log import raft_files
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.stores import store_path, stores_of
from mqspark.sources.store.tables import StoreTask, plan
from storefmt.arrow.columns import iter_batches
from storefmt.errors import NotAStore
from storefmt.formats.scan import Damage, End, LogFile, log_files
from storefmt.paths import StorePaths

StoreOffsets = dict[str, int]
"""The log offset (bytes) at which reading goes on, by store."""


def check_streamed(reading: ReadOptions) -> None:
    """Check that a table can be read as a stream.

    Raises:
        BadOption: only the commit log can.
    """
    if reading.table != COMMITLOG:
        raise BadOption(f"a stream reads the table {COMMITLOG}, not {reading.table}")


def first_offsets(paths: Sequence[str], reading: ReadOptions) -> StoreOffsets:
    """Return where a new query begins: at the first record, or at option startOffset.

    Raises:
        NotAStore, StoreError, BadOption, OSError: as ``log_ends``.
    """
    low, _ = log_range(reading.where)
    return {store: max(low, log_ends(store, 0)[0]) for store in stores_of(paths)}


def next_offsets(paths: Sequence[str], old: Mapping[str, int]) -> StoreOffsets:
    """Return where the next batch ends; a new store enters with its first offset and no rows.

    Raises:
        DataLost: a log lacks what was to be read, or a store is not there any more.
        NotAStore, StoreError, BadOption, OSError: as ``log_ends``.
    """
    reached: StoreOffsets = {}
    for store in stores_of(paths):
        low, high = log_ends(store, old.get(store, 0))
        log_offset = old.get(store, low)
        if not low <= log_offset <= high:
            raise DataLost(
                f"{store} was read up to log offset {log_offset} and has {low} to {high} now: it "
                "has lost "
                "records, or is another store; begin with a new checkpoint"
            )
        reached[store] = high if store in old else low
    gone = sorted(set(old) - set(reached))
    if gone:
        raise DataLost(f"{gone[0]} is not there any more; begin with a new checkpoint")
    return reached


def tasks_between(
    start: Mapping[str, int], end: Mapping[str, int], reading: ReadOptions
) -> list[StoreTask]:
    """Return the tasks that read what lies between two offsets of each log.

    Raises:
        NotAStore, OSError: as ``plan``.
    """
    tasks = []
    for store, high in end.items():
        low = start.get(store, high)
        if low < high:
            bounds = (Condition("log_offset", ">=", low), Condition("log_offset", "<", high))
            within = reading._replace(where=(*reading.where, *bounds))
            tasks += [StoreTask(store, task) for task in plan(store, within)]
    return tasks


def log_ends(store: str, old_end: int) -> tuple[int, int]:
    """Return where a log begins, and the end of its last whole record, as log offsets (bytes).

    Args:
        store: the store directory.
        old_end: a log offset at which a record begins or the log ended; 0 for a first read.

    Raises:
        NotAStore: there is no commit log, or the store is one of DLedger.
        StoreError: a remote store cannot be listed.
        OSError: a file cannot be read.
    """
    directory = store_path(store)
    commitlog = StorePaths(directory).commitlog
    if not commitlog.is_dir() or raft_files(directory):
        raise NotAStore(f"{store}: a stream reads stores with a commitlog folder, and no Raft log")
    paths = log_files(commitlog)
    if not paths:
        return 0, 0
    low, newest = int(paths[0].name), newest_base(paths)
    path = next(each for each in paths if int(each.name) == newest)
    with LogFile(path) as file:
        if old_end > newest + file.size:
            return low, newest
    return low, _whole_end(path, max(old_end, newest))


def _whole_end(path: Path, start: int) -> int:
    """Return the end of the last whole record of a file, ``start`` if there is none behind it."""
    last: Any = None
    columns = ("log_offset", "store_size")
    for batch in iter_batches([path], columns=columns, start=start, on_damage=_skip, on_end=_stop):
        if batch.num_rows:
            last = batch.slice(batch.num_rows - 1)
    if last is None:
        return start
    log_offset, size = (last.column(name)[0].as_py() for name in columns)
    checked = iter_batches(
        [path],
        columns=("crc_ok",),
        start=log_offset,
        end=log_offset + 1,
        check_crc=True,
        on_damage=_skip,
    )
    is_whole = any(batch.column(0).true_count for batch in checked)
    return int(log_offset + size if is_whole else log_offset)


def _skip(file_name: str, damage: Damage) -> None:
    """Ignore damage here: a task that reads it notes it."""


def _stop(file_name: str, end: End) -> None:
    """Ignore where the zeros begin."""
