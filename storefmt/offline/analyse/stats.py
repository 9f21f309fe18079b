"""Counts the messages of a log by topic, queue, tag, producer, or span of time.

    records ──key──> {(topic, queue): RecordCount(count, size, first_ms, last_ms)}

Rule: two ways give one result, and a test compares them. Where numpy and pyarrow are installed,
whole batches are grouped (``storefmt.offline.analyse.record_batches``); elsewhere records are
counted one by one. Memory is bounded, see ``storefmt.offline.analyse.record_counts``. Damage is
passed over; ``verify`` reports it.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from typing import Final

from storefmt.formats.hosts import address_text
from storefmt.formats.message import Record
from storefmt.formats.properties import TAGS
from storefmt.offline.analyse.record_counts import (
    OTHERS,
    By,
    Counting,
    Key,
    RecordCount,
    RecordCounts,
    RecordFilter,
)
from storefmt.offline.parallel import map_files, workers_for
from storefmt.offline.views.store_view import StoreView

COLUMNS_SIZE_MIN: Final = 64 << 20
"""Smaller logs (bytes) are counted in less time than it takes to import numpy and pyarrow."""


def count_records(
    store: StoreView,
    by: By,
    *,
    wanted: RecordFilter | None = None,
    bucket_ms: int = 3_600_000,
    columns: bool | None = None,
    jobs: int | None = 1,
    on_done: Callable[[int], None] = lambda size: None,
) -> dict[Key, RecordCount]:
    """Return the tallies of the records of a log.

    Args:
        bucket_ms: with ``By.TIME``, the span of one key; spans begin at multiples of it (UTC).
        columns: use numpy and pyarrow; None to use them if installed and the log is large.
        jobs: processes for a large log of several files; None for one on each core. This needs
            numpy and pyarrow; the tallies are the same.
        on_done: is called now and then with the bytes of the log that are done.
    """
    only = wanted or RecordFilter()
    tallies = RecordCounts({})
    if columns is None:
        size = store.log.end - store.log.min_offset
        columns = size > COLUMNS_SIZE_MIN and has_columns()
    if columns:
        worker_count = workers_for(store.log.data_size, jobs, counting=True)
        _count_files(store, by, tallies, only, bucket_ms, on_done, worker_count=worker_count)
    else:
        _count_one_by_one(store, by, tallies, only, bucket_ms, on_done)
    return tallies.found


def has_columns() -> bool:
    """Return whether numpy and pyarrow are installed; neither is imported."""
    return find_spec("numpy") is not None and find_spec("pyarrow") is not None


def _count_files(
    store: StoreView,
    by: By,
    tallies: RecordCounts,
    wanted: RecordFilter,
    bucket_ms: int,
    on_done: Callable[[int], None],
    *,
    worker_count: int,
) -> None:
    # Heavy, and not installed everywhere.
    from storefmt.offline.analyse.record_batches import count_batches, count_file

    paths = [span.path for span in store.log.spans]
    add = partial(count_batches, by=by, tallies=tallies, wanted=wanted, bucket_ms=bucket_ms)
    worker_count = min(worker_count, len(paths))
    if worker_count <= 1:
        add(paths, on_done=on_done)
        return
    sizes = {span.path: span.size for span in store.log.spans}
    results = map_files(
        count_file, paths, make=partial(Counting, by, wanted, bucket_ms), worker_count=worker_count
    )
    done = 0
    with closing(results):
        for path, found in zip(paths, results, strict=True):
            if (OTHERS,) in found:
                # What has no key of its own depends on the files before.
                add([path], on_done=lambda size: None)
            else:
                tallies.merge(found)
            done += sizes[path]
            on_done(done)


def _count_one_by_one(
    store: StoreView,
    by: By,
    tallies: RecordCounts,
    wanted: RecordFilter,
    bucket_ms: int,
    on_done: Callable[[int], None],
) -> None:
    key_of = _KEYS[by]
    for number, record in enumerate(_records(store, wanted)):
        key: Key = (record.store_ms // bucket_ms * bucket_ms,) if by is By.TIME else key_of(record)
        tallies.add(key, 1, record.size, record.store_ms, record.store_ms)
        if number % 10_000 == 0:
            on_done(record.log_offset - store.log.min_offset)


def _records(store: StoreView, wanted: RecordFilter) -> Iterator[Record]:
    low = wanted.begin_ms if wanted.begin_ms is not None else -(1 << 63)
    high = wanted.end_ms if wanted.end_ms is not None else (1 << 63) - 1
    for record in store.log.sound_records():
        if low <= record.store_ms <= high and wanted.topic in (None, record.topic):
            yield record


_KEYS: Final[dict[By, Callable[[Record], Key]]] = {
    By.TOPIC: lambda record: (record.topic,),
    By.QUEUE: lambda record: (record.topic, record.queue_id),
    By.TAG: lambda record: (record.properties.get(TAGS),),
    By.PRODUCER: lambda record: (address_text(record.born_host),),
    By.TIME: lambda record: (record.store_ms,),
}
