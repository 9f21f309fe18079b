"""Counts records and store times by whole Arrow batches, for ``stats`` and ``events``.

    RecordBatch ──filter──> key columns ──group_by──> a few rows a batch ──> RecordCounts

Rule: the results equal those of counting record by record, at ten times the speed. Only functions
of ``stats`` and ``events`` (and Spark jobs) import this module, so that commands that do not count
load neither numpy nor pyarrow.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storefmt.arrow.columns import iter_batches
from storefmt.offline.analyse.record_counts import By, Counting, RecordCounts
from storefmt.offline.analyse.time_gaps import RecordTime, StoreTimes, TimeGap

_KEYS: Final = {
    By.TOPIC: ("topic",),
    By.QUEUE: ("topic", "queue_id"),
    By.TAG: ("tags",),
    By.PRODUCER: ("born_host",),
    By.TIME: ("store_timestamp",),
}
_INT64: Final = np.iinfo(np.int64)


def count_batches(
    counting: Counting, paths: Sequence[Path], counts: RecordCounts, on_done: Callable[[int], None]
) -> None:
    """Add every record of some log files to ``counts``.

    Args:
        counting: which records count, and by which key.
        paths: commit log files.
        counts: receives the counts.
        on_done: is called now and then with the bytes of log that are done.
    """
    names = tuple(dict.fromkeys(("topic", "store_size", "store_timestamp", *_KEYS[counting.by])))
    done = 0
    for batch in iter_batches(paths, columns=names, on_damage=lambda file, damage: None):
        done += int(pc.sum(batch.column("store_size")).as_py() or 0)
        on_done(done)
        _add(counts, batch, counting)


def count_file(counting: Counting, path: Path) -> RecordCounts:
    """Return the counts of one log file."""
    counts = RecordCounts()
    count_batches(counting, [path], counts, lambda size: None)
    return counts


def _add(counts: RecordCounts, batch: Any, counting: Counting) -> None:
    by, count_filter, bucket_ms = counting
    times_us = batch.column("store_timestamp").cast(pa.int64()).fill_null(0)
    times_ms = times_us.to_numpy(zero_copy_only=False) // 1000
    kept = np.ones(len(times_ms), dtype=bool)
    if count_filter.begin_ms is not None:
        kept &= times_ms >= max(count_filter.begin_ms, _INT64.min)
    if count_filter.end_ms is not None:
        kept &= times_ms <= min(count_filter.end_ms, _INT64.max)
    if count_filter.topic is not None:
        same = pc.equal(batch.column("topic"), count_filter.topic)
        kept &= same.to_numpy(zero_copy_only=False)
    columns = {name: batch.column(name) for name in _KEYS[by]}
    if by is By.TIME:
        columns = {"store_timestamp": pa.array(times_ms // bucket_ms * bucket_ms)}
    table = pa.table({**columns, "size": batch.column("store_size"), "ms": pa.array(times_ms)})
    if not kept.all():
        table = table.filter(pa.array(kept))
    grouped = table.group_by(list(columns)).aggregate(
        [("size", "count"), ("size", "sum"), ("ms", "min"), ("ms", "max")]
    )
    sums = [grouped.column(name).to_pylist() for name in _SUMS]
    keys = zip(*(grouped.column(name).to_pylist() for name in columns), strict=True)
    for key, count, size, first_ms, last_ms in zip(keys, *sums, strict=True):
        counts.add(key, count, size, first_ms, last_ms)


_SUMS: Final = ("size_count", "size_sum", "ms_min", "ms_max")


COLUMNS: Final = ("log_offset", "store_timestamp")


def store_times_of_batch(batch: Any, *, pause_ms: int) -> StoreTimes:
    """Return the store times of one batch that has ``COLUMNS``."""
    # A time beyond the calendar is null.
    whole = batch.filter(batch.column("store_timestamp").is_valid())
    if not whole.num_rows:
        return StoreTimes()
    offsets = whole.column("log_offset").to_numpy()
    times = whole.column("store_timestamp").cast(pa.int64()).to_numpy() // 1000
    spans = np.diff(times)
    rows = np.flatnonzero((spans < 0) | (spans >= pause_ms))

    def mark(row: int) -> RecordTime:
        return RecordTime(int(offsets[row]), int(times[row]))

    gaps = tuple(TimeGap(mark(row), mark(row + 1)) for row in rows.tolist())
    return StoreTimes(mark(0), mark(len(times) - 1), gaps)
