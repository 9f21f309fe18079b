"""The file ``dispatch.json``: the safe point, below which a start need not scan the log.

    {"version": 4, "state": "running", "safeLogOffset": 73400320, "logFileSize": 1073741824,
     "queueFileSize": 6000000, "lockNs": 17…, "deletedTopics": {"old": 1048576},
     "queues": {"t": "0 0 3 5117 1 0 0 9"}, "minOf": 0,
     "index": {"names": ["20260101…"], "header": [begin ms, …, 4711]},
     "clockMs": 17…, "sealed": {"0": 17…}, "files": "9f86d081…", "crc": 3735928559}

Rule: the log is authoritative, and queues and index are derived from it. The safe point records
how far the derived files are right. When it was written, the following were on the disk: all
of the log below ``safe_log_offset``, the entries in each queue **of records below that offset**
(``queues`` has their number), and the index of these records. None of this depends on a clock
or on the modification time of a file; those can only make a start distrust the safe point,
which costs a scan of the whole log and loses nothing.

The Java broker does not know this file and leaves it alone; a start of the Java broker shows in
the modification time of ``lock``, which it writes each time. A damaged or foreign file counts
as absent.
"""

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import DirEntry, Disk, read_file
from mqserver.store.queues.queue import QueueDirectory, queue_directories
from mqserver.store.queues.queue_rows import QueueRow, QueueRows
from mqserver.store.store_errors import OUT_OF_SPACE
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.paths import StorePaths, parse_log_file_name

FILE_NAME: Final = "dispatch.json"
_VERSION: Final = 4
_VERSION_WITHOUT_COUNTS: Final = 3
"""An earlier broker also counted entries of records that were not flushed. Its counts are not
used: the next start scans the whole log and thereby repairs queues that these counts damaged."""
_CRC: Final = b', "crc": '


class StoreState(StrEnum):
    """What our broker did with the store when it wrote the file."""

    RUNNING = "running"
    """It served the store."""
    STOPPED = "stopped"
    """It shut down properly."""
    RECOVERING = "recovering"
    """It recovered a store that it could not trust."""


@dataclass(slots=True, kw_only=True)
class IndexMark:
    """The index when the safe point was written."""

    names: list[str] = field(default_factory=list)
    """Names of all files, the oldest first."""
    header: tuple[int, ...] = ()
    """Header of the last file: six numbers."""


@dataclass(slots=True, kw_only=True)
class SafePoint:
    """The content of one ``dispatch.json``; offsets are bytes of the commit log."""

    safe_log_offset: int = 0
    log_file_size: int = 0
    queue_file_size: int = 0
    state: StoreState = StoreState.RUNNING
    lock_ns: int = 0
    """When ``lock`` was written (ns); another time shows that another broker has started."""
    deleted_topics: dict[str, int] = field(default_factory=dict)
    """Log offset by topic at which it was deleted: older records do not restore the topic."""
    queues: QueueRows = field(default_factory=QueueRows)
    """Rows that count the entries of records below ``safe_log_offset``, by queue."""
    min_of: int = -1
    """Beginning of the log for which first retained entries are right, -1 for none."""
    index: IndexMark | None = None
    """None if the store had no index."""
    clock_ms: int = 0
    """Value of the retention clock; see ``retention``."""
    sealed_ms: dict[int, int] = field(default_factory=dict)
    """Value of the retention clock at which each log file was full, by the file's start."""
    files: str = ""
    """Digest of all files at a proper shutdown; see ``Listing``."""
    has_counts: bool = True
    """False in a file of an earlier version, whose ``queues`` cannot be used."""

    @property
    def names_all_queues(self) -> bool:
        """Return whether ``queues`` has every queue with a record below ``safe_log_offset``."""
        return self.state is not StoreState.RECOVERING


def encode_safe_point(point: SafePoint) -> bytes:
    """Return the content of the file."""
    index = point.index
    parts = {
        "version": _VERSION,
        "state": point.state.value,
        "safeLogOffset": point.safe_log_offset,
        "logFileSize": point.log_file_size,
        "queueFileSize": point.queue_file_size,
        "lockNs": point.lock_ns,
        "deletedTopics": point.deleted_topics,
        "index": None if index is None else {"names": index.names, "header": index.header},
        "clockMs": point.clock_ms,
        "sealed": point.sealed_ms,
        "files": point.files,
        "minOf": point.min_of,
    }
    # One topic at a time, so that other threads can run in between.
    rows = point.queues
    topics = [f'{json.dumps(name)}: "{rows.text_of(name)}"' for name in rows.topics()]
    text = f'{json.dumps(parts)[:-1]}, "queues": {{{", ".join(topics)}}}'.encode()
    return text + _CRC + b"%d}" % zlib.crc32(text)


def write_safe_point(disk: Disk, store: StorePaths, point: SafePoint) -> None:
    """Replace the file atomically and durably.

    Raises:
        OSError: the disk refused it.
    """
    path = store.root / FILE_NAME
    spare = path.with_name(FILE_NAME + ".tmp")
    file = disk.open(spare, create=True)
    try:
        data = encode_safe_point(point)
        file.truncate(len(data))
        file.pwrite(data, 0)
        file.fdatasync()
    finally:
        file.close()
    disk.rename(spare, path)
    disk.fsync_dir(store.root)


def retract_safe_point(disk: Disk, store: StorePaths, point: SafePoint) -> None:
    """Replace the file by one that records nothing as safe, even on a disk without space.

    Raises:
        OSError: the disk refused it.
    """
    try:
        write_safe_point(disk, store, point)
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            raise
        # The old file has room for the shorter content; a partial write counts as absent.
        file = disk.open(store.root / FILE_NAME)
        try:
            data = encode_safe_point(point)
            file.pwrite(data.ljust(file.size()), 0)
            file.fdatasync()
        finally:
            file.close()


def read_safe_point(disk: Disk, store: StorePaths) -> SafePoint | None:
    """Return the content of the file, or None if there is no usable file."""
    data = (read_file(disk, store.root / FILE_NAME) or b"").rstrip()
    text, mark, crc = data.rpartition(_CRC)
    if not mark or crc != b"%d}" % zlib.crc32(text):
        return None
    try:
        return _decode(json.loads(data))
    except (
        ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError,
    ):  # fmt: skip
        return None


def _decode(value: object) -> SafePoint | None:
    if not isinstance(value, dict):
        return None
    has_counts = value.get("version") == _VERSION
    if not has_counts and value.get("version") != _VERSION_WITHOUT_COUNTS:
        return None
    index, safe = value["index"], int(value["safeLogOffset"])
    if safe < 0:
        return None
    rows = QueueRows()
    for topic, text in value["queues"].items() if has_counts else ():
        rows.put_text(topic, text)
    return SafePoint(
        safe_log_offset=safe,
        log_file_size=int(value["logFileSize"]),
        queue_file_size=int(value["queueFileSize"]),
        state=StoreState(value["state"]),
        lock_ns=int(value["lockNs"]),
        deleted_topics={str(topic): int(end) for topic, end in value["deletedTopics"].items()},
        queues=rows,
        min_of=int(value["minOf"]),
        index=None
        if index is None
        else IndexMark(
            names=[str(name) for name in index["names"]],
            header=tuple(int(number) for number in index["header"]),
        ),
        clock_ms=int(value["clockMs"]),
        sealed_ms={int(base): int(ms) for base, ms in value["sealed"].items()},
        files=str(value["files"]),
        has_counts=has_counts,
    )


class Listing:
    """All log, queue and index files of a directory, listed once.

    Raises:
        OSError: the disk could not be read.
    """

    def __init__(self, disk: Disk, store: StorePaths) -> None:
        self.logs = disk.scan(store.commitlog)
        self.queues = QueueRows()
        """By topic and queue id: start of the first and of the last file, and bytes of all."""
        self.queue_file_sizes: Counter[int] = Counter()
        """Number of queue files by size, of files that begin at a multiple of their size."""
        self._digest = hashlib.blake2b(digest_size=16)
        self._note("commitlog", self.logs)
        index = disk.scan(store.index)
        self._note("index", index)
        of_index = hashlib.blake2b(digest_size=16)
        for name, is_dir, size, modified_ns in index:
            if not is_dir:
                of_index.update(f"{name} {size} {modified_ns}\n".encode())
        self.index_digest = of_index.hexdigest()
        """Digest of the names, sizes and modification times of all index files."""
        self.strangers: list[Path] = []
        """Directories inside a topic's directory that are not queues."""
        for directory in queue_directories(disk, store.consumequeue):
            if isinstance(directory, Path):
                self.strangers.append(directory)
            else:
                self._note(f"{directory.topic}/{directory.queue_id}", directory.files)
                self._add_queue(directory)

    def _note(self, folder: str, files: Sequence[DirEntry]) -> None:
        for name, is_dir, size, modified_ns in files:
            if not is_dir:
                self._digest.update(f"{folder}/{name} {size} {modified_ns}\n".encode())

    def _add_queue(self, directory: QueueDirectory) -> None:
        low, high, total = -1, -1, 0
        for name, is_dir, size, _ in directory.files:
            base = parse_log_file_name(name)
            if base is None or is_dir:
                continue
            low, high, total = base if low < 0 else low, base, total + size
            if size and size % ENTRY_SIZE == 0:
                self.queue_file_sizes[size] += base % size == 0
        self.queues.put_row(directory.topic, directory.queue_id, QueueRow(low, high, total))

    @property
    def digest(self) -> str:
        """Digest of the names, sizes and times of all files, followed by ``index_digest``."""
        return self._digest.hexdigest() + self.index_digest

    def is_index_changed(self, point: SafePoint | None, lock_ns: int) -> bool:
        """Return whether index files were changed after our broker's proper shutdown."""
        return (
            point is not None
            and point.state is StoreState.STOPPED
            and point.lock_ns == lock_ns
            and not point.files.endswith(self.index_digest)
        )


def lock_time(disk: Disk, store: StorePaths) -> int:
    """Return when the file ``lock`` was written (ns), 0 if it does not exist."""
    status = disk.stat(store.lock)
    return 0 if status is None else status.modified_ns
