"""Counts the messages of a log by topic, queue, tag, producer, or span of time.

    records ──key──> {(topic, queue): RecordCount(count, size, first_ms, last_ms)}

Rule: two ways give one result, and a test compares them. Where numpy and pyarrow are installed,
whole batches are grouped (``storefmt.offline.analyse.record_batches``); elsewhere records are
counted one by one. Memory is bounded, see ``storefmt.offline.analyse.record_counts``. Damage is
skipped; ``verify`` reports it.
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
    CountFilter,
    Counting,
    Key,
    RecordCounts,
)
from storefmt.offline.parallel import map_files, workers_for
from storefmt.offline.views.store_view import StoreView

COLUMNS_SIZE_MIN: Final = 64 << 20
"""Smaller logs (bytes) are counted in less time than it takes to import numpy and pyarrow."""


def count_records(
    store: StoreView,
    by: By,
    *,
    wanted: CountFilter | None = None,
    bucket_ms: int = 3_600_000,
    columns: bool | None = None,
    jobs: int | None = 1,
    on_done: Callable[[int], None] = lambda size: None,
) -> RecordCounts:
    """Return the counts of the records of a log.

    Args:
        wanted: which records count; None for all.
        bucket_ms: with ``By.TIME``, the span of one key; spans begin at multiples of it (UTC).
        columns: use numpy and pyarrow; None to use them if installed and the log is large.
        jobs: processes for a large log of several files; None for one on each core. This needs
            numpy and pyarrow; the counts are the same.
        on_done: is called now and then with the bytes of the log that are done.
    """
    counting = Counting(by, wanted or CountFilter(), bucket_ms)
    if columns is None:
        size = store.log.end - store.log.min_offset
        columns = size > COLUMNS_SIZE_MIN and has_columns()
    if not columns:
        return _count_one_by_one(store, counting, on_done)
    worker_count = workers_for(store.log.data_size, jobs, counting=True)
    return _count_files(store, counting, on_done, worker_count=worker_count)


def has_columns() -> bool:
    """Return whether numpy and pyarrow are installed; neither is imported."""
    return find_spec("numpy") is not None and find_spec("pyarrow") is not None


def _count_files(
    store: StoreView, counting: Counting, on_done: Callable[[int], None], *, worker_count: int
) -> RecordCounts:
    # Heavy, and not installed everywhere.
    from storefmt.offline.analyse.record_batches import count_batches, count_file

    counts = RecordCounts()
    paths = [span.path for span in store.log.spans]
    worker_count = min(worker_count, len(paths))
    if worker_count <= 1:
        count_batches(counting, paths, counts, on_done)
        return counts
    results = map_files(
        count_file, paths, make=partial(Counting, *counting), worker_count=worker_count
    )
    done_size = 0
    with closing(results):
        for span, counts_of_file in zip(store.log.spans, results, strict=True):
            if (OTHERS,) in counts_of_file:
                # Whether a key counts under ``OTHERS`` depends on the files before.
                count_batches(counting, [span.path], counts, lambda size: None)
            else:
                counts.merge(counts_of_file)
            done_size += span.size
            on_done(done_size)
    return counts


def _count_one_by_one(
    store: StoreView, counting: Counting, on_done: Callable[[int], None]
) -> RecordCounts:
    counts, bucket_ms, key_of = RecordCounts(), counting.bucket_ms, _KEYS[counting.by]
    for number, record in enumerate(_records(store, counting.wanted)):
        key = key_of(record)
        if counting.by is By.TIME:
            key = (record.store_ms // bucket_ms * bucket_ms,)
        counts.add(key, 1, record.size, record.store_ms, record.store_ms)
        if number % 10_000 == 0:
            on_done(record.log_offset - store.log.min_offset)
    return counts


def _records(store: StoreView, wanted: CountFilter) -> Iterator[Record]:
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
