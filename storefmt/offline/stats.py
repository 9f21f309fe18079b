"""Counts of the messages in a log: by topic, queue, tag, producer, or span of time.

    records ──key──> {(topic, queue): Tally(count, size, first_ms, last_ms)}

Rule: there are two ways through the log and one result. Where numpy and pyarrow are
installed whole batches are grouped (``storefmt.offline.stats_columns``), elsewhere record
by record; a test holds them together. Memory is bounded: see
``storefmt.offline.tally``. Damage is passed over; ``verify`` tells about it.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Final

from storefmt.hosts import address_text
from storefmt.message import Record
from storefmt.offline.opened import Opened
from storefmt.offline.tally import By, Key, Tallies, Tally, Wanted
from storefmt.properties import TAGS

COLUMNS_SIZE_MIN: Final = 64 << 20
"""Logs of less, in bytes, are counted before numpy and pyarrow are loaded."""


def count_records(
    store: Opened,
    by: By,
    *,
    wanted: Wanted | None = None,
    bucket_ms: int = 3_600_000,
    columns: bool | None = None,
    on_done: Callable[[int], None] = lambda size: None,
) -> dict[Key, Tally]:
    """Return the tallies of the records of a log.

    Args:
        bucket_ms: with ``By.TIME``, the span of one key; spans begin at multiples of it (UTC).
        columns: use numpy and pyarrow; None for whether they are there, and worth loading.
        on_done: told how many bytes of the log were gone through, now and then.
    """
    only = wanted or Wanted()
    tallies = Tallies({})
    if columns is None:
        size = store.log.end - store.log.min_offset
        columns = size > COLUMNS_SIZE_MIN and has_columns()
    if columns:
        # Heavy, and not installed everywhere.
        from storefmt.offline.stats_columns import count_batches

        count_batches(store, by, tallies, wanted=only, bucket_ms=bucket_ms, on_done=on_done)
    else:
        _count_one_by_one(store, by, tallies, only, bucket_ms, on_done)
    return tallies.found


def has_columns() -> bool:
    """Return whether numpy and pyarrow are installed; neither is imported."""
    return find_spec("numpy") is not None and find_spec("pyarrow") is not None


def _count_one_by_one(
    store: Opened,
    by: By,
    tallies: Tallies,
    wanted: Wanted,
    bucket_ms: int,
    on_done: Callable[[int], None],
) -> None:
    key_of = _KEYS[by]
    for number, record in enumerate(_records(store, wanted)):
        key: Key = (record.store_ms // bucket_ms * bucket_ms,) if by is By.TIME else key_of(record)
        tallies.add(key, 1, record.size, record.store_ms, record.store_ms)
        if number % 10_000 == 0:
            on_done(record.log_offset - store.log.min_offset)


def _records(store: Opened, wanted: Wanted) -> Iterator[Record]:
    low = wanted.begin_ms if wanted.begin_ms is not None else -(1 << 63)
    high = wanted.end_ms if wanted.end_ms is not None else (1 << 63) - 1
    for _, _, item in store.log.walk(check_crc=False):
        if not isinstance(item, Record) or not low <= item.store_ms <= high:
            continue
        if wanted.topic is None or item.topic == wanted.topic:
            yield item


_KEYS: Final[dict[By, Callable[[Record], Key]]] = {
    By.TOPIC: lambda record: (record.topic,),
    By.QUEUE: lambda record: (record.topic, record.queue_id),
    By.TAG: lambda record: (record.properties.get(TAGS),),
    By.PRODUCER: lambda record: (address_text(record.born_host),),
    By.TIME: lambda record: (record.store_ms,),
}
