"""The bytes of manifests and checkpoints, which say what an archive has.

    manifest    what one commit changes: files that it adds, files that it retires, and the new
                positions of queues that moved
    checkpoint  the sum of all manifests up to its number, so that none of them has to be read

Rule: this module knows the bytes and no places. Both are JSON. Anybody may have written them, so
the paths in them must not lead out of the archive. Manifests of format 1 retire nothing, have the
positions of all queues, and their files have no times; they are read as well.
"""

import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from mqspark.errors import BadArchive
from mqspark.sources.live.options import queue_of, queue_text
from remoting.bodies import MessageQueue
from storefmt.config.foreign_json import read_json
from storefmt.offline.repair.placement import is_name

FORMAT: Final = 2
_FORMATS: Final = (1, FORMAT)
_LONG: Final = 1 << 63
DATA: Final = "data"
NO_DAY: Final = "unknown"
"""The directory of messages whose store time no calendar has."""
_HIVE_TOPIC, _HIVE_DAY, _HIVE_NULL = "topic=", "day=", "__HIVE_DEFAULT_PARTITION__"
_NAME: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z._-]*\.parquet")


class ArchiveFile(NamedTuple):
    """One Parquet file that counts.

    Attributes:
        path: the path below the archive.
        ranges: queue id, lowest queue offset, queue offset behind the highest one.
        size: bytes of the file.
        first_log_offset: the lowest log offset of its messages; None if it has none.
        first_ms: the lowest store time of its messages; None in files of format 1, or if no message
            has a time.
    """

    path: str
    topic: str
    broker: str
    ranges: tuple[tuple[int, int, int], ...]
    rows: int
    size: int
    first_log_offset: int | None
    last_log_offset: int | None
    first_ms: int | None = None
    last_ms: int | None = None

    @property
    def day(self) -> str | None:
        """The day (UTC) of all its messages, None if they may be of several."""
        folders = self.path.split("/")[1:-1]
        if len(folders) != 2:
            return None
        day = folders[1].removeprefix(_HIVE_DAY)
        return NO_DAY if day == _HIVE_NULL else day


class Commit(NamedTuple):
    """What one commit changes.

    Attributes:
        positions: the new positions of the queues that moved.
        retired: the paths of files that no longer count.
        store_times: the store time (ms since 1970) of the message before a new position.
    """

    number: int
    written_ms: int
    files: tuple[ArchiveFile, ...]
    positions: Mapping[MessageQueue, int]
    retired: tuple[str, ...]
    store_times: Mapping[MessageQueue, int]


@dataclass(slots=True)
class ArchiveState:
    """What an archive has after its last commit.

    Attributes:
        number: the number of commits.
        files: the files that count by path, oldest first.
        positions: the queue offsets at which reading goes on, None before the first commit.
        retired: the files that were retired of late, and when.
        store_times: the store time (ms since 1970) of the message before a position, where known.
    """

    number: int = 0
    files: dict[str, ArchiveFile] = field(default_factory=dict)
    positions: dict[MessageQueue, int] | None = None
    retired: dict[str, int] = field(default_factory=dict)
    store_times: dict[MessageQueue, int] = field(default_factory=dict)

    def apply(self, change: Commit) -> None:
        """Make the changes of the next commit."""
        self.number = change.number
        for path in change.retired:
            self.files.pop(path, None)
            self.retired[path] = change.written_ms
        self.files.update((file.path, file) for file in change.files)
        self.positions = {**(self.positions or {}), **change.positions}
        for queue in change.positions:
            self.store_times.pop(queue, None)
        self.store_times.update(change.store_times)


def manifest_bytes(change: Commit) -> bytes:
    """Return the manifest of a commit."""
    value = {
        "format": FORMAT,
        "number": change.number,
        "written_ms": change.written_ms,
        "writer": f"{os.uname().nodename}:{os.getpid()}",
        "positions": positions_json(change.positions),
        "store_times": positions_json(change.store_times),
        "files": [file._asdict() for file in change.files],
        "retired": change.retired,
    }
    return json.dumps(value, indent=1).encode()


def checkpoint_bytes(state: ArchiveState) -> bytes:
    """Return the checkpoint of a state."""
    value = {
        "format": FORMAT,
        "number": state.number,
        "written_ms": time.time_ns() // 1_000_000,
        "positions": positions_json(state.positions or {}),
        "store_times": positions_json(state.store_times),
        "files": [file._asdict() for file in state.files.values()],
        "retired": state.retired,
    }
    return json.dumps(value).encode()


def read_manifest(data: bytes, where: str) -> Commit:
    """Return the commit that a manifest describes.

    Raises:
        BadArchive: it is not a manifest, or one of a later version.
    """
    try:
        value = _checked(data, where)
        return Commit(
            _long(value["number"]),
            _long(value["written_ms"]),
            tuple(file_of(fields) for fields in value["files"]),
            positions_of(value["positions"]),
            tuple(map(_text, value.get("retired", ()))),
            positions_of(value.get("store_times", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadArchive(f"{where} is no manifest: {error!r}") from error


def read_checkpoint(data: bytes, where: str) -> ArchiveState:
    """Return the state that a checkpoint describes.

    Raises:
        BadArchive: it is not a checkpoint, or one of a later version.
    """
    try:
        value = _checked(data, where)
        files = [file_of(fields) for fields in value["files"]]
        return ArchiveState(
            _long(value["number"]),
            {file.path: file for file in files},
            positions_of(value["positions"]),
            {path: _long(at_ms) for path, at_ms in value["retired"].items()},
            positions_of(value.get("store_times", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadArchive(f"{where} is no checkpoint: {error!r}") from error


def positions_json(positions: Mapping[MessageQueue, int]) -> dict[str, int]:
    """Return positions, or the times beside them, as a JSON object, sorted."""
    return {queue_text(queue): offset for queue, offset in sorted(positions.items())}


def positions_of(value: Mapping[str, Any]) -> dict[MessageQueue, int]:
    """Return the positions of a JSON object.

    Raises:
        ValueError: it has no positions.
    """
    return {queue_of(text): _long(offset) for text, offset in value.items()}


def file_of(value: Mapping[str, Any]) -> ArchiveFile:
    """Return the file of a JSON object.

    Raises:
        ValueError: its path leads out of the archive, or its topic can be none.
        TypeError: it has other fields, or one of another type.
    """
    ranges = tuple(
        (_long(queue_id), _long(start), _long(end)) for queue_id, start, end in value["ranges"]
    )
    file = ArchiveFile(**{**value, "ranges": ranges})
    for text in (file.path, file.topic, file.broker):
        _text(text)
    for number in (file.rows, file.size):
        _long(number)
    for place in (file.first_log_offset, file.last_log_offset, file.first_ms, file.last_ms):
        if place is not None:
            _long(place)
    root, *folders = file.path.split("/")[:-1] or [""]
    name = file.path.rpartition("/")[2]
    plain = [
        folder.removeprefix(prefix)
        for folder, prefix in zip(folders, (_HIVE_TOPIC, _HIVE_DAY), strict=False)
    ]
    # Files of format 1 are in no folder of a day.
    inside = root == DATA and len(folders) in (1, 2) and all(map(is_name, plain))
    if not (inside and _NAME.fullmatch(name)):
        raise ValueError(
            f"{file.path!r} is no file of an archive, as {DATA}/<topic>/<day>/<id>.parquet"
        )
    if not is_name(file.topic):
        raise ValueError(f"{file.topic!r} is no topic")
    return file


def data_name(topic: str, day: str, unique: str, *, hive_folders: bool = False) -> str:
    """Return the name of a new data file, below the archive.

    Args:
        topic: the topic.
        day: as 2026-11-28, or ``NO_DAY``.
        unique: what no other file is called.
        hive_folders: whether the folders are named as Hive names partitions.

    Raises:
        BadArchive: the topic cannot be the name of a directory.
    """
    if not is_name(topic):
        raise BadArchive(f"topic {topic!r} can be no directory of an archive; leave it out")
    if hive_folders:
        value = _HIVE_NULL if day == NO_DAY else day
        return f"{DATA}/{_HIVE_TOPIC}{quote(topic, safe='')}/{_HIVE_DAY}{value}/{unique}.parquet"
    # Table formats write paths as URIs, in which % and | would have to be escaped.
    folder = re.sub(r"[^0-9A-Za-z._-]", "_", topic)
    return f"{DATA}/{folder}/{day}/{unique}.parquet"


def _long(value: object) -> int:
    """Return a number of a manifest; those of messages are longs."""
    if type(value) is not int:
        raise TypeError(f"{value!r} is not a whole number")
    if not -_LONG <= value < _LONG:
        raise ValueError(f"{value} is beyond 64 bits")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _checked(data: bytes, where: str) -> dict[str, Any]:
    value: dict[str, Any] = read_json(data)
    if value["format"] not in _FORMATS:
        raise BadArchive(f"{where} has format {value['format']}, this reads formats up to {FORMAT}")
    return value
