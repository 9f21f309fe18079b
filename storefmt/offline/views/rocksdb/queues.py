"""Consume queues in RocksDB, in the form of files, so that readers of queue files read them.

    key (topic, queue id, k) ──> entry k          one "file" a queue, as long as the queue:
    …/consumequeue/orders/0/00000000000000000060  |e3|e4|e5|e6|   20 bytes an entry, from entry 3 on

Rule: a queue exists if RocksDB has its last entry (family ``offset``, ``max``); the broker also
writes the first one of every queue that was queried. Entries before the log go when
RocksDB compacts, so a queue may begin late, and one whose messages are all gone has only an end. An
entry that is missing between others reads as zeros, like one that was never written into a file.

Source: store/queue/RocksDBConsumeQueueStore.java#getMaxOffsetInQueue,
RocksDBConsumeQueueOffsetTable.java (5.4.0).
"""

import errno
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, Self

from storefmt.errors import BadCall, StoreError
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.offline.views.rocksdb.database import Database
from storefmt.offline.views.rocksdb.keys import (
    CHECKPOINT_TOPIC,
    OFFSET_VALUE,
    QUEUE_VALUE,
    parse_offset_key,
    parse_queue_key,
    queue_key,
    queue_prefix,
)
from storefmt.offline.views.tree import FileSpan, QueueKey, Tree
from storefmt.paths import GROUP_SIZE_MAX, StorePaths, check_topic_name, log_file_name
from storefmt.remote_file import RemotePath
from storefmt.store_file import StoreFile

OFFSET_FAMILY: Final = "offset"
_MARK: Final = "(RocksDB)"
"""Shows people that a name is not that of a file; a topic cannot have this name."""
OPEN_MAX: Final = 16
"""The databases of queues that a process keeps open."""
_WHAT: Final = "the consume queues"


class EntrySpan(NamedTuple):
    """The first entry of a queue, and the one after its last, in entries."""

    start: int
    end: int


class QueueDatabase:
    """The consume queues of one RocksDB directory, as they were when it was opened."""

    def __init__(self, directory: Path) -> None:
        self.database = Database(directory, what=_WHAT)
        self._ends: dict[QueueKey, EntrySpan] = {}

    @cached_property
    def last_entries(self) -> dict[QueueKey, int]:
        """The queue offset of the last entry of each queue, as the broker noted it."""
        last_offsets: dict[QueueKey, int] = {}
        for key, value in self.database.entries(OFFSET_FAMILY):
            parts = parse_offset_key(key)
            if parts is None or not parts.is_max or len(value) != OFFSET_VALUE.size:
                continue
            if parts.topic != CHECKPOINT_TOPIC and _may_be_path(parts.topic):
                last_offsets[parts.topic, parts.queue_id] = OFFSET_VALUE.unpack(value)[1]
        return last_offsets

    def log_end(self) -> int | None:
        """Return the log offset up to which the queues have entries; None if it is not noted."""
        for key, value in self.database.entries(OFFSET_FAMILY):
            parts = parse_offset_key(key)
            if parts is not None and parts.topic == CHECKPOINT_TOPIC and len(value) >= 8:
                return int.from_bytes(value[:8], "big")
        return None

    def ends(self, key: QueueKey) -> EntrySpan:
        """Return where the entries of a queue begin and end."""
        ends = self._ends.get(key)
        if ends is None:
            ends = self._ends[key] = self._find_ends(key)
        return ends

    def _find_ends(self, key: QueueKey) -> EntrySpan:
        prefix = queue_prefix(*key)
        newest = self.database.last(prefix)
        parts = parse_queue_key(newest[0]) if newest is not None else None
        end = max(-1 if parts is None else parts.queue_offset, self.last_entries.get(key, -1)) + 1
        first = next(self.database.entries(prefix=prefix), None)
        parts = parse_queue_key(first[0]) if first is not None else None
        return EntrySpan(end if parts is None else parts.queue_offset, end)

    def read(self, key: QueueKey, first: int, count: int) -> bytes:
        """Return entries in the form of a queue file; zeros where one is missing."""
        if count == 1:
            value = self.database.get(queue_key(*key, first))
            return bytes(ENTRY_SIZE) if value is None else _entry(value)
        data = bytearray(count * ENTRY_SIZE)
        prefix = queue_prefix(*key)
        for name, value in self.database.entries(start=queue_key(*key, first), prefix=prefix):
            parts = parse_queue_key(name)
            if parts is None:
                continue
            place = parts.queue_offset - first
            if place >= count:
                break
            data[place * ENTRY_SIZE : (place + 1) * ENTRY_SIZE] = _entry(value)
        return bytes(data)


class RocksdbQueuePath(RemotePath):
    """``<directory>/(RocksDB)/<topic>/<queue id>/<20 digits>``, which no file system has."""

    @classmethod
    def of(cls, directory: Path, key: QueueKey, start: int) -> Self:
        """Return the path of a queue that begins with entry ``start``."""
        topic, queue_id = key
        return cls(directory) / _MARK / topic / str(queue_id) / log_file_name(start * ENTRY_SIZE)

    @property
    def directory(self) -> Path:
        """The RocksDB directory."""
        return Path(*self.parts[:-4])

    @property
    def key(self) -> QueueKey:
        """The queue."""
        return self.parts[-3], int(self.parts[-2])

    @property
    def start(self) -> int:
        """The first entry."""
        return int(self.name) // ENTRY_SIZE

    def size_of(self) -> int | None:
        """Return the size of the entries as a file; raises OSError."""
        with _os_errors(self):
            return max(0, open_queues(self.directory).ends(self.key).end - self.start) * ENTRY_SIZE

    def children(self) -> Iterator[Self]:
        """Yield nothing: a queue is one file."""
        yield from ()

    def open_remote(self) -> "RocksdbQueueFile":
        """Open the queue; raises OSError."""
        size = self.size_of() or 0
        return RocksdbQueueFile(self, size)


class RocksdbQueueFile:
    """The entries of one queue, read as the bytes of a file."""

    def __init__(self, path: RocksdbQueuePath, size: int) -> None:
        self._path = path
        self.size = size

    def read(self, pos: int, size: int) -> bytes:
        """Return ``size`` bytes at ``pos``, fewer only at the end; raises OSError."""
        end = min(pos + size, self.size)
        if not 0 <= pos < end:
            return b""
        first, behind = pos // ENTRY_SIZE, -(-end // ENTRY_SIZE)
        with _os_errors(self._path):
            queues = open_queues(self._path.directory)
            data = queues.read(self._path.key, self._path.start + first, behind - first)
        return data[pos - first * ENTRY_SIZE : end - first * ENTRY_SIZE]

    def close(self) -> None:
        """Do nothing: the database is shared by all queues of its store."""


@contextmanager
def _os_errors(path: Path) -> Iterator[None]:
    """Turn errors of this package into those that readers of files expect."""
    try:
        yield
    except StoreError as error:
        raise OSError(errno.EIO, str(error), str(path)) from error


def attach_queues(tree: Tree) -> StoreError | None:
    """Add the queues in RocksDB to a listing; a store whose queues are in both keeps one form.

    A broker with ``rocksdbCQDoubleWriteEnable`` writes files and RocksDB. Files are read then,
    unless the queues in RocksDB go further: then the broker was switched to RocksDB alone.

    Returns:
        Why nothing was added, although queues are in RocksDB; the rest of the store can be read.
    """
    directory = StorePaths(tree.root).consumequeue
    if directory not in tree.databases:
        return None
    try:
        tree.rocksdb_queues = list_queues(directory)
    except StoreError as error:
        return error
    tree.topics |= {topic for topic, _ in tree.rocksdb_queues}
    tree.reads_rocksdb = not tree.file_queues or _goes_further(tree)
    return None


def _goes_further(tree: Tree) -> bool:
    """Return whether a queue has more entries in RocksDB than in its files."""
    for key, spans in tree.rocksdb_queues.items():
        files = [span for span in tree.file_queues.get(key, ()) if span.start % ENTRY_SIZE == 0]
        ends = (_data_end(span) for span in reversed(files))
        if sum(span.size for span in spans) and spans[-1].end > next(filter(None, ends), 0):
            return True
    return False


def _data_end(span: FileSpan) -> int:
    with closing(StoreFile(span.path)) as file:
        end = file.data_end()
    # The last bytes of an entry may be zero.
    return span.start + -(-end // ENTRY_SIZE) * ENTRY_SIZE if end else 0


def list_queues(directory: Path) -> dict[QueueKey, list[FileSpan]]:
    """Return the queues of a RocksDB directory, which is opened again, with one file each.

    Raises:
        StoreError: it cannot be opened.
    """
    _forget(directory)
    queues = open_queues(directory)
    spans: dict[QueueKey, list[FileSpan]] = {}
    for key in sorted(queues.last_entries):
        start, end = queues.ends(key)
        path = RocksdbQueuePath.of(directory, key, start)
        spans[key] = [FileSpan(start * ENTRY_SIZE, (end - start) * ENTRY_SIZE, path)]
    return spans


def open_queues(directory: Path) -> QueueDatabase:
    """Return the opened queues of a RocksDB directory; each process has its own.

    Raises:
        StoreError: it cannot be opened.
    """
    # A process that was forked must not use what its parent has opened.
    place = os.getpid(), directory
    queues = _opened.get(place)
    if queues is None:
        queues = _opened[place] = QueueDatabase(directory)
        if len(_opened) > OPEN_MAX:
            _opened.popitem(last=False)
    _opened.move_to_end(place)
    return queues


_opened: OrderedDict[tuple[int, Path], QueueDatabase] = OrderedDict()


def _forget(directory: Path) -> None:
    """Make the next reader open a directory again."""
    _opened.pop((os.getpid(), directory), None)


def _entry(value: bytes) -> bytes:
    return (
        CQ_ENTRY.pack(*QUEUE_VALUE.unpack(value)[:3])
        if len(value) == QUEUE_VALUE.size
        else bytes(ENTRY_SIZE)
    )


def _may_be_path(topic: str) -> bool:
    try:
        check_topic_name(topic, size_max=GROUP_SIZE_MAX)
    except BadCall:
        return False
    return True
