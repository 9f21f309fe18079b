"""Work that waits for the disk, packed so that any thread can do it.

    store (one thread)          any thread            store (one thread)
    begin_flush / housekeeping ──> job.run() ──> end_flush(job)

Rule: a job touches nothing but the files it was given and never raises for a disk
error: it keeps it, and ``MessageStore.end_flush`` turns it into the end of all writing. Only
a job that could not open a file, because the process has no descriptor left, may run again.
A value goes into the checkpoint only when the same job synced what it stands for.

Source: store/CommitLog.java (GroupCommitService), store/DefaultMessageStore.java
(FlushConsumeQueueService), store/StoreCheckpoint.java.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from server.store.disk.disk import OUT_OF_SPACE, Disk, DiskFile, FilePath
from server.store.queues.queue import NewNames
from server.store.queues.queue_ends import QueueEnds
from storefmt.formats.checkpoint import Checkpoint
from storefmt.paths import StorePaths

NOT_OPENED: Final = frozenset({errno.EMFILE, errno.ENFILE})
"""Errors that only the opening of a file gives: nothing was done yet, and nothing is lost."""
OVERLOADED: Final = OUT_OF_SPACE | NOT_OPENED | {errno.ENOMEM}
"""Errors of a write on a disk that is not broken: something ran out, and comes again."""
SYNC_ALL_FROM: Final = 256
"""Files from which on it is cheaper to sync the whole file system than one by one."""


class Syncable(Protocol):
    """A file that can be synced."""

    def fdatasync(self) -> None:
        """Return when what was written is on the disk."""


class SyncJob(Protocol):
    """One piece of such work."""

    error: OSError | None

    def run(self) -> None:
        """Do it; blocks for as long as the disk takes."""


class FlushJob:
    """Makes the commit log durable up to ``until``.

    Args:
        files: written since the last job, ``directories``: with new names in them.
        until: log offset that is durable afterwards.
        entry_count: records that may be dispatched afterwards (SYNC_FLUSH).
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
    """Makes queues and index durable, then says so in ``checkpoint`` and the safe point.

    Args:
        queues: whose files to sync, ``paths``: files of others.
        files: index files to sync.
        names, directories: with new names in them.
        checkpoint: what is true once all of these are synced.
        say: says the same in ``dispatch.json``.
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
        """There was no space to say so; the two files say what was true before."""
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
        """Sync, then write the two files."""
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
        # Each of them, whatever becomes of the other: what ``say`` takes note of is true now,
        # and the next job, which covers other queues, relies on it.
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
    """Sync files by name, then directories and those above them; very many all at once.

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
    """Sync one file by name; one that was deleted meanwhile needs none."""
    if disk.stat(path) is None:
        return
    file = disk.open(path)
    try:
        file.fdatasync()
    finally:
        file.close()


def write_checkpoint(disk: Disk, store: StorePaths, checkpoint: Checkpoint) -> None:
    """Write and sync the checkpoint file, 4096 bytes.

    Raises:
        OSError: the disk did not take it.
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
