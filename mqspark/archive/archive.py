"""An archive: Parquet files of topics, and manifests that say which of them count.

    DIR/manifest/00000000000000000107.json      commit 107: its files, and where reading goes on
        checkpoint/00000000000000000100.json    the sum of the commits up to 100
        data/<topic>/<day>/<uuid>.parquet       one task's messages of a topic, broker and day (UTC)
        lock                                    held while a process writes (on this machine only)

Rule: each message is archived exactly once. A commit is one manifest, which names the files and
the positions (queue offsets) behind them, and appears whole or not at all. A file that no manifest
names is left from an attempt that died: it is never read, and the next writer removes it. So a
message is in the archive if, and only if, the positions lie behind it.

To open an archive is to read its newest checkpoint and the manifests after it, a hundred at most.
The two newest checkpoints stay, so that a slow reader finds the manifests that it has listed; the
manifests before them go. A file that compaction or expiry has retired stays until ``clean``, for
readers that began earlier.

The manifests follow Iceberg's snapshots and Spark's ``_spark_metadata``, with one difference: the
positions are in the same file, so there is no second log that could disagree.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from mqspark.archive.manifests import (
    DATA,
    ArchiveFile,
    ArchiveState,
    Commit,
    checkpoint_bytes,
    manifest_bytes,
    read_checkpoint,
    read_manifest,
)
from mqspark.errors import BadArchive
from mqspark.places import ListedFile, StorageDir
from mqspark.schemas import LIVE
from remoting.bodies import MessageQueue

PARQUET, DELTA, ICEBERG = "parquet", "delta", "iceberg"
ARCHIVE_COLUMNS: Final = tuple(name for name in LIVE.names if name != "crc_ok")
CHECKPOINT_EVERY: Final = 100
"""The commits between two checkpoints."""
_HOLDER_SIZE_MAX: Final = 100
"""The characters of a lock file that an error shows."""
_MANIFESTS, _CHECKPOINTS, _LOCK = "manifest", "checkpoint", "lock"
_DIGITS: Final = 20
_NUMBERED: Final = re.compile(r"[0-9]{20}\.json")
_RETIRED_KEPT_MS: Final = 30 * 24 * 3_600_000
"""How long a checkpoint says when a file was retired; later its own age is all that counts."""


class Archive:
    """One archive, as its manifests describe it.

    Args:
        place: where it is; the first commit makes the directory.

    Raises:
        BadArchive: a manifest cannot be read, or is missing.
        OSError: the place cannot be read.
    """

    def __init__(self, place: StorageDir) -> None:
        self.place = place
        self._state, self._checkpoints = _load(place)

    @property
    def hive_folders(self) -> bool:
        """Return false: readers find the values of partitions elsewhere."""
        return False

    @property
    def positions(self) -> dict[MessageQueue, int] | None:
        """The queue offsets at which reading goes on, None before the first commit."""
        return self._state.positions

    @property
    def store_times(self) -> dict[MessageQueue, int]:
        """The store time (ms since 1970) of the message before each position, where known."""
        return self._state.store_times

    @property
    def commit_count(self) -> int:
        """The number of commits."""
        return self._state.number

    def files(self, *, topics: Sequence[str] | None = None) -> list[ArchiveFile]:
        """Return the files that count, oldest first; of ``topics`` only, unless that is None."""
        return [
            file for file in self._state.files.values() if topics is None or file.topic in topics
        ]

    def paths(self) -> list[str]:
        """Return the addresses of the files that count, for a reader of Parquet files."""
        return [f"{self.place.absolute()}/{file.path}" for file in self.files()]

    def commit(
        self,
        files: Sequence[ArchiveFile],
        positions: Mapping[MessageQueue, int],
        *,
        store_times: Mapping[MessageQueue, int] | None = None,
        retired: Sequence[ArchiveFile] = (),
    ) -> int:
        """Commit files together with the positions behind them; return the number of the commit.

        Args:
            files: the new files.
            positions: where reading goes on; queues that are not named stay where they are.
            store_times: the store time (ms since 1970) of the message before each position.
            retired: files that no longer count.

        Raises:
            BadArchive: another process committed since this archive was opened.
            OSError: the manifest cannot be written.
        """
        old_positions, times_known, times = (
            self._state.positions or {},
            self.store_times,
            store_times or {},
        )
        moved = {
            queue: offset
            for queue, offset in positions.items()
            if old_positions.get(queue) != offset or times.get(queue) != times_known.get(queue)
        }
        gone = tuple(file.path for file in retired)
        times = {queue: ms for queue, ms in times.items() if queue in moved}
        change = Commit(self._state.number + 1, _now_ms(), tuple(files), moved, gone, times)
        name = _name(_MANIFESTS, change.number)
        try:
            self.place.create(name, manifest_bytes(change))
        except FileExistsError as error:
            raise BadArchive(
                f"{self.place.uri}: {name} is there already, another process writes to it"
            ) from error
        self._state.apply(change)
        if change.number - max(self._checkpoints, default=0) >= CHECKPOINT_EVERY:
            self._checkpoint()
        return change.number

    def abandoned(self) -> list[tuple[ListedFile, int | None]]:
        """Return the data files that do not count, each with the time when it was retired, if so.

        Raises:
            OSError: the place cannot be read.
        """
        return [
            (file, self._state.retired.get(file.name))
            for file in self.place.tree(DATA, suffix=".parquet")
            if file.name not in self._state.files
        ]

    def mend(self, *, is_locked: bool) -> None:
        """Remove files of dead attempts, which only a lock tells from those of a living one.

        Raises:
            OSError: the place cannot be read or written.
        """
        if not is_locked:
            return
        for file, retired_ms in self.abandoned():
            if retired_ms is None:
                self.place.remove(file.name)
        for folder in (_MANIFESTS, _CHECKPOINTS):
            # What ``StorageDir.create`` leaves when it dies.
            for name in self.place.names(folder, suffix=""):
                if name.startswith("."):
                    self.place.remove(f"{folder}/{name}")

    def _checkpoint(self) -> None:
        kept_ms = _now_ms() - _RETIRED_KEPT_MS
        self._state.retired = {
            path: at_ms for path, at_ms in self._state.retired.items() if at_ms >= kept_ms
        }
        self.place.create(_name(_CHECKPOINTS, self._state.number), checkpoint_bytes(self._state))
        *old, kept = self._checkpoints or [0]
        self._checkpoints = [kept, self._state.number]
        for number in old:
            self.place.remove(_name(_CHECKPOINTS, number))
        # The oldest first, so that a run that dies here leaves no gap.
        for name in self.place.names(_MANIFESTS, suffix=".json"):
            if name <= f"{kept:0{_DIGITS}}.json":
                self.place.remove(f"{_MANIFESTS}/{name}")


def _load(place: StorageDir) -> tuple[ArchiveState, list[int]]:
    """Return the state of an archive, and the numbers of its checkpoints."""
    while True:
        checkpoints = _checkpoints(place)
        try:
            return _read(place, max(checkpoints, default=0)), checkpoints
        except (FileNotFoundError, _Missing) as error:
            # A writer that made two checkpoints meanwhile has removed what was listed.
            if _checkpoints(place) == checkpoints:
                raise BadArchive(f"{place.uri}: {error}; restore it from a copy") from error


class _Missing(Exception):
    """A manifest is not there."""


def _read(place: StorageDir, checkpoint: int) -> ArchiveState:
    state = ArchiveState()
    if checkpoint:
        name = _name(_CHECKPOINTS, checkpoint)
        state = read_checkpoint(place.read(name), f"{place.uri}/{name}")
    for name in place.names(_MANIFESTS, suffix=".json"):
        if name <= f"{checkpoint:0{_DIGITS}}.json":
            continue
        where = f"{_MANIFESTS}/{name}"
        change = read_manifest(place.read(where), f"{place.uri}/{where}")
        if change.number != state.number + 1:
            raise _Missing(f"manifest {state.number + 1} is missing, {name} follows")
        state.apply(change)
    return state


def _checkpoints(place: StorageDir) -> list[int]:
    names = place.names(_CHECKPOINTS, suffix=".json")
    return [int(name.removesuffix(".json")) for name in names if _NUMBERED.fullmatch(name)]


def _name(folder: str, number: int) -> str:
    return f"{folder}/{number:0{_DIGITS}}.json"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def locked(place: StorageDir) -> Iterator[bool]:
    """Keep other processes of this machine from writing to a place while the block runs.

    Yields:
        Whether there is a lock: there is none on object storage.

    Raises:
        BadArchive: another process of this machine writes to it.
        OSError: the place cannot be written.
    """
    directory = place.directory
    if directory is None:
        yield False
        return
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / _LOCK).open("a+", encoding="utf-8") as lock:
        try:
            # The kernel releases the lock however this process ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            holder = lock.read(_HOLDER_SIZE_MAX).strip() or "its number is not written yet"
            raise BadArchive(f"{directory}: another process writes to it ({holder})") from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()}\n")
        lock.flush()
        yield True


@contextmanager
def writer(place: StorageDir) -> Iterator[Archive]:
    """Yield an archive to which only this process writes, and remove files of dead attempts.

    On object storage these files stay, since no lock tells there whether an attempt is dead.

    Raises:
        BadArchive: another process of this machine writes to it, or as ``Archive``.
        OSError: the place cannot be read or written.
    """
    with locked(place) as is_locked:
        archive = Archive(place)
        archive.mend(is_locked=is_locked)
        yield archive


def format_of(place: StorageDir) -> str | None:
    """Return the format of the archive at a place (``mqspark.archive.tables``), None without one.

    Raises:
        OSError: the place cannot be read.
    """
    if place.names("_delta_log", suffix=".json"):
        return DELTA
    if place.names("metadata", suffix=".metadata.json"):
        return ICEBERG
    return PARQUET if place.names(_MANIFESTS, suffix=".json") else None


def opened(uri: str) -> Archive:
    """Return an archive that has at least one commit and manifests of our own.

    Raises:
        BadArchive: there is none.
    """
    archive = Archive(StorageDir(uri))
    if not archive.commit_count:
        file_format = format_of(archive.place)
        raise BadArchive(
            f"{uri} is no archive: it has no {_MANIFESTS}/…json"
            if file_format is None
            else f"{uri} is an archive of format {file_format}, which has tools of its own for "
            f"this; this job is for the format {PARQUET}"
        )
    return archive
