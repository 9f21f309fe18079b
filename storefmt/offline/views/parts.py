"""The parts that a store of 5.x has beside log, queues, index and state files.

    consumequeue, config/topics, …  queues and settings in RocksDB
    rocksdbstore                    index, timers and half messages in RocksDB
    kvStore                         popped messages that are not acknowledged, in RocksDB
    timerwheel, timerlog            timers in files
    compaction                      the newest message of each key, of topics that are compacted
    config/tieredStoreMetadata.json which parts of topics are in the tiered store

Rule: this is a summary for people. What is counted is counted up to ``COUNT_MAX``, and a part that
cannot be read says so in its own row.

Source: store/rocksdb/MessageRocksDBStorage.java, broker/pop/PopConsumerRocksdbStore.java,
store/kv/CompactionStore.java, tieredstore/metadata/DefaultMetadataStore.java (5.4.0).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from storefmt.config.fastjson import Json, loads
from storefmt.errors import StoreError
from storefmt.formats.timer import SLOT, SLOT_SIZE, TimerCheckpoint
from storefmt.offline.views.rocksdb.database import DEFAULT_FAMILY, Database
from storefmt.offline.views.rocksdb.queues import open_queues
from storefmt.offline.views.rocksdb.settings import FILE_NAMES, NAMES, TABLES
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan

COUNT_MAX: Final = 100_000
_TIERED: Final = "tieredStoreMetadata.json"
_POP_FAMILY: Final = "popState"
_TICK_MS: Final = 1000
_NAMES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class StorePart:
    """One part of a store.

    Attributes:
        path: its file or directory, relative to the store.
        meaning: its purpose, for people.
        file_count, size: its files; holes count in ``size``.
        contents: its content in one line; empty if there is nothing to report.
    """

    path: str
    meaning: str
    file_count: int
    size: int
    contents: str


def store_parts(store: StoreView) -> Iterator[StorePart]:
    """Yield the parts that only 5.x makes."""
    tree = store.tree
    for directory in tree.databases:
        name = tree.name(directory)
        meaning, read = _DATABASES.get(name, ("RocksDB", _entry_count))
        if directory.parent == store.paths.config and directory.name in NAMES:
            what = _OF_TABLE.get(directory.name, "topics, groups and consumer offsets")
            meaning, read = f"{what}, in RocksDB", _settings
        files = _files_of(store, directory)
        yield _part(name, meaning, files, lambda: read(store, directory))  # noqa: B023
    if "timerlog" in tree.below:
        wheel = [span for span in tree.other if span.path.name == "timerwheel"]
        files = [*tree.below["timerlog"], *wheel]
        yield _part("timerlog", "delayed messages, in files", files, lambda: _wheel(store, wheel))
    if "compaction" in tree.below:
        files = tree.below["compaction"]
        meaning = "the newest message of each key of compacted topics"
        yield _part("compaction", meaning, files, lambda: _compacted(store, files))
    tiered = [span for span in tree.config if span.path.name == _TIERED]
    if tiered:
        name = f"config/{_TIERED}"
        yield _part(name, "what is in the tiered store", tiered, lambda: _tiered(store, tiered[0]))


def _part(name: str, meaning: str, files: list[FileSpan], contents: Callable[[], str]) -> StorePart:
    try:
        text = contents()
    except StoreError as error:
        text = str(error)
    return StorePart(name, meaning, len(files), sum(span.size for span in files), text)


def _files_of(store: StoreView, directory: Path) -> list[FileSpan]:
    tree = store.tree
    rows = [*tree.below.values(), tree.config]
    return [span for row in rows for span in row if span.path.parent == directory]


def _queues(store: StoreView, directory: Path) -> str:
    if store.unread_queues is not None:
        return str(store.unread_queues)
    end = open_queues(directory).log_end()
    text = f"queues: {len(store.tree.rocksdb_queues)}"
    return text if end is None else f"{text}, complete up to log offset {end}"


def _settings(store: StoreView, directory: Path) -> str:
    if store.unread_settings is not None:
        return str(store.unread_settings)
    file_names = [FILE_NAMES[directory.name]] if directory.name in FILE_NAMES else list(TABLES)
    counts = []
    for file_name in file_names:
        read = store.config(file_name, loads)
        if read.file == f"config/{directory.name}":
            table = read.value.get(TABLES[file_name].field) if isinstance(read.value, dict) else {}
            counts.append(f"{_WORDS[file_name]}: {_size_of(table)}")
    return ", ".join(counts) or "an older form, which is not read"


_WORDS: Final = {
    "topics.json": "topics",
    "subscriptionGroup.json": "groups",
    "consumerOffset.json": "consumer offsets",
}
_OF_TABLE: Final = {table.separate: _WORDS[name] for name, table in TABLES.items()}


def _size_of(table: Json) -> int:
    return len(table) if isinstance(table, dict) else 0


def _entry_count(store: StoreView, directory: Path) -> str:
    return _with(directory, lambda database: f"entries: {_count(database.entries())}")


def _popped(store: StoreView, directory: Path) -> str:
    def read(database: Database) -> str:
        groups = Counter(
            f"{_text(fields, 'groupId')} in {_text(fields, 'topicId')}"
            for _, value in islice(database.entries(_POP_FAMILY), COUNT_MAX)
            if (fields := _fields(value)) is not None
        )
        return f"pops without acknowledgement: {_many(groups.total())}{_some(groups)}"

    return _with(directory, read)


def _messages(store: StoreView, directory: Path) -> str:
    def read(database: Database) -> str:
        # Keys of checkpoints are words, and their values 8 bytes.
        timers = (key for key, value in database.entries("timer") if len(value) == 12)
        first = next(timers, None)
        due = "" if first is None else _first_due(int.from_bytes(first[:8], "big"))
        waiting = _many(len(list(islice(timers, COUNT_MAX))) + (first is not None))
        return (
            f"keys of the index: {_count(database.entries(DEFAULT_FAMILY))}, delayed messages: "
            f"{waiting}{due}, half messages: {_count(database.entries('trans'))}"
        )

    return _with(directory, read)


_DATABASES: Final[dict[str, tuple[str, Callable[[StoreView, Path], str]]]] = {
    "consumequeue": ("consume queues, in RocksDB", _queues),
    "kvStore": ("popped messages that are not acknowledged, in RocksDB", _popped),
    "rocksdbstore": ("index, delayed and half messages, in RocksDB", _messages),
}
"""The purpose of a RocksDB directory, and the function that counts its contents."""


def _with(directory: Path, read: Callable[[Database], str]) -> str:
    with closing(Database(directory, what="parts")) as database:
        return read(database)


def _count(entries: Iterable[object]) -> str:
    return _many(sum(1 for _ in islice(entries, COUNT_MAX)))


def _many(count: int) -> str:
    return f"{count} or more" if count >= COUNT_MAX else str(count)


def _some(counts: Counter[str]) -> str:
    named = [f"{name}: {count}" for name, count in counts.most_common(_NAMES_MAX)]
    more = [f"{len(counts) - _NAMES_MAX} more"] if len(counts) > _NAMES_MAX else []
    return f" ({', '.join([*named, *more])})" if named else ""


def _fields(value: bytes) -> dict[str, object] | None:
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _text(fields: dict[str, object], name: str) -> str:
    return str(fields.get(name, "?"))


def _wheel(store: StoreView, wheel: list[FileSpan]) -> str:
    """Return how many messages wait in the slots of the wheel that are still to come."""
    if not wheel:
        return "the file timerwheel is missing"
    path = store.paths.config_file("timercheck")
    last_read_ms = 0
    if path.is_file():
        data = store.open_files.open(path).read(0, 4096)
        last_read_ms = TimerCheckpoint.decode(data).last_read_ms
    count, first_tick = 0, 0
    for _, data in store.open_files.open(wheel[0].path).windows():
        whole = data[: len(data) - len(data) % SLOT_SIZE]
        for due_tick, _, _, message_count, _ in SLOT.iter_unpack(whole):
            if message_count > 0 and due_tick * _TICK_MS > last_read_ms:
                count += message_count
                first_tick = min(first_tick or due_tick, due_tick)
    return f"delayed messages: {count}" + (_first_due(first_tick * _TICK_MS) if count else "")


def _first_due(due_ms: int) -> str:
    return f" (the first is due at {datetime.fromtimestamp(due_ms / 1000, UTC):%Y-%m-%dT%H:%M:%SZ})"


def _compacted(store: StoreView, files: list[FileSpan]) -> str:
    root = store.root / "compaction" / "compactionLog"
    queues: Counter[str] = Counter()
    for span in files:
        if root in span.path.parents:
            queues[span.path.relative_to(root).parts[0]] += 1
    return f"log files: {queues.total()}{_some(queues)}"


def _tiered(store: StoreView, span: FileSpan) -> str:
    """Return the segments that the metadata names, their bytes, and their topics."""
    read = store.config(span.path.name, loads)
    if not isinstance(read.value, dict):
        return "; ".join(problem for _, problem in read.problems) or "empty"
    topics: Counter[str] = Counter()
    segments = size = 0
    for name, table in read.value.items():
        if not str(name).endswith("FileSegmentTable") or not isinstance(table, dict):
            continue
        for path, by_offset in table.items():
            if isinstance(by_offset, dict):
                topics[str(path).split("/")[-2 if "/" in str(path) else 0]] += len(by_offset)
                segments += len(by_offset)
                sizes = [s.get("size") for s in by_offset.values() if isinstance(s, dict)]
                size += sum(each for each in sizes if isinstance(each, int))
    return f"segments: {segments}{_some(topics)}, bytes: {size}"
