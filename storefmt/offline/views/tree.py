"""Lists a store directory: the kind of each file, and strangers that no broker creates.

    <root>/commitlog/<20 digits>                       log files, by start
           consumequeue/<topic>/<queue id>/<20 digits> queue files, by start
           consumequeue_ext/ … the same                ext files
           index/<17 digits>                           index files, by name
           batchconsumequeue/ … as consumequeue        batch queue files (5.x)
           rocksdbstore/, timerlog/, tails/ …          whatever is below
           <any of these>/CURRENT                      a RocksDB database, with files of its own
           (anything else)                             strangers

Rule: names and sizes only; no file is opened. A part of the store may be a symbolic link, because
operators move the log to another disk that way. Links below a part are strangers: a store of
unknown origin could use them to expose other files of this machine. Files that 5.x adds are known
by name.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from storefmt.errors import StoreError
from storefmt.formats.dledger import DIRECTORY_PREFIX
from storefmt.paths import StorePaths, parse_log_file_name
from storefmt.remote_file import RemotePath

KNOWN_AT_ROOT: Final = frozenset(
    {
        "commitlog", "consumequeue", "consumequeue_ext", "index", "config", "checkpoint",
        "abort", "lock",
        # checksums of whole records, made by ``store seal``
        "checksums",
        # mqbroker: how far the queues are durable
        "dispatch.json",
        "dispatch.json.bak",
        "dispatch.json.tmp",
        # mqbroker: the promotions that it knows, and what only a demoted master had
        "epoch.json", "epoch.json.bak", "epoch.json.tmp", "ha.json", "tails",
        # 5.x
        "abort.bak", "batchconsumequeue", "compaction", "rocksdbstore", "timerlog",
        "timerwheel", "timerwheel.snapshot", "epochFileCheckpoint", "epochFileCheckpoint.bak",
        "tieredStore", "consumequeue_r", "consumequeue_rocksdb", "dledger", "kvStore",
    }
)  # fmt: skip
"""Names in the root of a store that a broker of 4.9 or 5.x creates."""

_LISTED: Final = frozenset(
    {"commitlog", "consumequeue", "consumequeue_ext", "index", "config", "batchconsumequeue"}
)
ROCKSDB_MARK: Final = "CURRENT"
"""The file that every RocksDB database has."""
ROCKSDB_QUEUES: Final = "consumequeue (RocksDB)"
"""The kind of the files of RocksDB that lie among the directories of queues."""
V5_MARKS: Final = (
    "timerwheel",
    "compaction",
    "rocksdbstore",
    "timerlog",
    "abort.bak",
    "kvStore",
    f"consumequeue/{ROCKSDB_MARK}",
)
_INDEX_NAME: Final = re.compile(r"[0-9]{17}")
_Entry: TypeAlias = "os.DirEntry[str] | RemotePath"


class FileSpan(NamedTuple):
    """One file of a row of files: where it starts, how long it is."""

    start: int
    size: int
    path: Path

    @property
    def end(self) -> int:
        """Return the position after its last byte, in the row's own counting."""
        return self.start + self.size


class Stranger(NamedTuple):
    """A file or directory that no broker creates in this place."""

    path: Path
    place: str
    """The part of the store it lies in: ``commitlog``, ``consumequeue``, ``index``, ``root``."""
    size: int


QueueKey = tuple[str, int]
"""Topic and queue id."""


@dataclass(slots=True)
class Tree:
    """A listing of one store directory, taken once."""

    root: Path
    log: list[FileSpan] = field(default_factory=list)
    file_queues: dict[QueueKey, list[FileSpan]] = field(default_factory=dict)
    """The queues in files."""
    ext: dict[QueueKey, list[FileSpan]] = field(default_factory=dict)
    batch_queues: dict[QueueKey, list[FileSpan]] = field(default_factory=dict)
    index: list[FileSpan] = field(default_factory=list)
    config: list[FileSpan] = field(default_factory=list)
    other: list[FileSpan] = field(default_factory=list)
    below: dict[str, list[FileSpan]] = field(default_factory=dict)
    """The files below each directory of the root whose files are not listed elsewhere."""
    strangers: list[Stranger] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)
    """Directories below ``consumequeue``: ``deleteTopic`` empties one and leaves it there."""
    databases: list[Path] = field(default_factory=list)
    """The directories that are RocksDB databases: in the root, and in ``config``."""
    rocksdb_queues: dict[QueueKey, list[FileSpan]] = field(default_factory=dict)
    """The queues in RocksDB, which ``storefmt.offline.views.rocksdb.queues`` lists."""
    reads_rocksdb: bool = False
    """True if queues are read from RocksDB, and not from files that may lie beside it."""

    @property
    def queues(self) -> dict[QueueKey, list[FileSpan]]:
        """Return the queues in the form that is read."""
        return self.rocksdb_queues if self.reads_rocksdb else self.file_queues

    @property
    def queue_files(self) -> dict[QueueKey, list[FileSpan]]:
        """Return the queues that are read from files: all of them, or none."""
        return {} if self.reads_rocksdb else self.file_queues

    def name(self, path: Path) -> str:
        """Return ``path`` relative to the store, with forward slashes, always valid text."""
        text = path.relative_to(self.root).as_posix()
        return text.encode("utf-8", "backslashreplace").decode()


def read_tree(root: Path) -> Tree:
    """List the store directory ``root``.

    Raises:
        StoreError: a directory cannot be listed.
    """
    tree, paths = Tree(root), StorePaths(root)
    tree.log = _numbered(tree, paths.commitlog, "commitlog")
    tree.databases = _databases(root, paths)
    tree.file_queues = _queues(tree, paths.consumequeue, "consumequeue")
    tree.topics = {entry.name for entry in _entries(paths.consumequeue) if entry.is_dir()}
    tree.ext = _queues(tree, paths.consumequeue_ext, "consumequeue_ext")
    tree.batch_queues = _queues(tree, root / "batchconsumequeue", "batchconsumequeue")
    for entry in _entries(paths.index):
        span = _span(entry, 0)
        if span is not None and _INDEX_NAME.fullmatch(entry.name):
            tree.index.append(span)
        else:
            _stranger(tree, entry, "index")
    for entry in _entries(paths.config):
        span = _span(entry, 0)
        if span is not None:
            tree.config.append(span)
        else:
            tree.config += _below(_path(entry))
    for entry in _entries(root):
        span = _span(entry, 0)
        if entry.name not in KNOWN_AT_ROOT and not entry.name.startswith(DIRECTORY_PREFIX):
            _stranger(tree, entry, "root")
        elif span is not None:
            tree.other.append(span)
        elif entry.name not in _LISTED:
            tree.below[entry.name] = list(_below(_path(entry)))
    if paths.consumequeue in tree.databases:
        spans = (_span(entry, 0) for entry in _entries(paths.consumequeue))
        tree.below[ROCKSDB_QUEUES] = [span for span in spans if span is not None]
    return tree


def _databases(root: Path, paths: StorePaths) -> list[Path]:
    return [
        _path(entry)
        for entry in (*_entries(root), *_entries(paths.config))
        if entry.is_dir() and not _is_link(entry) and (_path(entry) / ROCKSDB_MARK).is_file()
    ]


def _below(directory: Path) -> Iterator[FileSpan]:
    for entry in _entries(directory):
        span = _span(entry, 0)
        if span is not None:
            yield span
        elif not _is_link(entry):
            yield from _below(_path(entry))


def _queues(tree: Tree, directory: Path, place: str) -> dict[QueueKey, list[FileSpan]]:
    queues: dict[QueueKey, list[FileSpan]] = {}
    is_database = directory in tree.databases
    for topic in _entries(directory):
        if is_database and topic.is_file() and not _is_link(topic):
            continue
        if not topic.is_dir() or _is_link(topic):
            _stranger(tree, topic, place)
            continue
        for queue in _entries(_path(topic)):
            # Java takes any integer; "+1" or "007" would read back as another queue's name.
            is_queue = queue.is_dir() and not _is_link(queue)
            if is_queue and queue.name.isdecimal() and str(int(queue.name)) == queue.name:
                key = (topic.name, int(queue.name))
                queues[key] = _numbered(tree, _path(queue), place)
            else:
                _stranger(tree, queue, place)
    return queues


def _numbered(tree: Tree, directory: Path, place: str) -> list[FileSpan]:
    spans = []
    for entry in _entries(directory):
        start = parse_log_file_name(entry.name)
        span = None if start is None else _span(entry, start)
        if span is None:
            _stranger(tree, entry, place)
        else:
            spans.append(span)
    return sorted(spans)


def _entries(directory: Path) -> Sequence[_Entry]:
    try:
        if isinstance(directory, RemotePath):
            return sorted(directory.iterdir())
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"{directory}: {error.strerror}; list it as its owner") from error


def _path(entry: _Entry) -> Path:
    return entry if isinstance(entry, RemotePath) else Path(entry.path)


def _span(entry: _Entry, start: int) -> FileSpan | None:
    try:
        if entry.is_file() and not _is_link(entry):
            return FileSpan(start, entry.stat().st_size, _path(entry))
    except FileNotFoundError:
        # Gone between listing and looking: retention, or a link to nowhere.
        return None
    return None


def _is_link(entry: _Entry) -> bool:
    """Return whether an entry is a symbolic link, which may leave the store or form a circle."""
    return entry.is_symlink()


def _stranger(tree: Tree, entry: _Entry, place: str) -> None:
    span = _span(entry, 0)
    tree.strangers.append(Stranger(_path(entry), place, span.size if span else 0))
