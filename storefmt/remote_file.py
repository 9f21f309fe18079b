"""Files that the operating system cannot open: objects of an object store, queues in RocksDB.

    RemotePath   a path whose subclass answers whether it exists, what it contains and its bytes
    RemoteFile   one such file, opened: its size, and ranges of its bytes

Rule: readers of a store read a remote path by ranges, and all other paths through the operating
system. Nothing writes to a remote path. Support for one remote file system is a subclass of
``RemotePath``; the only one in this package is for queues in RocksDB.
"""

import os
import stat
from abc import abstractmethod
from collections.abc import Generator, Iterator
from pathlib import Path, PosixPath
from typing import Any, NoReturn, Protocol, Self


class RemoteFile(Protocol):
    """An open remote file."""

    @property
    def size(self) -> int:
        """Return its size in bytes, as it was when the file was found."""

    def read(self, pos: int, size: int) -> bytes:
        """Return ``size`` bytes at ``pos``, fewer only at the end; raises OSError."""

    def close(self) -> None:
        """Release cached bytes and connections; the next read fetches them again."""


class RemotePath(PosixPath):
    """A file or directory named by its URI, such as ``s3://bucket/store`` / ``commitlog``."""

    @abstractmethod
    def open_remote(self) -> RemoteFile:
        """Open the file; raises OSError."""

    @abstractmethod
    def size_of(self) -> int | None:
        """Return the size of a file in bytes, -1 for a directory, None if nothing exists.

        Raises:
            OSError: the remote side does not answer, or refuses.
        """

    @abstractmethod
    def children(self) -> Iterator[Self]:
        """Yield the entries of a directory; raises OSError."""

    def __str__(self) -> str:
        text = super().__str__()
        # The path begins with the scheme, and pathlib removes one of its two slashes.
        return text.replace(":/", "://", 1) if self.parts[:1] and ":" in self.parts[0] else text

    def exists(self, *_: Any, **__: Any) -> bool:
        """Return whether a file or directory exists."""
        return self.size_of() is not None

    def is_file(self, *_: Any, **__: Any) -> bool:
        """Return whether it is a file."""
        size = self.size_of()
        return size is not None and size >= 0

    def is_dir(self, *_: Any, **__: Any) -> bool:
        """Return whether it is a directory."""
        return self.size_of() == -1

    def is_symlink(self) -> bool:
        """Return False: remote file systems have no symbolic links."""
        return False

    def iterdir(self) -> Generator[Self, None, None]:
        """Yield the entries of a directory."""
        yield from self.children()

    def resolve(self, strict: bool = False) -> Self:
        """Return the path itself: it is always absolute."""
        return self

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return kind, size and block count (as if the file had no holes); all times are 0.

        Raises:
            FileNotFoundError: nothing exists at this path.
        """
        size = self.size_of()
        if size is None:
            raise FileNotFoundError(2, os.strerror(2), str(self))
        mode = stat.S_IFDIR | 0o500 if size < 0 else stat.S_IFREG | 0o400
        fields = (mode, 0, 0, 1, 0, 0, max(size, 0), 0, 0, 0)
        return os.stat_result(fields, {"st_blocks": -(-max(size, 0) // 512)})

    def read_bytes(self) -> bytes:
        """Return the whole file."""
        ranges = self.open_remote()
        try:
            return ranges.read(0, ranges.size)
        finally:
            ranges.close()

    def open(self, *_: Any, **__: Any) -> NoReturn:
        """Raise OSError: a remote file is only read by ranges, see ``open_remote``."""
        raise OSError(95, os.strerror(95), str(self))


def remote_file_of(path: Path) -> RemoteFile | None:
    """Open ``path`` if it is remote, and return None if it is local; raises OSError."""
    return path.open_remote() if isinstance(path, RemotePath) else None
