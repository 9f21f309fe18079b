"""An archive: Parquet files of topics, and manifests that say which of them count.

    DIR/manifest/00000000000000000007.json   commit 7: its files, and where reading goes on
        data/<topic>/<uuid>.parquet          one task's messages of one topic and broker
        lock                                 held while a process writes (on this machine only)

Rule: each message is archived exactly once. A commit is one manifest, which names the files and the
positions (queue offsets) behind them, and appears whole or not at all. Positions are read from the
last manifest only. A file that no manifest names is left from an attempt that died: it is never
read, and the next writer removes it. So a message is in the archive if, and only if, the positions
of the last manifest lie behind it.

The manifests follow Iceberg's snapshots and Spark's ``_spark_metadata``, with one difference: the
positions are in the same file, so there is no second log that could disagree.
"""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.errors import BadArchive
from pipeline.places import Place
from pipeline.sources.live.options import queue_of, queue_text
from pipeline.sources.live.table import LIVE_SCHEMA
from remoting.bodies import MessageQueue
from storefmt.offline.repair.placement import is_name

FORMAT: Final = 1
ARCHIVE_COLUMNS: Final = tuple(name for name in LIVE_SCHEMA.names if name != "crc_ok")
_MANIFESTS, _DATA, _LOCK = "manifest", "data", "lock"
_NAME: Final = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z._-]*\.parquet")
_DIGITS: Final = 20


class ArchiveFile(NamedTuple):
    """One Parquet file that counts.

    Attributes:
        path: the path below the archive.
        ranges: queue id, first queue offset, queue offset behind the last one.
        size: bytes of the file.
        first_log_offset: the lowest log offset of its messages; None if it has none.
    """

    path: str
    topic: str
    broker: str
    ranges: tuple[tuple[int, int, int], ...]
    rows: int
    size: int
    first_log_offset: int | None
    last_log_offset: int | None


class Commit(NamedTuple):
    """One manifest."""

    number: int
    files: tuple[ArchiveFile, ...]
    positions: dict[MessageQueue, int]


class Archive:
    """One archive, as its manifests describe it.

    Args:
        place: where it is; the first commit makes the directory.

    Attributes:
        positions: the queue offsets at which reading goes on, None before the first commit.

    Raises:
        BadArchive: a manifest cannot be read, or is missing.
        OSError: the place cannot be read.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.positions: dict[MessageQueue, int] | None = None
        self._files: list[ArchiveFile] = []
        self._number = 0
        for name in place.names(_MANIFESTS, suffix=".json"):
            commit = _read_commit(place, name)
            if commit.number != self._number + 1:
                raise BadArchive(
                    f"{place.uri}: manifest {self._number + 1} is missing, {name} follows; "
                    "restore it from a copy"
                )
            self._took(commit)

    def files(self, *, topics: Sequence[str] | None = None) -> list[ArchiveFile]:
        """Return the files that count, oldest first; of ``topics`` only, unless that is None."""
        return [file for file in self._files if topics is None or file.topic in topics]

    @property
    def commit_count(self) -> int:
        """The number of commits."""
        return self._number

    def commit(self, files: Sequence[ArchiveFile], positions: Mapping[MessageQueue, int]) -> Commit:
        """Commit files together with the positions behind them.

        Raises:
            BadArchive: another process committed since this archive was opened.
            OSError: the manifest cannot be written.
        """
        commit = Commit(self._number + 1, tuple(files), dict(positions))
        name = f"{_MANIFESTS}/{commit.number:0{_DIGITS}}.json"
        try:
            self.place.create(name, _manifest(commit))
        except FileExistsError as error:
            raise BadArchive(
                f"{self.place.uri}: {name} is there already, another process archives to it"
            ) from error
        self._took(commit)
        return commit

    def _took(self, commit: Commit) -> None:
        self._number = commit.number
        self._files += commit.files
        self.positions = commit.positions


@contextmanager
def writer(uri: str) -> Iterator[Archive]:
    """Yield an archive to which only this process writes, and remove files of dead attempts.

    On object storage these files stay, since no lock tells there whether an attempt is dead.

    Raises:
        BadArchive: another process of this machine writes to it, or as ``Archive``.
        OSError: the place cannot be read or written.
    """
    place = Place(uri)
    directory = place.directory
    if directory is None:
        yield Archive(place)
        return
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / _LOCK).open("a") as lock:
        try:
            # The kernel releases the lock however this process ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadArchive(f"{directory}: another process archives to it") from error
        archive = Archive(place)
        _sweep(directory, {file.path for file in archive.files()})
        yield archive


def _sweep(directory: Path, known: Set[str]) -> None:
    for path in sorted((directory / _DATA).glob("*/*.parquet")):
        # Files behind a link belong to somebody else.
        if path.relative_to(directory).as_posix() not in known and not path.parent.is_symlink():
            path.unlink()
    for path in (directory / _MANIFESTS).glob(".*"):
        path.unlink()


def opened(uri: str) -> Archive:
    """Return an archive that has at least one commit.

    Raises:
        BadArchive: there is none.
    """
    archive = Archive(Place(uri))
    if not archive.commit_count:
        raise BadArchive(f"{uri} is no archive: it has no {_MANIFESTS}/…json")
    return archive


def data_name(topic: str, unique: str) -> str:
    """Return the name of a new data file, below the archive.

    Raises:
        BadArchive: the topic cannot be the name of a directory.
    """
    if not is_name(topic):
        raise BadArchive(f"topic {topic!r} can be no directory of an archive; leave it out")
    return f"{_DATA}/{topic}/{unique}.parquet"


def _manifest(commit: Commit) -> bytes:
    value = {
        "format": FORMAT,
        "number": commit.number,
        "written_ms": time.time_ns() // 1_000_000,
        "writer": f"{os.uname().nodename}:{os.getpid()}",
        "positions": {queue_text(queue): at for queue, at in sorted(commit.positions.items())},
        "files": [file._asdict() for file in commit.files],
    }
    return json.dumps(value, indent=1).encode()


def _read_commit(place: Place, name: str) -> Commit:
    where = f"{place.uri}/{_MANIFESTS}/{name}"
    try:
        value = json.loads(place.read(f"{_MANIFESTS}/{name}"))
        if value["format"] != FORMAT:
            raise BadArchive(f"{where} has format {value['format']}, this reads format {FORMAT}")
        positions = {queue_of(text): int(at) for text, at in value["positions"].items()}
        return Commit(value["number"], tuple(map(_file, value["files"])), positions)
    except (ValueError, KeyError, TypeError) as error:
        raise BadArchive(f"{where} is no manifest: {error!r}") from error


def _file(value: dict[str, Any]) -> ArchiveFile:
    ranges = tuple((int(queue), int(start), int(end)) for queue, start, end in value["ranges"])
    file = ArchiveFile(**{**value, "ranges": ranges})
    # Anybody may have written this manifest: its paths must not lead out of the archive.
    folder, _, name = file.path.removeprefix(f"{_DATA}/").partition("/")
    if not (file.path == f"{_DATA}/{folder}/{name}" and is_name(folder) and _NAME.fullmatch(name)):
        raise ValueError(f"{file.path!r} is no file of an archive, as {_DATA}/<topic>/<id>.parquet")
    if not is_name(file.topic):
        raise ValueError(f"{file.topic!r} is no topic")
    return file
