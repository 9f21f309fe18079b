"""Files of a store, opened read-only: they are read in windows, and holes are skipped.

    |data|------ hole ------|data 0000000|        size
    0                            data_end ^ after the last byte that is not zero

Rule: every file is opened with O_RDONLY; nothing is locked, created or changed, and no read is
longer than the caller asked for. A fresh store consists of gigabytes of holes, so SEEK_DATA and
SEEK_HOLE find the end of the data; where the file system does not know holes, reading finds it.
``OpenFiles`` keeps at most ``OPEN_FILES_MAX`` files open.
"""

import errno
import os
import stat
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from storefmt.errors import StoreError
from storefmt.remote_file import RemoteFile, remote_file_of

WINDOW_SIZE: Final = 1 << 20
OPEN_FILES_MAX: Final = 64
# Comparing is ten times as fast as stripping, and preallocated files are all zeros.
_ZEROS: Final = bytes(WINDOW_SIZE)


class StoreFile:
    """One open file; reads past its end come back short, as ``os.pread`` does."""

    __slots__ = ("_data", "_fd", "_remote", "path", "size")

    def __init__(self, path: Path) -> None:
        """Open ``path``.

        Raises:
            StoreError: the file is missing, not readable, or not a regular file.
        """
        self._fd = -1
        self._data = (0, 0)
        self.path = path
        self._remote: RemoteFile | None = None
        try:
            self._remote = remote_file_of(path)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}; is the store still there?") from error
        if self._remote is None:
            self.size = os.fstat(self._descriptor()).st_size
        else:
            self.size = self._remote.size

    def _descriptor(self) -> int:
        if self._fd < 0:
            try:
                # A pipe in the directory must not hang the reader, and a link in a store of
                # unknown origin must not show what lies elsewhere on this machine.
                flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
                self._fd = os.open(self.path, flags)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise StoreError(
                        f"{self.path}: a symbolic link, which may lead out of the store and is "
                        "not followed; put the file itself there"
                    ) from error
                raise StoreError(
                    f"{self.path}: {error.strerror}; is the store still there?"
                ) from error
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                self.close()
                raise StoreError(f"{self.path}: not a regular file, expected one; move it away")
        return self._fd

    def close(self) -> None:
        """Close the file; the next read opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._remote is not None:
            self._remote.close()

    def __del__(self) -> None:
        # A caller may still hold a file that ``OpenFiles`` has closed, and open it again.
        self.close()

    def read(self, pos: int, size: int) -> bytes:
        """Return up to ``size`` bytes at ``pos``; fewer only at the end of the file.

        Raises:
            StoreError: the operating system reports a read error.
        """
        try:
            if self._remote is not None:
                return self._remote.read(pos, size)
            descriptor = self._descriptor()
            data = os.pread(descriptor, size, pos)
            while len(data) < size:
                more = os.pread(descriptor, size - len(data), pos + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise StoreError(
                f"{self.path} at byte {pos}: {error.strerror}; copy the file from the disk first"
            ) from error
        return data

    def extents(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of each range between ``start`` and ``end`` that is not a hole."""
        stop = self.size if end is None else min(end, self.size)
        pos = start
        if self._remote is not None and pos < stop:
            yield pos, stop
            return
        while pos < stop:
            try:
                first = os.lseek(self._descriptor(), pos, os.SEEK_DATA)
                last = os.lseek(self._descriptor(), first, os.SEEK_HOLE)
            except OSError as error:
                if error.errno != errno.ENXIO:  # ENXIO: only a hole is left
                    yield pos, stop
                return
            if first >= stop:
                return
            yield first, min(last, stop)
            pos = last

    def windows(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield (position, bytes) of all data outside of holes, at most ``WINDOW_SIZE`` each."""
        for first, last in self.extents(start, end):
            for pos in range(first, last, WINDOW_SIZE):
                yield pos, self.read(pos, min(WINDOW_SIZE, last - pos))

    def data_after(self, pos: int) -> int:
        """Return the first position at or after ``pos`` that is not inside a hole.

        The result is up to 4 bytes earlier than the data, so that a reader that searches for a
        4 byte field also finds one that begins in the hole and ends in the data.
        """
        if self._data[0] <= pos < self._data[1]:
            # Data never becomes a hole again; asking the system costs more than reading.
            return pos
        first, last = next(self.extents(pos), (self.size, self.size))
        self._data = (first, last)
        return max(pos, first - 4) if first < self.size else self.size

    def first_data(self, start: int = 0, end: int | None = None) -> int | None:
        """Return the position of the first byte in the range that is not zero."""
        for pos, data in self.windows(start, end):
            if data != _ZEROS[: len(data)]:
                left = data.lstrip(b"\0")
                return pos + len(data) - len(left)
        return None

    def data_end(self, start: int = 0) -> int:
        """Return the position after the last byte that is not zero; ``start`` for none."""
        for first, last in reversed(list(self.extents(start))):
            stop = last
            while stop > first:
                pos = max(first, stop - WINDOW_SIZE)
                data = self.read(pos, stop - pos)
                if data != _ZEROS[: len(data)]:
                    return pos + len(data.rstrip(b"\0"))
                stop = pos
        return start


class OpenFiles:
    """The open files of one store directory; the least recently used file is closed first."""

    def __init__(self) -> None:
        self._files: OrderedDict[Path, StoreFile] = OrderedDict()

    def open(self, path: Path) -> StoreFile:
        """Return ``path`` opened; errors as for ``StoreFile``."""
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = StoreFile(path)
            if len(self._files) > OPEN_FILES_MAX:
                self._files.popitem(last=False)[1].close()
        else:
            self._files.move_to_end(path)
        return file

    def close(self) -> None:
        """Close every file."""
        while self._files:
            self._files.popitem()[1].close()
