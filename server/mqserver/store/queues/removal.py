"""Removal of queues: the table forgets them at once, and a thread deletes their files.

    loop    the table forgets them
    thread  directory <topic>/3 becomes <topic>/3.0.deleted and the new name is synced,
            dispatch.json records the removal, the files are unlinked

Rule: a new queue of the same name finds no old files: its entries stay in memory until the
directory is moved away. After a crash before the removal was recorded, the queues are rebuilt from
the log; after a later crash, the next start deletes the directories that are left. The Java broker
ignores names in a topic's directory that are not numbers.

Source: store/DefaultMessageStore.java#cleanUnusedTopic, #cleanExpiredConsumerQueue,
#loadConsumeQueue.
"""

import itertools
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk
from mqserver.store.disk.job import DiskJob

LOG = logging.getLogger(__name__)

SUFFIX: Final = ".deleted"


@dataclass(eq=False, kw_only=True)
class RemoveJob(DiskJob):
    """Moves the directories of queues away and deletes them; it may be run again after an error."""

    disk: Disk
    keys: Collection[tuple[str, int]]
    """Topic and queue id of each queue."""
    left: list[Path]
    """The directories that are not moved away yet."""
    lock: AbstractContextManager[object]
    """Held while they are moved, so that no write to one of their files runs."""
    directories: Sequence[Path]
    """The directories to sync because names in them changed."""
    log_end: int = 0
    """Log offset below which records of a deleted topic get no entries again. Records that were put
    before it may still be undone, so the thread that runs the job lowers it to the end of the log
    if that is lower by then."""
    record: Callable[[int], None]
    """Records in ``dispatch.json`` that the queues are removed; it gets ``log_end``."""

    def __post_init__(self) -> None:
        self._moved: list[Path] = []

    def work(self) -> None:
        """Move, sync, record and delete; files that cannot be unlinked are not an error."""
        with self.lock:
            while self.left:
                moved = move_away(self.disk, self.left[-1])
                self.left.pop()
                if moved is not None:
                    self._moved.append(moved)
        for directory in self.directories:
            if self.disk.is_dir(directory):
                self.disk.fsync_dir(directory)
        self.record(self.log_end)
        for moved in self._moved:
            try:
                remove_tree(self.disk, moved)
            except OSError as error:
                LOG.warning("%s not removed: %s; the next start tries again", moved, error)


def move_away(disk: Disk, directory: Path) -> Path | None:
    """Move the directory of a queue away; return its new path, or None if it does not exist.

    Raises:
        OSError: the disk refused.
    """
    if not disk.is_dir(directory):
        return None
    targets = (directory.with_name(f"{directory.name}.{n}{SUFFIX}") for n in itertools.count())
    target = next(path for path in targets if not disk.is_dir(path))
    disk.rename(directory, target)
    return target


def remove_tree(disk: Disk, directory: Path) -> None:
    """Remove a directory and everything in it.

    Raises:
        OSError: the disk refused; part of the directory may already be gone.
    """
    for entry in disk.scan(directory):
        if entry.is_dir:
            remove_tree(disk, directory / entry.name)
        else:
            disk.unlink(directory / entry.name)
    disk.rmdir(directory)
