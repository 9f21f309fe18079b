"""Bytes for one file of a known size, as a thread writes them.

Rule: a write does not change after it was made, and it opens its file itself, so that the event
loop may go on changing, reading and closing what the bytes were taken from.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mqserver.store.disk.disk import Disk


class FileWrite(NamedTuple):
    """Bytes for some places of one file."""

    path: str
    file_size: int
    """Bytes of the file, which is created sparse if it does not exist."""
    parts: Sequence[tuple[int, bytes]]
    """Positions in the file and their bytes, in the order in which they are written."""


def write_file(
    disk: Disk,
    write: FileWrite,
    *,
    creating: Callable[[str], None] = lambda directory: None,
    syncs: bool = False,
) -> None:
    """Write to one file; blocks for as long as the disk takes.

    Args:
        disk: the disk that holds the file.
        write: what to write.
        creating: called with the directory in which the file is about to be created.
        syncs: whether the file is synced as well.

    Raises:
        OSError: the disk refused; some of the bytes may be in the file.
    """
    path, size, parts = write
    try:
        file = disk.open(path)
    except FileNotFoundError:
        directory = path.rpartition("/")[0]
        creating(directory)
        disk.mkdir(directory)
        # A kill must not leave a file of length 0: with one, a real broker does not start.
        file = disk.open(path, create=True, size=size)
    try:
        # A full disk may have let an earlier write create the file and not extend it.
        if file.size() < size:
            file.truncate(size)
        for pos, data in parts:
            file.pwrite(data, pos)
        if syncs:
            file.fdatasync()
    finally:
        file.close()
