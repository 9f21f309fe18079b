"""The directory that a tool writes to; it is new or empty, and lies outside the store it reads.

Rule: every path is built here from plain names, so that no name found in a store leads out of the
directory. Files are sparse where the data is zero. ``OutputDirectory.sync`` makes all of them
durable at the end. The store that is read is never opened for writing.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from storefmt.errors import BadCall
from storefmt.store_file import StoreFile

_PAGE: Final = 4096
_ZERO_PAGE: Final = bytes(_PAGE)


class OutputDirectory:
    """An output directory; make one with ``OutputDirectory.make``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def make(cls, path: Path | str, *, source: Path) -> Self:
        """Create the directory ``path``, or use it if it exists and is empty; see ``checked``."""
        directory = cls.checked(path, source=source)
        directory.root.mkdir(parents=True, exist_ok=True)
        return directory

    @classmethod
    def checked(cls, path: Path | str, *, source: Path) -> Self:
        """Return a directory that need not be there yet; its first file creates it.

        Args:
            source: the directory that is read; nothing may be written there.

        Raises:
            BadCall: the path lies in ``source``, is not a directory, or is not empty.
        """
        root, read = Path(path).resolve(), source.resolve()
        if root == read or read in root.parents:
            raise BadCall(f"{path} lies in {source}, which is only read; name another directory")
        if root.exists() and not root.is_dir():
            raise BadCall(f"{path} is not a directory; name a new one")
        if root.is_dir() and any(root.iterdir()):
            raise BadCall(f"{path} is not empty; name a new directory")
        return cls(root)

    def file(self, *names: str) -> Path:
        """Return the path of a file below the directory, and create its parent directory.

        Raises:
            BadCall: a name is not a plain file name.
        """
        path = self.directory(*names[:-1])
        return path / _plain(names[-1])

    def directory(self, *names: str) -> Path:
        """Return a directory below this one and create it if needed; errors as ``file``."""
        path = self.root
        for name in names:
            path = path / _plain(name)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def sync(self) -> None:
        """Sync every file below the directory to the disk.

        Raises:
            OSError: the disk reports an error.
        """
        for directory, _, names in os.walk(self.root):
            for name in names:
                _sync(os.path.join(directory, name), os.O_RDONLY)
            _sync(directory, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _plain(name: str) -> str:
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise BadCall(
            f"{name!r} is not a plain file name; the store tries to write outside of its copy"
        )
    return name


class SparseFile:
    """A file of a fixed size that is written in places; the rest stays a hole.

    Args:
        size: bytes; None for one that grows as it is written.
    """

    def __init__(self, path: Path, *, size: int | None = None) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        if size is not None and os.fstat(self._fd).st_size != size:
            os.ftruncate(self._fd, size)

    def pwrite(self, data: bytes | bytearray | memoryview, pos: int) -> None:
        """Write ``data`` at ``pos``.

        Raises:
            OSError: the disk refuses.
        """
        view = memoryview(data)
        written_size = 0
        while written_size < len(view):
            written_size += os.pwrite(self._fd, view[written_size:], pos + written_size)

    def write_sparse(self, data: bytes, pos: int) -> None:
        """Write ``data`` at ``pos`` into a hole of the file; pages of zeros stay holes."""
        start: int | None = None
        for page_pos in range(0, len(data), _PAGE):
            page = data[page_pos : page_pos + _PAGE]
            if page == _ZERO_PAGE[: len(page)]:
                if start is not None:
                    self.pwrite(memoryview(data)[start:page_pos], pos + start)
                start = None
            elif start is None:
                start = page_pos
        if start is not None:
            self.pwrite(memoryview(data)[start:], pos + start)

    def read(self, pos: int, size: int) -> bytes:
        """Return up to ``size`` bytes at ``pos``."""
        return os.pread(self._fd, size, pos)

    def close(self, *, sync: bool = False) -> None:
        """Close the file, and sync it if it is complete."""
        if self._fd >= 0:
            if sync:
                os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1


@contextmanager
def sparse_file(path: Path, *, size: int | None = None) -> Iterator[SparseFile]:
    """Open a file for writing for the length of a ``with`` block."""
    file = SparseFile(path, size=size)
    try:
        yield file
    finally:
        file.close()


def copy_file(source: StoreFile, target: Path, *, size: int | None = None) -> int:
    """Copy a file with its holes; return how many bytes were read or written.

    Args:
        size: of the copy, if it differs from that of the file: cut, or padded with zeros.
    """
    total = source.size if size is None else size
    seen = 0
    with sparse_file(target, size=total) as out:
        for pos, data in source.windows(0, total):
            out.write_sparse(data, pos)
            seen += len(data)
    return seen


def progress_none(done: int, total: int) -> None:
    """Ignore the progress of a call; the default of ``progress`` parameters."""
