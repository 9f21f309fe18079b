"""The tables made of the small files: what a broker stores beside its messages.

    offsets, delay_offsets, topics, groups     config/*.json
    files                                      every file of the directory, a row each
    index_files                                a row for each header
    checkpoint                                 one row

Rule: one task reads a whole table, through ``storefmt.offline``. Only the column ``records`` of
``files`` requires reading the log: it is there only if it is named, and then each file of the log
is a task.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from mqspark.schemas import RECORDS, STORE
from mqspark.sources.store.entry_tables import batch_of
from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.stores import open_store
from storefmt.arrow.columns import iter_batches
from storefmt.config.fastjson import Json, Key, dumps
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.errors import RecordDamaged, StoreError
from storefmt.formats.consumequeue import ENTRY_SIZE, FILLER
from storefmt.offline.views.info import FileView, log_file, other_files
from storefmt.offline.views.storedir import StoreDir
from storefmt.store_file import StoreFile

_OF_THE_BROKER: Final = ("checkpoint", "abort", "lock")
"""Single files that have a kind of their own."""


class Whole(NamedTuple):
    """The whole store, for one task."""

    directory: str


def plan_whole(directory: Path, reading: ReadOptions) -> list[Whole]:
    """Return the one task that reads the whole store.

    Raises:
        NotAStore: ``directory`` is not a store directory.
    """
    StoreDir.open(directory).close()
    return [Whole(str(directory))]


def reads(
    table: str, rows_of: Callable[[StoreDir], Iterator[dict[str, Any]]]
) -> Callable[[Whole, ReadOptions], Iterator[Any]]:
    """Return the function that reads a table whose rows ``rows_of`` yields."""

    def read(task: Whole, reading: ReadOptions) -> Iterator[Any]:
        with open_store(task.directory) as store:
            yield batch_of(STORE[table], reading.columns, list(rows_of(store)))

    return read


def offset_rows(store: StoreDir) -> Iterator[dict[str, Any]]:
    """Yield the consumer offset of each group in each of its queues."""
    for info in store.group_offsets():
        row = {**asdict(info), "consumer_group": info.group}
        if (info.topic, info.queue_id) in store.tree.queues:
            view = store.queue(info.topic, info.queue_id)
            row["min_offset"] = view.min_offset
            row["last_consumed_timestamp"] = stored_ms(store, view, info.queue_offset - 1)
        yield row


def delay_offset_rows(store: StoreDir) -> Iterator[dict[str, Any]]:
    """Yield how far each delay level was delivered."""
    for level, offset in sorted(store.delay_offsets().items()):
        yield {"delay_level": level, "queue_offset": offset}


def topic_rows(store: StoreDir) -> Iterator[dict[str, Any]]:
    """Yield the settings of each topic."""
    for name, topic in sorted(store.topics().topics.items()):
        yield {"topic": name, **_settings(topic)}


def group_rows(store: StoreDir) -> Iterator[dict[str, Any]]:
    """Yield the settings of each group."""
    for name, group in sorted(store.groups().groups.items()):
        yield {"consumer_group": name, **_settings(group)}


class LogFileOf(NamedTuple):
    """One file of a store's log, by its number, for a task that counts its records."""

    directory: str
    number: int


class OtherFiles(NamedTuple):
    """All files of a store but those of its log."""

    directory: str


def plan_files(directory: Path, reading: ReadOptions) -> list[Whole | LogFileOf | OtherFiles]:
    """Return one task, or, if records are counted, also one for each file of the log.

    Raises:
        NotAStore: ``directory`` is not a store directory.
    """
    if RECORDS not in (*reading.columns, *(each.column for each in reading.where)):
        return [*plan_whole(directory, reading)]
    with StoreDir.open(directory) as store:
        numbers = range(len(store.log.spans))
        where = str(directory)
        return [*(LogFileOf(where, number) for number in numbers), OtherFiles(where)]


def read_files(task: Whole | LogFileOf | OtherFiles, reading: ReadOptions) -> Iterator[Any]:
    """Yield every file of a task and what it covers."""
    with open_store(task.directory) as store:
        match task:
            case LogFileOf(number=number):
                span = store.log.spans[number]
                row = _file_row(store, log_file(store, span))
                row[RECORDS] = _record_count(span.path)
                rows = [row]
            case OtherFiles():
                rows = [_file_row(store, view, wants_records=True) for view in other_files(store)]
            case _:
                rows = [_file_row(store, view) for view in store.files()]
        yield batch_of(STORE["files"], reading.columns, rows)


def _file_row(store: StoreDir, view: FileView, *, wants_records: bool = False) -> dict[str, Any]:
    entry_count = None
    if view.kind in ("consumequeue", "index"):
        entry_count = view.end - view.start
        if wants_records and view.kind == "consumequeue":
            entry_count -= _filler_count(store.root / view.name)
    return {
        "path": view.name,
        "kind": view.name if view.name in _OF_THE_BROKER else view.kind,
        "size": view.size,
        "start": view.start,
        "end": view.end,
        "fill_size": view.fill_size,
        "allocated_bytes": (store.root / view.name).stat().st_blocks * 512,
        "first_store_timestamp": view.first_ms,
        "last_store_timestamp": view.last_ms,
        "newest_topic": view.newest_topic or None,
        "end_reason": view.end_reason or None,
        RECORDS: entry_count,
    }


def _filler_count(path: Path) -> int:
    """Return how many fillers a queue file begins with."""
    with closing(StoreFile(path)) as file:
        if file.read(0, ENTRY_SIZE) != FILLER:
            return 0
        data, count = file.read(0, file.size), 1
    while data.startswith(FILLER, count * ENTRY_SIZE):
        count += 1
    return count


def _record_count(path: Path) -> int:
    """Return how many records a file of the log has; damage is skipped, as in ``commitlog``."""
    batches = iter_batches([path], columns=("store_size",), on_damage=lambda file, damage: None)
    return sum(batch.num_rows for batch in batches)


def read_checkpoint(task: Whole, reading: ReadOptions) -> Iterator[Any]:
    """Yield the checkpoint; its times are null if there is none, or a damaged one.

    Raises:
        RecordDamaged: the checkpoint is damaged, and ``reading.fail_on_damage`` is true.
    """
    with open_store(task.directory) as store:
        row: dict[str, Any] = {"abort": store.aborted}
        try:
            checkpoint = store.checkpoint()
        except RecordDamaged:
            if reading.fail_on_damage:
                raise
            checkpoint = None
        if checkpoint is not None:
            row |= {
                "physic_timestamp": checkpoint.physic_ms,
                "logics_timestamp": checkpoint.logics_ms,
                "index_timestamp": checkpoint.index_ms,
            }
        yield batch_of(STORE["checkpoint"], reading.columns, [row])


def read_headers(task: Whole, reading: ReadOptions) -> Iterator[Any]:
    """Yield the headers of all index files; a file too short for one is left out."""
    rows = []
    with open_store(task.directory) as store:
        for view in store.index_files:
            try:
                header = view.header
            except StoreError:
                if reading.fail_on_damage:
                    raise
                continue
            rows.append(
                {
                    "file": view.span.path.name,
                    "size": view.span.size,
                    "begin_timestamp": header.begin_ms,
                    "end_timestamp": header.end_ms,
                    "begin_log_offset": header.begin_log_offset,
                    "end_log_offset": header.end_log_offset,
                    "hash_slot_count": view.shape.slot_count if view.shape else None,
                    "index_count": header.entry_count,
                }
            )
    yield batch_of(STORE["index_files"], reading.columns, rows)


def stored_ms(store: StoreDir, view: Any, queue_offset: int) -> int | None:
    """Return the store time (ms) of a queue's message, None if the log no longer has it."""
    try:
        return store.record_at(view.entry(queue_offset).log_offset).store_ms
    except StoreError:
        return None


def _settings(of: TopicConfig | SubscriptionGroup) -> dict[str, Any]:
    return {**asdict(of), "attributes": _attributes(of.extra), "raw": dumps(of.to_json())}


def _attributes(extra: Mapping[Key, Json]) -> list[tuple[str, str]] | None:
    """Return the attributes of 5.x; the column ``raw`` has everything else."""
    attributes = extra.get("attributes")
    if not isinstance(attributes, Mapping):
        return None
    return [(str(name), value) for name, value in attributes.items() if isinstance(value, str)]
