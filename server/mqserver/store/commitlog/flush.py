"""The jobs that make the commit log, the queues and the index durable.

Rule: after an error ``MessageStore.end_flush`` stops all writing. Only a job that could not open
a file, because the process has no descriptor left, may run again. A value is written to the
checkpoint only when the same job has synced what it refers to.

Source: store/CommitLog.java (GroupCommitService), store/DefaultMessageStore.java
(FlushConsumeQueueService), store/StoreCheckpoint.java.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from mqserver.store.commitlog.log_write import Segment
from mqserver.store.commitlog.write_groups import Group
from mqserver.store.disk.disk import Disk, DiskFile, FilePath, RealFile
from mqserver.store.disk.job import DiskJob
from mqserver.store.queues.queue import NewNames
from mqserver.store.queues.queue_ends import QueueEnds
from mqserver.store.store_errors import OVERLOADED
from storefmt.formats.checkpoint import Checkpoint
from storefmt.paths import StorePaths

SYNC_ALL_FROM: Final = 256
"""Number of files from which it is cheaper to sync the whole file system than each file."""


@dataclass(eq=False, kw_only=True)
class FlushJob(DiskJob):
    """Makes the commit log durable up to ``until``."""

    disk: Disk
    files: Sequence[DiskFile]
    """Files written since the last job."""
    directories: Sequence[Path]
    """Directories with new names."""
    until: int
    """Log offset that is durable afterwards."""
    groups: Sequence[Group]
    """The groups that may be dispatched afterwards (SYNC_FLUSH)."""
    store_ms: int
    """Store time of the last of these records."""

    @property
    def segment(self) -> Segment | None:
        """The open file whose sync is all there is to do; None if ``do_work`` has to be called."""
        if len(self.files) != 1 or self.directories:
            return None
        (file,) = self.files
        return Segment(file.fileno()) if isinstance(file, RealFile) else None

    def work(self) -> None:
        """Sync the files, then the directories."""
        for file in self.files:
            file.fdatasync()
        for directory in self.directories:
            self.disk.fsync_dir(directory)


@dataclass(eq=False, kw_only=True)
class QueueSyncJob(DiskJob):
    """Makes queues and index durable, then records it in ``checkpoint`` and the safe point."""

    disk: Disk
    store: StorePaths
    queues: QueueEnds
    """Queues whose files to sync."""
    paths: Sequence[FilePath]
    """Further files to sync by name, of the index and of consume queue ext."""
    names: NewNames
    """Queue directories with new names."""
    directories: Sequence[Path]
    """Further directories with new names."""
    checkpoint: Checkpoint
    """The checkpoint that is valid once all of these are synced."""
    record: Callable[[], None]
    """Records the same in ``dispatch.json``."""

    def work(self) -> None:
        """Sync everything, then write the checkpoint and the safe point.

        If there is no space for one of the two, it keeps its previous content.
        """
        sync_queue_files(
            self.disk, self.store,
            queues=self.queues, paths=self.paths, names=self.names, directories=self.directories,
        )  # fmt: skip
        # Write both, even if one fails: what ``record`` writes is true now, and the next job
        # covers other queues and relies on it.
        for write in (self._write_checkpoint, self.record):
            try:
                write()
            except OSError as error:
                if error.errno not in OVERLOADED:
                    self.error = error

    def _write_checkpoint(self) -> None:
        write_checkpoint(self.disk, self.store, self.checkpoint)


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
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return
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
