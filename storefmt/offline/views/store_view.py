"""An opened store directory: its list of files, its file sizes, and its views.

    StoreView ── log: LogView ── queue(topic, id): QueueView ── index_files: IndexView
          └── config(name, decode) ── checkpoint ── aborted

Rule: opening lists names and reads a few index entries; everything else is read on demand. The
list of files is taken once, so files that a running broker adds later are not seen.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Generic, NamedTuple, Self, TypeVar

from storefmt.config.fastjson import loads
from storefmt.errors import ConfigDamaged, NotAStore, NotInStore, StoreError
from storefmt.formats.checkpoint import CHECKPOINT_SIZE, Checkpoint
from storefmt.formats.dledger import DIRECTORY_PREFIX, find_directories
from storefmt.formats.message import Record, layout_of
from storefmt.formats.scan import log_files
from storefmt.offline.views.geometry import detect
from storefmt.offline.views.indexes import IndexView
from storefmt.offline.views.log import LogView
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.rocksdb.database import RocksdbNotInstalled, is_installed
from storefmt.offline.views.rocksdb.queues import attach_queues
from storefmt.offline.views.rocksdb.settings import NAMES, StoredTable, counter_of, read_tables
from storefmt.offline.views.tree import FileSpan, QueueKey, Tree, read_tree
from storefmt.paths import StorePaths
from storefmt.store_file import OpenFiles

T = TypeVar("T")
PARTS: Final = ("commitlog", "consumequeue", "index", "config")
CONFIG_SIZE_MAX: Final = 256 << 20

_STATE_FILES: Final = ("topics.json", "consumerOffset.json")


@dataclass(frozen=True, slots=True)
class ConfigRead(Generic[T]):
    """The result of reading one file of ``config/``.

    Attributes:
        value: None if neither the file nor its ``.bak`` could be read.
        file: the file that was used, relative to the store; empty for none.
        problems: (file, what is wrong with it) of each that could not be used.
    """

    value: T | None
    file: str
    problems: tuple[tuple[str, str], ...]


class StoreView:
    """The files of one store directory, read-only."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.root = tree.root
        self.paths = StorePaths(tree.root)
        self.open_files = OpenFiles()
        self.geometry, self.index_shapes = detect(tree, self.open_files)
        self.log = LogView(tree.log, self.open_files, file_size=self.geometry.log_file_size)
        self._queues: dict[QueueKey, QueueView] = {}
        self.unread_queues: StoreError | None = None
        """Why the queues are unknown: they are in RocksDB, which cannot be read."""

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the store directory at ``path`` (storePathRootDir of a broker).

        Raises:
            NotAStore: the directory is missing, was not made by a broker, or has a Raft log
                (DLedger).
            StoreError: a directory in it cannot be listed.
        """
        root = path if isinstance(path, Path) else Path(path)
        if not root.exists():
            raise NotAStore(f"{root}: no such directory; give a broker's storePathRootDir")
        if not root.is_dir():
            raise NotAStore(f"{root}: a file, expected the directory storePathRootDir")
        _refuse_dledger(root)
        # A broker that has stored nothing yet has only created these.
        started = (root / "config").is_dir() and (root / "lock").is_file()
        if not started and not any((root / part).is_dir() for part in PARTS[:3]):
            inside = root.name if root.name in PARTS else root.parent.name
            hint = (
                f"it is a part of a store, try {root.parent}"
                if inside in PARTS
                else f"expected {', '.join(PARTS)} in it; give a broker's storePathRootDir"
            )
            raise NotAStore(f"{root}: not a RocketMQ store; {hint}")
        tree = read_tree(root)
        unread = attach_queues(tree)
        view = cls(tree)
        view.unread_queues = unread
        return view

    def close(self) -> None:
        """Close every file; a view that is used afterwards opens its files again."""
        self.open_files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def aborted(self) -> bool:
        """Whether the file ``abort`` exists: a broker runs on the store, or was killed."""
        return self.paths.abort.exists()

    @property
    def is_never_run(self) -> bool:
        """Whether no broker has run on the store since it was restored.

        A restore writes the log and topics.json. A broker that starts makes the directory of
        queues and all state files, so a store that lacks more has lost something.
        """
        has = {name: (self.paths.config / name).exists() for name in _STATE_FILES}
        is_restored = has["topics.json"] and not has["consumerOffset.json"]
        return is_restored and not self.tree.queues and not self.paths.checkpoint.exists()

    def queues(self) -> list[QueueKey]:
        """Return (topic, queue id) of every consume queue, in files or in RocksDB."""
        return sorted(self.tree.queues)

    def need_queues(self) -> None:
        """Do nothing if the queues can be read.

        Raises:
            StoreError: they are in RocksDB, which cannot be read: the package that reads it is
                missing, or it is damaged.
        """
        if self.unread_queues is not None:
            raise self.unread_queues

    @cached_property
    def settings_databases(self) -> frozenset[str]:
        """The directories of ``config`` that hold topics, groups or offsets in RocksDB."""
        databases = (path.name for path in self.tree.databases if path.parent == self.paths.config)
        return frozenset(databases).intersection(NAMES)

    @property
    def settings_paths(self) -> frozenset[str]:
        """The same directories, relative to the store."""
        return frozenset(f"config/{name}" for name in self.settings_databases)

    @property
    def unread_settings(self) -> StoreError | None:
        """Why topics, groups and offsets are unknown: they are in RocksDB, which cannot be read."""
        return self._settings if isinstance(self._settings, StoreError) else None

    @cached_property
    def _settings(self) -> dict[str, StoredTable] | StoreError:
        """The tables in RocksDB, by the name of their JSON file, or why they cannot be read."""
        if self.settings_databases and not is_installed():
            where = ", ".join(sorted(self.settings_paths))
            return RocksdbNotInstalled("topics, groups and offsets", where)
        try:
            return read_tables(self.paths.config, self.settings_databases)
        except StoreError as error:
            return error

    def queue(self, topic: str, queue_id: int) -> QueueView:
        """Return one consume queue.

        Raises:
            NotInStore: there is no such queue.
            StoreError: it is a batch consume queue (5.x), which is not supported, or it is in
                RocksDB, and the package that reads it is missing.
        """
        key = (topic, queue_id)
        if key not in self.tree.queues:
            self.need_queues()
            if key in self.tree.batch_queues:
                raise StoreError(
                    f"queue {topic} {queue_id} is a batch consume queue (5.x), which is not "
                    "supported; read its records with `store log`"
                )
            raise NotInStore(
                f"no queue {queue_id} of topic {topic} in {self.root}; "
                "`store info` lists the topics"
            )
        view = self._queues.get(key)
        if view is None:
            view = self._queues[key] = self._view(key, self.tree.queues[key])
        return view

    def queue_in_files(self, topic: str, queue_id: int) -> QueueView | None:
        """Return a queue as its files have it, or None if it has no files."""
        spans = self.tree.file_queues.get((topic, queue_id))
        return None if spans is None else self._view((topic, queue_id), spans)

    def queue_in_rocksdb(self, topic: str, queue_id: int) -> QueueView | None:
        """Return a queue as RocksDB has it, or None if RocksDB does not have it."""
        spans = self.tree.rocksdb_queues.get((topic, queue_id))
        return None if spans is None else self._view((topic, queue_id), spans)

    def _view(self, key: QueueKey, spans: list[FileSpan]) -> QueueView:
        return QueueView(
            *key,
            spans=spans,
            ext=self.tree.ext.get(key, []),
            open_files=self.open_files,
            log_min_offset=self.log.min_offset,
        )

    @cached_property
    def index_files(self) -> list[IndexView]:
        """Return the index files, oldest first."""
        return [
            IndexView(
                span, self.tree.name(span.path), self.index_shapes.get(span.size), self.open_files
            )
            for span in self.tree.index
        ]

    def checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint, None if the store has none.

        Raises:
            RecordDamaged: the file is too short.
        """
        if not self.paths.checkpoint.is_file():
            return None
        return Checkpoint.decode(
            self.open_files.open(self.paths.checkpoint).read(0, CHECKPOINT_SIZE)
        )

    def config(self, name: str, decode: Callable[[str], T]) -> ConfigRead[T]:
        """Read ``config/<name>``, or its ``.bak`` if the file is missing or damaged.

        Topics, groups and offsets that 5.x keeps in RocksDB take the place of the file, unless
        the file changed more often; see ``storefmt.offline.views.rocksdb.settings``.

        Args:
            decode: returns the value of the text, or raises StoreError.
        """
        stored = {} if isinstance(self._settings, StoreError) else self._settings
        if name in stored:
            return self._chosen(name, decode, stored[name])
        return self._from_files(name, decode)

    def _chosen(self, name: str, decode: Callable[[str], T], stored: StoredTable) -> ConfigRead[T]:
        """Return the table of RocksDB, or that of a file which changed more often."""
        shown = f"config/{stored.directory}"
        of_file = self._from_files(name, lambda text: counter_of(loads(text))).value
        if of_file is not None and of_file > stored.counter:
            return self._from_files(name, decode)
        problems = tuple((shown, problem) for problem in stored.problems)
        try:
            return ConfigRead(decode(stored.text), shown, problems)
        except StoreError as error:
            return ConfigRead(None, "", (*problems, (shown, str(error))))

    def _from_files(self, name: str, decode: Callable[[str], T]) -> ConfigRead[T]:
        problems: list[tuple[str, str]] = []
        for path in (self.paths.config_file(name), self.paths.config_file(f"{name}.bak")):
            if not path.is_file():
                continue
            shown = self.tree.name(path)
            try:
                return ConfigRead(decode(self._text(path)), shown, tuple(problems))
            except StoreError as error:
                problems.append((shown, str(error)))
        return ConfigRead(None, "", tuple(problems))

    def _text(self, path: Path) -> str:
        file = self.open_files.open(path)
        if file.size > CONFIG_SIZE_MAX:
            raise ConfigDamaged(f"the file has {file.size} bytes, the limit is {CONFIG_SIZE_MAX}")
        data = file.read(0, file.size)
        if not data.strip(b"\0 \t\r\n"):
            raise ConfigDamaged(
                f"{len(data)} bytes, all of them zeros or blanks" if data else "the file is empty"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigDamaged(f"not UTF-8 at byte {error.start}") from error

    def span_name(self, span: FileSpan) -> str:
        """Return the name of a file relative to the store."""
        return self.tree.name(span.path)


def _refuse_dledger(root: Path) -> None:
    """Raise NotAStore if the store has a Raft log; ``commitlog/`` has at most its beginning."""
    # The directory of a Raft log has an index/ of its own, as a store has.
    if root.name.startswith(DIRECTORY_PREFIX) and (root / "data").is_dir():
        raise NotAStore(f"{root}: the Raft log of a DLedger store, try {root.parent}")
    try:
        logs = [directory for directory in find_directories(root) if log_files(directory)]
    except OSError as error:
        raise StoreError(f"{root}: {error.strerror}; list it as its owner") from error
    if not logs:
        return
    older = " after an older log in commitlog" if (root / "commitlog").is_dir() else ""
    raise NotAStore(
        f"{root}: a DLedger store, whose log is the Raft log {logs[0].relative_to(root)}{older}; "
        f"`mqadmin store carve {root} --to OUT` extracts its records into a log, and `store "
        "repair` of OUT makes a store of it"
    )


class LocatedRecord(NamedTuple):
    """A record, the log file that contains it, and its position in that file."""

    span: FileSpan
    pos: int
    record: Record

    def without_body(self) -> Self:
        """Return the same with an empty body, to be kept: a body may be large."""
        return self._replace(record=self.record._replace(body=b""))


def field_at(store: StoreView, located: LocatedRecord, name: str) -> tuple[int, int]:
    """Return (position in the file, size) of one field of a record, both in bytes.

    Args:
        store: the opened store.
        located: the record.
        name: the field, as ``storefmt.formats.layout`` names it.
    """
    span, pos, record = located
    # If the record changed since it was read, its start is precise enough.
    with suppress(StoreError):
        data = store.log.open(span).read(pos, record.size)
        for value in layout_of(record.magic).spans(data):
            if value.field.name == name:
                return pos + value.pos, value.size
    return pos, record.size
