"""The file ``dispatch.json``: up to where a restart need not look.

    {"version": 2, "state": "running", "safeLogOffset": 73400320, "logFileSize": 1073741824,
     "queueFileSize": 6000000, "lockNs": 17…, "deletedTopics": {"old": 1048576},
     "queues": {"t": {"0": [0, 5117, -1]}},
     "index": {"names": ["20260101…"], "header": [begin ms, …, 4711]},
     "clockMs": 17…, "sealed": {"0": 17…}, "files": {"consumequeue/t/0/000…": [6000000, 17…]},
     "crc": 3735928559}

Rule: below ``safe_log_offset`` log, queues and index were on the disk when this was
written; ``queues`` tells how many entries each of them then had. ``files`` (size and
modification time) is there after a stop in order: while all of them still match, nothing
was touched since and nothing is scanned. The Java broker knows nothing of this file and
leaves it alone; its traces show in the time of ``lock``, which it writes at each start.
A damaged or foreign file counts as absent, which costs a scan and loses nothing.
"""

import json
import zlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from server.store.disk import Disk, read_file
from server.store.queue import queue_directories
from storefmt.paths import StorePaths

_NAME: Final = "dispatch.json"
_VERSION: Final = 2
_CRC: Final = b', "crc": '

WHOLE: Final = -1
"""A queue is as far as the log."""
QueueEnds = dict[str, dict[int, tuple[int, int, int]]]
"""By topic and queue id: first entry that has a file, the entry after the last, and the log
offset up to which it has every record (``WHOLE`` but while it is built again)."""


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
    """0 in a file of an older version."""
    writer: Writer = Writer.RUNNING
    lock_ns: int = 0
    """When ``lock`` was written: another time says that another broker came in between."""
    deleted_topics: dict[str, int] = field(default_factory=dict)
    """End of the log when a topic was deleted: older records do not bring it back."""
    queues: QueueEnds = field(default_factory=dict)
    index: IndexMark | None = None
    """None where there was no index."""
    clock_ms: int = 0
    """What the clock of retention showed; see ``retention``."""
    sealed_ms: dict[int, int] = field(default_factory=dict)
    """What it showed when each log file was full, by the file's start."""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Size and modification time (ns) of each file, by path below the root."""

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
    }
    # Topic by topic, so that a thread that does this lets others run in between.
    topics = [f"{json.dumps(name)}: {json.dumps(ids)}" for name, ids in point.queues.items()]
    text = f'{json.dumps(parts)[:-1]}, "queues": {{{", ".join(topics)}}}'.encode()
    return text + _CRC + b"%d}" % zlib.crc32(text)


def write_safe_point(disk: Disk, store: StorePaths, point: SafePoint) -> None:
    """Replace the file so that it is the old or the new one, whatever happens.

    Raises:
        OSError: the disk did not take it.
    """
    path = store.root / _NAME
    spare = path.with_name(_NAME + ".tmp")
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


def read_safe_point(disk: Disk, store: StorePaths) -> SafePoint | None:
    """Return what the file says, None where there is none that can be used."""
    data = read_file(disk, store.root / _NAME)
    if data is None:
        return None
    text, mark, crc = data.rpartition(_CRC)
    if not mark or crc != b"%d}" % zlib.crc32(text):
        return None
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _decode(value: object) -> SafePoint | None:
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        return None
    index = value["index"]
    return SafePoint(
        safe_log_offset=int(value["safeLogOffset"]),
        log_file_size=int(value["logFileSize"]),
        queue_file_size=int(value.get("queueFileSize", 0)),
        writer=Writer(value["state"]),
        lock_ns=int(value["lockNs"]),
        deleted_topics={str(topic): int(end) for topic, end in value["deletedTopics"].items()},
        queues={
            str(topic): {
                int(number): (int(first), int(end), int(until))
                for number, (first, end, until) in ids.items()
            }
            for topic, ids in value["queues"].items()
        },
        index=None
        if index is None
        else IndexMark(
            names=[str(name) for name in index["names"]],
            header=tuple(int(number) for number in index["header"]),
        ),
        clock_ms=int(value["clockMs"]),
        sealed_ms={int(base): int(ms) for base, ms in value["sealed"].items()},
        files={
            str(name): (int(size), int(modified_ns))
            for name, (size, modified_ns) in value["files"].items()
        },
    )


def fingerprints(disk: Disk, store: StorePaths) -> dict[str, tuple[int, int]]:
    """Return size and modification time of every log, queue and index file."""
    found: dict[str, tuple[int, int]] = {}
    folders = [store.commitlog, store.index]
    folders += [directory for _, _, directory in queue_directories(disk, store.consumequeue)]
    for folder in folders:
        for name in disk.list(folder):
            stat = disk.stat(folder / name)
            if stat is not None and not disk.is_dir(folder / name):
                found[str((folder / name).relative_to(store.root))] = stat.size, stat.modified_ns
    return found


def lock_time(disk: Disk, store: StorePaths) -> int:
    """Return when the file ``lock`` was written (ns), 0 where there is none."""
    found = disk.stat(store.lock)
    return 0 if found is None else found.modified_ns
