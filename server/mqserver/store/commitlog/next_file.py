"""The next commit log file, created by a thread before it is needed.

    begin_next (loop) ──> NextFile ── do_work (thread): create, allocate, warm ──> end_next (loop)
                             └─ take_file (loop): needed now; the rest of the warming is skipped

Rule: the file is created once, by whichever of ``do_work`` and ``take_file`` comes first, and the
other waits for it. If there is no space, nothing is left behind. The names of the files before it
are durable first: a log whose first file is missing after a power cut, but not the second, would
look like one whose first file was deleted by retention. The name of the first file is durable
before anything is put: queues without any file of the log would look like a store whose log is not
mounted. Warming writes zeros over the zeros of the allocated file, because syncs of a block that
was written before need no update of the file system's own tables.

Source: store/AllocateMappedFileService.java, store/MappedFile.java#warmMappedFile.
"""

import errno
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk, DiskFile
from mqserver.store.disk.job import DiskJob

_ZEROS: Final = bytes(1 << 20)


@dataclass(eq=False, kw_only=True)
class NextFile(DiskJob):
    """One file that is being created ahead."""

    disk: Disk
    path: Path
    base: int
    """Log offset at which the file starts."""
    size: int
    """Bytes of the file."""
    warm_size: int
    """Bytes of zeros after which the file is synced; 0 for no warming."""
    is_first: bool
    """The log has no other file."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._needed = threading.Event()
        self._is_tried = False
        self._file: DiskFile | None = None

    def work(self) -> None:
        """Create the file unless that was tried."""
        with self._lock:
            if not self._is_tried:
                self._is_tried = True
                self._make()

    def _make(self) -> None:
        try:
            directory = self.path.parent
            self.disk.mkdir(directory)
            if not self.is_first:
                self.disk.fsync_dir(directory)
            self._file = self.disk.open(self.path, create=True)
            self._file.allocate(self.size)
            if self.is_first:
                self.disk.fsync_dir(directory)
                self.disk.fsync_dir(directory.parent)
            if self.warm_size:
                self._warm(self._file)
        except OSError as error:
            self.error = error
            self._discard()

    def _warm(self, file: DiskFile) -> None:
        unsynced = 0
        for pos in range(0, self.size, len(_ZEROS)):
            if self._needed.is_set():
                return
            file.pwrite(_ZEROS[: self.size - pos], pos)
            unsynced += len(_ZEROS)
            if unsynced >= self.warm_size:
                file.fdatasync()
                unsynced = 0

    def _discard(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self.disk.unlink(self.path)

    def take_file(self) -> DiskFile:
        """Return the open file, created now if necessary.

        Raises:
            OSError: it could not be created; nothing is left behind.
        """
        self._needed.set()
        self.do_work()
        if self._file is None:
            raise self.error or _given_up(self.path)
        return self._file

    def give_up(self) -> None:
        """Remove the file and do not create it any more.

        Raises:
            OSError: the disk refused.
        """
        self._needed.set()
        with self._lock:
            self._is_tried = True
            self.error = self.error or _given_up(self.path)
            self._discard()


def _given_up(path: Path) -> OSError:
    return OSError(errno.ECANCELED, "the creation of the file was cancelled", str(path))
