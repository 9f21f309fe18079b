"""Files that the operating system cannot open, as those of an object store.

    RemotePath  a path like any other; whether it is there, what is in it and its bytes are asked
             of whoever made it
    RemoteFile   one such file, open: its size, and ranges of its bytes

Rule: readers of a store ask a far path for its ranges and the operating system for all others,
and nobody writes to one. Who knows a far file system subclasses ``RemotePath``; there is none here.
"""

import os
import stat
from abc import abstractmethod
from collections.abc import Generator, Iterator
from pathlib import Path, PosixPath
from typing import Any, NoReturn, Protocol, Self


class RemoteFile(Protocol):
    """An open file."""

    @property
    def size(self) -> int:
        """Return its size in bytes, as it was when the file was found."""

    def read(self, pos: int, size: int) -> bytes:
        """Return ``size`` bytes at ``pos``, fewer only at the end; raises OSError."""

    def close(self) -> None:
        """Let go of what is kept; the next read fetches it again."""


class RemotePath(PosixPath):
    """A file or directory by its URI; ``s3://bucket/store`` / ``commitlog`` is one, too."""

    @abstractmethod
    def open_remote(self) -> RemoteFile:
        """Open the file; raises OSError."""

    @abstractmethod
    def size_of(self) -> int | None:
        """Return the size in bytes of a file, -1 of a directory, None of nothing.

        Raises:
            OSError: nobody answers, or the answer is no.
        """

    @abstractmethod
    def children(self) -> Iterator[Self]:
        """Yield what a directory holds; raises OSError."""

    def __str__(self) -> str:
        text = super().__str__()
        # A path of this class begins with the scheme, and pathlib takes one slash of two.
        return text.replace(":/", "://", 1) if self.parts[:1] and ":" in self.parts[0] else text

    def exists(self, *_: Any, **__: Any) -> bool:
        """Return whether there is something."""
        return self.size_of() is not None

    def is_file(self, *_: Any, **__: Any) -> bool:
        """Return whether it is a file."""
        size = self.size_of()
        return size is not None and size >= 0

    def is_dir(self, *_: Any, **__: Any) -> bool:
        """Return whether it is a directory."""
        return self.size_of() == -1

    def is_symlink(self) -> bool:
        """Return False: there are no links."""
        return False

    def iterdir(self) -> Generator[Self, None, None]:
        """Yield what a directory holds."""
        yield from self.children()

    def resolve(self, strict: bool = False) -> Self:
        """Return the path itself: it is whole."""
        return self

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return kind and size, and blocks as if there were no holes; no times.

        Raises:
            FileNotFoundError: there is nothing.
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
        """Refuse: such a file is read by its ranges."""
        raise OSError(95, os.strerror(95), str(self))


def remote_file_of(path: Path) -> RemoteFile | None:
    """Return the ranges of a far file, None for one of this machine; raises OSError."""
    return path.open_remote() if isinstance(path, RemotePath) else None
