"""The file ``dispatch.json``: up to where a start need not look, called the safe point.

    {"version": 4, "state": "running", "safeLogOffset": 73400320, "logFileSize": 1073741824,
     "queueFileSize": 6000000, "lockNs": 17…, "deletedTopics": {"old": 1048576},
     "queues": {"t": "0 0 3 5117 1 0 0 9"}, "minOf": 0,
     "index": {"names": ["20260101…"], "header": [begin ms, …, 4711]},
     "clockMs": 17…, "sealed": {"0": 17…}, "files": "9f86d081…", "crc": 3735928559}

Rule: the log is the truth, and queues and index are derived from it. The safe point says how
far the derived files are known to be right: all of the log below ``safe_log_offset`` was on the
disk when this was written, ``queues`` tells of each queue how many entries it has **of records
below that offset**, and these entries and the index of these records were on the disk, too.
Nothing that it says depends on a clock or on the time at which a file was modified; those can
only make a start distrust it, which costs a walk of the whole log and loses nothing.

The Java broker knows nothing of this file and leaves it alone; its traces show in the
modification time of ``lock``, which it writes at each start. A damaged or foreign file counts
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

from server.store.disk.disk import OUT_OF_SPACE, DirEntry, Disk, read_file
from server.store.queues.queue import QueueDirectory, queue_directories
from server.store.queues.queue_rows import QueueRow, QueueRows
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.paths import StorePaths, parse_log_file_name

FILE_NAME: Final = "dispatch.json"
_VERSION: Final = 4
_VERSION_WITHOUT_COUNTS: Final = 3
"""An earlier broker counted entries of records that were not flushed. Its counts are not used:
the next start walks the whole log, and with that mends queues that such counts have damaged."""
_CRC: Final = b', "crc": '


class Writer(StrEnum):
    """Who left the directory as it is."""

    RUNNING = "running"
    """Our broker, without a stop."""
    STOPPED = "stopped"
    """Our broker, after a stop in order."""
    RECOVERING = "recovering"
    """Our broker while it went over what another one had left."""


@dataclass(slots=True, kw_only=True)
class IndexMark:
    """The index when the safe point was written."""

    names: list[str] = field(default_factory=list)
    """Every file, the oldest first."""
    header: tuple[int, ...] = ()
    """Header of the last one: six numbers."""


@dataclass(slots=True, kw_only=True)
class SafePoint:
    """What one ``dispatch.json`` says; offsets are bytes of the commit log."""

    safe_log_offset: int = 0
    log_file_size: int = 0
    queue_file_size: int = 0
    writer: Writer = Writer.RUNNING
    lock_ns: int = 0
    """When ``lock`` was written: another time says that another broker came in between."""
    deleted_topics: dict[str, int] = field(default_factory=dict)
    """End of the log when a topic was deleted: older records do not bring it back."""
    queues: QueueRows = field(default_factory=QueueRows)
    """Of each queue, the entries of records below ``safe_log_offset``."""
    min_of: int = -1
    """Begin of the log for which the first kept entries are right, -1 for none."""
    index: IndexMark | None = None
    """None where there was no index."""
    clock_ms: int = 0
    """What the clock of retention showed; see ``retention``."""
    sealed_ms: dict[int, int] = field(default_factory=dict)
    """What it showed when each log file was full, by the file's start."""
    files: str = ""
    """Digest of every file after a stop in order; see ``Listing``."""
    has_counts: bool = True
    """False of an earlier version, whose ``queues`` cannot be used."""

    @property
    def clean(self) -> bool:
        """Tell whether it was written by a stop in order."""
        return self.writer is Writer.STOPPED


def encode_safe_point(point: SafePoint) -> bytes:
    """Return the text of the file."""
    index = point.index
    parts = {
        "version": _VERSION,
        "state": point.writer.value,
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
    # Topic by topic, so that a thread that does this lets others run in between.
    rows = point.queues
    topics = [f'{json.dumps(name)}: "{rows.text_of(name)}"' for name in rows.topics()]
    text = f'{json.dumps(parts)[:-1]}, "queues": {{{", ".join(topics)}}}'.encode()
    return text + _CRC + b"%d}" % zlib.crc32(text)


def write_safe_point(disk: Disk, store: StorePaths, point: SafePoint) -> None:
    """Replace the file so that it is the old or the new one, whatever happens.

    Raises:
        OSError: the disk did not take it.
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
    """Replace the file by one that promises nothing, also on a disk without space.

    Raises:
        OSError: the disk did not take it.
    """
    try:
        write_safe_point(disk, store, point)
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            raise
        # There is room for it in the old file; half of it counts as none.
        file = disk.open(store.root / FILE_NAME)
        try:
            data = encode_safe_point(point)
            file.pwrite(data.ljust(file.size()), 0)
            file.fdatasync()
        finally:
            file.close()


def read_safe_point(disk: Disk, store: StorePaths) -> SafePoint | None:
    """Return what the file says, None where there is none that can be used."""
    data = (read_file(disk, store.root / FILE_NAME) or b"").rstrip()
    text, mark, crc = data.rpartition(_CRC)
    if not mark or crc != b"%d}" % zlib.crc32(text):
        return None
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _decode(value: object) -> SafePoint | None:
    if not isinstance(value, dict):
        return None
    has_counts = value.get("version") == _VERSION
    if not has_counts and value.get("version") != _VERSION_WITHOUT_COUNTS:
        return None
    index = value["index"]
    rows = QueueRows()
    for topic, text in value["queues"].items() if has_counts else ():
        rows.put_text(topic, text)
    return SafePoint(
        safe_log_offset=int(value["safeLogOffset"]),
        log_file_size=int(value["logFileSize"]),
        queue_file_size=int(value["queueFileSize"]),
        writer=Writer(value["state"]),
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
    """All log, queue and index files of a directory, looked at once.

    Raises:
        OSError: the disk cannot be looked at.
    """

    def __init__(self, disk: Disk, store: StorePaths) -> None:
        self.logs = disk.scan(store.commitlog)
        self.queues = QueueRows()
        """By topic and queue id: start of the first and of the last file, bytes of all."""
        self.queue_file_sizes: Counter[int] = Counter()
        """How many queue files have each size, of those that begin at a multiple of it."""
        self._digest = hashlib.blake2b(digest_size=16)
        self._note("commitlog", self.logs)
        index = disk.scan(store.index)
        self._note("index", index)
        of_index = hashlib.blake2b(digest_size=16)
        for name, is_dir, size, modified_ns in index:
            if not is_dir:
                of_index.update(f"{name} {size} {modified_ns}\n".encode())
        self.index_digest = of_index.hexdigest()
        """Name, size and modification time of every index file, as one text."""
        self.strangers: list[Path] = []
        """Directories of a topic that are no queue."""
        for found in queue_directories(disk, store.consumequeue):
            if isinstance(found, Path):
                self.strangers.append(found)
            else:
                self._note(f"{found.topic}/{found.queue_id}", found.files)
                self._add_queue(found)

    def _note(self, folder: str, files: Sequence[DirEntry]) -> None:
        for name, is_dir, size, modified_ns in files:
            if not is_dir:
                self._digest.update(f"{folder}/{name} {size} {modified_ns}\n".encode())

    def _add_queue(self, found: QueueDirectory) -> None:
        low, high, total = -1, -1, 0
        for name, is_dir, size, _ in found.files:
            base = parse_log_file_name(name)
            if base is None or is_dir:
                continue
            low, high, total = base if low < 0 else low, base, total + size
            if size and size % ENTRY_SIZE == 0:
                self.queue_file_sizes[size] += base % size == 0
        self.queues.put(found.topic, found.queue_id, QueueRow(low, high, total))

    @property
    def digest(self) -> str:
        """Name, size and modification time of every file, as one text, and ``index_digest``."""
        return self._digest.hexdigest() + self.index_digest

    def is_index_changed(self, point: SafePoint | None, lock_ns: int) -> bool:
        """Tell whether somebody changed index files after our broker's stop in order."""
        is_ours = point is not None and point.clean and point.lock_ns == lock_ns
        return point is not None and is_ours and not point.files.endswith(self.index_digest)


def lock_time(disk: Disk, store: StorePaths) -> int:
    """Return when the file ``lock`` was written (ns), 0 where there is none."""
    found = disk.stat(store.lock)
    return 0 if found is None else found.modified_ns
