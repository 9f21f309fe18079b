"""Finds messages by offset id, by the producer's unique key, or by topic and key.

    id   -> an offset id that fits? -> the record there
         -> unique key: index of every topic -> else the whole log
    key  -> index files, newest first -> records that really have the key
         -> and the parts of the log that no index file covers

Rule: an index only gives candidates. Every candidate is compared with its record, so that hash
clashes are dropped. A damaged chain makes a search slower and never gives a wrong answer.
"""

from collections.abc import Iterator

from storefmt.errors import BadCall, NotInStore, RecordDamaged, StoreError
from storefmt.formats.message import Record
from storefmt.formats.msgid import parse_offset_id
from storefmt.names import TopicKind, kind_of
from storefmt.offline.views.store_view import StoreView

TIME_MAX_MS = (1 << 63) - 1


def find_message(store: StoreView, message_id: str) -> Record:
    """Return the message with an offset id or a unique key (hex of either case).

    Where several records have the unique key (delayed, retried, transactional), the first
    one under a topic of its own is returned, not the copies of the broker's own topics.

    Raises:
        NotInStore: no record has it.
    """
    record = by_offset_id(store, message_id)
    if record is not None:
        return record
    records = [
        record
        for topic in _topics(store)
        for record in query_key(store, topic, message_id, count_max=64, scan=False)
        if record.unique_key == message_id
    ]
    if not records:
        records = list(_scan(store, message_id))
    if not records:
        raise NotInStore(
            f"no message {message_id} in {store.root}: it is neither an offset id nor a unique key "
            "there; for a user's key use `store query`"
        )
    return min(records, key=_preference)


def query_key(
    store: StoreView,
    topic: str,
    key: str,
    *,
    begin_ms: int = 0,
    end_ms: int = TIME_MAX_MS,
    count_max: int = 64,
    scan: bool = True,
) -> list[Record]:
    """Return the newest messages of ``topic`` with ``key``, in log order.

    Args:
        key: one key of KEYS, or a unique key.
        begin_ms: oldest store time, ``end_ms`` the newest, both inclusive.
        count_max: at most so many.
        scan: also read the parts of the log that no index file covers.
    """
    records: dict[int, Record] = {}
    covered: list[tuple[int, int]] = []
    for view in reversed(store.index_files):
        try:
            header = view.header
            offsets = view.offsets(
                topic, key, begin_ms=begin_ms - 1000, end_ms=end_ms, count_max=1 << 30
            )
            list(view.chain(topic, key))
        except StoreError:
            # A damaged index file covers no part of the log, so the log itself is read there.
            continue
        covered.append((header.begin_log_offset, header.end_log_offset))
        for log_offset in offsets:
            record = record_or_none(store, log_offset)
            if record is not None and _matches(record, topic, key, begin_ms, end_ms):
                records.setdefault(log_offset, record)
        if len(records) >= count_max and not scan:
            break
    if scan:
        for start, end in gaps(store, covered):
            for record in _records(store, start, end):
                if _matches(record, topic, key, begin_ms, end_ms):
                    records.setdefault(record.log_offset, record)
    newest = sorted(records)[-count_max:] if count_max > 0 else []
    return [records[log_offset] for log_offset in newest]


def by_offset_id(store: StoreView, message_id: str) -> Record | None:
    """Return the record that an offset id names; None if there is none in this store."""
    try:
        store_host, log_offset = parse_offset_id(message_id)
    except BadCall:
        return None
    record = record_or_none(store, log_offset)
    return record if record is not None and record.store_host == store_host else None


def _topics(store: StoreView) -> list[str]:
    return sorted({topic for topic, _ in store.queues()})


def _scan(store: StoreView, unique_key: str) -> Iterator[Record]:
    raw = unique_key.encode("utf-8", "replace")
    for record in _records(store, None, None):
        if raw in record.properties_raw and record.unique_key == unique_key:
            yield record


def _records(store: StoreView, start: int | None, end: int | None) -> Iterator[Record]:
    for _, _, item in store.log.located_items(start, end, check_crc=False):
        if isinstance(item, Record):
            yield item


def gaps(store: StoreView, covered: list[tuple[int, int]]) -> Iterator[tuple[int, int | None]]:
    """Yield the ranges of the log that lie in no index file; the last one is open.

    Args:
        covered: log offsets of the first and last record of index files.
    """
    log_offset = store.log.min_offset
    for first, last in sorted(covered):
        if first > log_offset:
            yield log_offset, first
        if last >= log_offset:
            # Begin at the record itself, so that the reader need not search for a record.
            record = record_or_none(store, last)
            log_offset = last + (record.size if record is not None else 1)
    if log_offset < store.log.last_end:
        yield log_offset, None


def record_or_none(store: StoreView, log_offset: int) -> Record | None:
    """Return the record at a log offset, None if there is no complete record."""
    try:
        return store.log.record_at(log_offset)
    except (NotInStore, RecordDamaged):
        return None


def _matches(record: Record, topic: str, key: str, begin_ms: int, end_ms: int) -> bool:
    if record.topic != topic or not begin_ms <= record.store_ms <= end_ms:
        return False
    return key == record.unique_key or key in record.keys


def _preference(record: Record) -> tuple[bool, int]:
    return kind_of(record.topic) is not TopicKind.ORDINARY, record.log_offset
