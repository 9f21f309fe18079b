"""Queues that are to be no more: out of the way at once, off the disk when there is time.

    loop    table forgets them, directory <topic>/3 becomes <topic>/3.0.deleted
    thread  the new name is synced, dispatch.json says so, the files are unlinked

Rule: a new message of the same queue finds an empty place at once. A crash before it was
said brings the queues back from the log; one after it leaves directories that the next
start sweeps. The Java broker passes over names in a topic's directory that are no number.

Source: store/DefaultMessageStore.java#cleanUnusedTopic, #cleanExpiredConsumerQueue,
#loadConsumeQueue.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from server.store.disk.disk import Disk

LOG = logging.getLogger(__name__)

SUFFIX: Final = ".deleted"


class RemoveJob:
    """Makes moved directories be gone for good.

    Args:
        moved: directories under their last names.
        directories: which to sync, since names in them changed.
        say: writes down that the queues are no more.
    """

    def __init__(
        self,
        disk: Disk,
        moved: Sequence[Path | None],
        *,
        directories: Sequence[Path],
        say: Callable[[], None],
    ) -> None:
        self.error: OSError | None = None
        """Why it is not written down; files that could not be unlinked are no error."""
        self._disk = disk
        self._moved = [path for path in moved if path is not None]
        self._directories = directories
        self._say = say

    def run(self) -> None:
        """Do it; blocks for as long as the disk takes."""
        try:
            for directory in self._directories:
                if self._disk.is_dir(directory):
                    self._disk.fsync_dir(directory)
            self._say()
        except OSError as error:
            self.error = error
            return
        for directory in self._moved:
            try:
                remove_tree(self._disk, directory)
            except OSError as error:
                LOG.warning("%s not removed: %s; the next start tries again", directory, error)


class Removed:
    """Gives directories their last names."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._count = 0

    def move(self, directory: Path) -> Path | None:
        """Move a directory away; returns where it is now, None where there is none.

        Raises:
            OSError: the disk refused.
        """
        if not self._disk.is_dir(directory):
            return None
        target = directory.with_name(f"{directory.name}.{self._count}{SUFFIX}")
        self._disk.rename(directory, target)
        self._count += 1
        return target


def remove_tree(disk: Disk, directory: Path) -> None:
    """Remove a directory with all that is in it.

    Raises:
        OSError: the disk refused; some of it may be gone.
    """
    for entry in disk.scan(directory):
        if entry.is_dir:
            remove_tree(disk, directory / entry.name)
        else:
            disk.unlink(directory / entry.name)
    disk.rmdir(directory)
