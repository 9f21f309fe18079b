"""Removal of queues: they are moved away at once, and deleted later in a thread.

    loop    the table forgets them, and directory <topic>/3 becomes <topic>/3.0.deleted
    thread  the new name is synced, dispatch.json records the removal, the files are unlinked

Rule: a new message for the same queue finds no old files. After a crash before the removal
was recorded, the queues are rebuilt from the log; after a later crash, the next start deletes
the directories that are left. The Java broker ignores names in a topic's directory that are
not numbers.

Source: store/DefaultMessageStore.java#cleanUnusedTopic, #cleanExpiredConsumerQueue,
#loadConsumeQueue.
"""

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk
from mqserver.store.disk.job import DiskJob

LOG = logging.getLogger(__name__)

SUFFIX: Final = ".deleted"


@dataclass(eq=False, kw_only=True)
class RemoveJob(DiskJob):
    """Deletes queue directories that were moved away."""

    disk: Disk
    moved: Sequence[Path | None]
    """The directories under their new names; None for a queue that had none."""
    directories: Sequence[Path]
    """The directories to sync because names in them changed."""
    log_end: int = 0
    """Log offset below which records of a deleted topic get no entries again. Records that were put
    before it may still be undone: whoever runs the job sets it to the end of the log if that is
    lower by then."""
    record: Callable[[int], None]
    """Records in ``dispatch.json`` that the queues are removed; it gets ``log_end``."""

    def work(self) -> None:
        """Sync, record and delete; files that cannot be unlinked are no error."""
        for directory in self.directories:
            if self.disk.is_dir(directory):
                self.disk.fsync_dir(directory)
        self.record(self.log_end)
        for moved in filter(None, self.moved):
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
