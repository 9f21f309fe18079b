"""The next commit log file, made before it is needed, by a thread.

    begin_next (loop) ──> NextFile ── run (thread): create, allocate, warm ──> end_next (loop)
                             └─ take (loop): needed at once; goes without the warming

Rule: a file is made once, by whoever comes first, and the other one waits for it. Without
space nothing is left behind. Warming writes the zeros that are there already: a block that
was written once costs later syncs no change of the file system's own tables.

Source: store/AllocateMappedFileService.java, store/MappedFile.java#warmMappedFile.
"""

import errno
import threading
from pathlib import Path
from typing import Final

from server.store.disk.disk import Disk, DiskFile

_ZEROS: Final = bytes(1 << 20)


class NextFile:
    """One file on its way.

    Args:
        base: log offset at which it starts.
        size: bytes of the file.
        warm_size: bytes of warming after each of which it is synced, 0 for no warming.
    """

    def __init__(self, disk: Disk, path: Path, *, base: int, size: int, warm_size: int) -> None:
        self.base = base
        self.error: OSError | None = None
        """Why there is no file."""
        self._disk = disk
        self._path = path
        self._size = size
        self._warm_size = warm_size
        self._lock = threading.Lock()
        self._needed = threading.Event()
        self._is_tried = False
        self._file: DiskFile | None = None

    def run(self) -> None:
        """Make the file, unless that was done; blocks for as long as the disk takes."""
        with self._lock:
            if not self._is_tried:
                self._is_tried = True
                self._make()

    def _make(self) -> None:
        try:
            self._disk.mkdir(self._path.parent)
            self._file = self._disk.open(self._path, create=True)
            self._file.allocate(self._size)
            if self._warm_size:
                self._warm(self._file)
        except OSError as error:
            self.error = error
            self._discard()

    def _warm(self, file: DiskFile) -> None:
        unsynced = 0
        for pos in range(0, self._size, len(_ZEROS)):
            if self._needed.is_set():
                return
            file.pwrite(_ZEROS[: self._size - pos], pos)
            unsynced += len(_ZEROS)
            if unsynced >= self._warm_size:
                file.fdatasync()
                unsynced = 0

    def _discard(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self._disk.unlink(self._path)

    def take(self) -> DiskFile:
        """Return the open file, made here and now if need be.

        Raises:
            OSError: it could not be made; nothing is left behind.
        """
        self._needed.set()
        self.run()
        if self._file is None:
            raise self.error or _given_up(self._path)
        return self._file

    def give_up(self) -> None:
        """Leave nothing behind, and make nothing any more.

        Raises:
            OSError: the disk refused.
        """
        self._needed.set()
        with self._lock:
            self._is_tried = True
            self.error = self.error or _given_up(self._path)
            self._discard()


def _given_up(path: Path) -> OSError:
    return OSError(errno.ECANCELED, "making the file was given up", str(path))
