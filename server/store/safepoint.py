"""The file ``dispatch.json``: up to where a restart need not look.

    {"version": 1, "clean": false, "safeLogOffset": 73400320, "logFileSize": 1073741824,
     "deletedTopics": {"old": 1048576}, "files": {"consumequeue/t/0/000…": [6000000, 17…]}}

Rule: below ``safe_log_offset`` log and queues were on the disk when this was written.
``files`` (size and modification time) is there after a stop in order: while all of them
still match, nothing was touched since and nothing is scanned. The Java broker knows
nothing of this file and leaves it alone; its traces show in the files' times.
A damaged or foreign file counts as absent, which costs a scan and loses nothing.
"""

import json
from dataclasses import dataclass, field
from typing import Final

from server.store.disk import Disk, read_file
from server.store.queue import queue_directories
from storefmt.paths import StorePaths

_NAME: Final = "dispatch.json"
_VERSION: Final = 1


@dataclass(slots=True, kw_only=True)
class SafePoint:
    """What one ``dispatch.json`` says; offsets are bytes of the commit log."""

    safe_log_offset: int = 0
    log_file_size: int = 0
    clean: bool = False
    deleted_topics: dict[str, int] = field(default_factory=dict)
    """End of the log when a topic was deleted: older records do not bring it back."""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Size and modification time (ns) of each file, by path below the root."""


def write_safe_point(disk: Disk, store: StorePaths, point: SafePoint) -> None:
    """Replace the file so that it is the old or the new one, whatever happens.

    Raises:
        OSError: the disk did not take it.
    """
    text = json.dumps(
        {
            "version": _VERSION,
            "clean": point.clean,
            "safeLogOffset": point.safe_log_offset,
            "logFileSize": point.log_file_size,
            "deletedTopics": point.deleted_topics,
            "files": point.files,
        }
    )
    path = store.root / _NAME
    spare = path.with_name(_NAME + ".tmp")
    file = disk.open(spare, create=True)
    try:
        data = text.encode()
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
    try:
        return _decode(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _decode(value: object) -> SafePoint | None:
    if not isinstance(value, dict) or value.get("version") != _VERSION:
        return None
    return SafePoint(
        safe_log_offset=int(value["safeLogOffset"]),
        log_file_size=int(value["logFileSize"]),
        clean=value["clean"] is True,
        deleted_topics={str(topic): int(end) for topic, end in value["deletedTopics"].items()},
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
