"""Work that waits for the disk, as jobs that any thread can run.

    store (one thread)          any thread            store (one thread)
    begin_flush / housekeeping ──> job.run() ──> end_flush(job)

Rule: a job uses only the files it was given and never raises a disk error. It keeps the
error, and ``MessageStore.end_flush`` then stops all writing. Only a job that could not open a
file, because the process has no descriptor left, may run again. A value is written to the
checkpoint only when the same job has synced what it refers to.

Source: store/CommitLog.java (GroupCommitService), store/DefaultMessageStore.java
(FlushConsumeQueueService), store/StoreCheckpoint.java.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from server.store.disk.disk import OUT_OF_SPACE, Disk, DiskFile, FilePath, RealFile
from server.store.queues.queue import NewNames
from server.store.queues.queue_ends import QueueEnds
from storefmt.formats.checkpoint import Checkpoint
from storefmt.paths import StorePaths

NOT_OPENED: Final = frozenset({errno.EMFILE, errno.ENFILE})
"""Errors that only opening a file raises: nothing was done yet, and nothing is lost."""
OVERLOADED: Final = OUT_OF_SPACE | NOT_OPENED | {errno.ENOMEM}
"""Errors of a write on an intact disk: a resource ran out and may become available again."""
SYNC_ALL_FROM: Final = 256
"""Number of files from which it is cheaper to sync the whole file system than each file."""


class Syncable(Protocol):
    """A file that can be synced."""

    def fdatasync(self) -> None:
        """Write the file's data to the disk, and return when it is there."""


class SyncJob(Protocol):
    """One piece of work that waits for the disk."""

    error: OSError | None

    def run(self) -> None:
        """Do the work; blocks for as long as the disk takes."""


class FlushJob:
    """Makes the commit log durable up to ``until``.

    Args:
        disk: the disk that holds the files.
        files: files written since the last job.
        directories: directories with new names.
        until: log offset that is durable afterwards.
        entry_count: number of records that may be dispatched afterwards (SYNC_FLUSH).
        store_ms: store time of the last of these records.
    """

    def __init__(
        self,
        disk: Disk,
        *,
        files: Sequence[DiskFile],
        directories: Sequence[Path],
        until: int,
        entry_count: int,
        store_ms: int,
    ) -> None:
        self.error: OSError | None = None
        self.until = until
        self.entry_count = entry_count
        self.store_ms = store_ms
        self._disk = disk
        self._files = files
        self._directories = directories

    @property
    def descriptor(self) -> int | None:
        """The open file whose sync is all there is to do; None if ``run`` has to be called."""
        if len(self._files) != 1 or self._directories:
            return None
        (file,) = self._files
        return file.fileno() if isinstance(file, RealFile) else None

    def run(self) -> None:
        """Sync the files, then the directories."""
        try:
            for file in self._files:
                file.fdatasync()
            for directory in self._directories:
                self._disk.fsync_dir(directory)
        except OSError as error:
            self.error = error


class QueueSyncJob:
    """Makes queues and index durable, then records it in ``checkpoint`` and the safe point.

    Args:
        disk: the disk that holds the store.
        store: the store's paths.
        queues: queues whose files to sync.
        paths: further files to sync by name, of consume queue ext.
        files: index files to sync.
        names: queue directories with new names.
        directories: further directories with new names.
        checkpoint: the checkpoint that is valid once all of these are synced.
        say: records the same in ``dispatch.json``.
    """

    def __init__(
        self,
        disk: Disk,
        store: StorePaths,
        *,
        queues: QueueEnds,
        paths: Sequence[FilePath],
        files: Sequence[Syncable],
        names: NewNames,
        directories: Sequence[Path],
        checkpoint: Checkpoint,
        say: Callable[[], None],
    ) -> None:
        self.error: OSError | None = None
        self.full: OSError | None = None
        """Why there was no space to record it; the two files keep their previous content."""
        self._disk = disk
        self._store = store
        self._queues = queues
        self._more_paths = paths
        self._files = files
        self._names = names
        self._directories = directories
        self._checkpoint = checkpoint
        self._say = say

    def run(self) -> None:
        """Sync everything, then write the checkpoint and the safe point."""
        try:
            for file in self._files:
                file.fdatasync()
            sync_queue_files(
                self._disk, self._store,
                queues=self._queues, paths=self._more_paths,
                names=self._names, directories=self._directories,
            )  # fmt: skip
        except OSError as error:
            self.error = error
            return
        # Write both, even if one fails: what ``say`` records is true now, and the next job
        # covers other queues and relies on it.
        self._write_down(lambda: write_checkpoint(self._disk, self._store, self._checkpoint))
        self._write_down(self._say)

    def _write_down(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            if error.errno in OVERLOADED:
                self.full = error
            else:
                self.error = error


def sync_queue_files(
    disk: Disk,
    store: StorePaths,
    *,
    queues: QueueEnds,
    paths: Sequence[FilePath] = (),
    names: NewNames,
    directories: Sequence[Path] = (),
) -> None:
    """Sync files by name, then their directories; very many files are synced all at once.

    Args:
        disk: the disk that holds the store.
        store: the store's paths.
        queues: queues whose files to sync.
        paths: further files to sync.
        names: queue directories with new names.
        directories: further directories with new names.

    Raises:
        OSError: the disk refused.
    """
    roots = store.consumequeue, store.index, store.root
    count = queues.file_count + len(paths) + len(names) + len(directories) + len(roots)
    if count > SYNC_ALL_FROM and disk.sync_all(store.root):
        return
    for path in chain(queues.paths(), paths):
        sync_path(disk, path)
    made: Iterator[FilePath] = chain(names, directories, roots)
    for directory in made:
        if disk.is_dir(directory):
            disk.fsync_dir(directory)


def sync_path(disk: Disk, path: FilePath) -> None:
    """Sync one file by name, unless it was deleted meanwhile."""
    if disk.stat(path) is None:
        return
    file = disk.open(path)
    try:
        file.fdatasync()
    finally:
        file.close()


def write_checkpoint(disk: Disk, store: StorePaths, checkpoint: Checkpoint) -> None:
    """Write and sync the checkpoint file (4096 bytes).

    Raises:
        OSError: the disk refused a write or sync.
    """
    created = disk.stat(store.checkpoint) is None
    file = disk.open(store.checkpoint, create=True)
    try:
        data = checkpoint.encode()
        file.pwrite(data, 0)
        if file.size() > len(data):
            file.truncate(len(data))
        file.fdatasync()
    finally:
        file.close()
    if created:
        disk.fsync_dir(store.root)
