"""Where a file holds only zeros: holes, and blocks that were reserved and never written.

Rule: only zeros may follow the last record of a commit log file. A page of reserved space
that was read is in the page cache and no longer counts as a hole. Therefore reads end at page
ends: a read that ended inside a page would bring that page into the cache, where the next read
would then begin, and so on through the whole file. A read that begins inside a page ends with
that page, since a hole nearly always follows it.
"""

from collections.abc import Iterator
from typing import Final

from mqserver.store.disk.disk import DiskFile

_ZEROS: Final = bytes(1 << 20)
_PAGE_SIZE: Final = 4096


def data_parts(file: DiskFile, pos: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield (position, bytes) of each part that is not zeros, from ``pos`` to ``size``.

    A part begins and ends with a byte that is not zero, and has at most 1 MiB.

    Raises:
        OSError: the disk could not be read.
    """
    data_pos = file.next_data(pos) if pos < size else None
    while data_pos is not None and data_pos < size:
        data = file.pread(min(-data_pos % _PAGE_SIZE or len(_ZEROS), size - data_pos), data_pos)
        if not data:
            return
        if data != _ZEROS[: len(data)]:
            part = data.lstrip(b"\0")
            yield data_pos + len(data) - len(part), part.rstrip(b"\0")
        data_pos = file.next_data(data_pos + len(data))


def first_data(file: DiskFile, pos: int, size: int) -> int | None:
    """Return the first position >= ``pos`` of a byte that is not zero, or None."""
    return next((data_pos for data_pos, _ in data_parts(file, pos, size)), None)


def is_blank_to(file: DiskFile, pos: int, size: int) -> bool:
    """Return whether a file holds only zeros from ``pos`` up to ``size``."""
    return first_data(file, pos, size) is None
