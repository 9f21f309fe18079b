"""Where a file holds nothing: holes, and blocks that were reserved and never written.

Rule: zeros are the only thing a commit log file may have behind its last record. A page of
reserved space that was read is in the cache, and no longer counts as a hole. So reads end
where a page does: else the page in which one ends would be where the next begins, and so on
through all of the file. One that begins inside of a page ends with it: behind that there is a
hole, nearly always.
"""

from collections.abc import Iterator
from typing import Final

from server.store.disk.disk import DiskFile

_ZEROS: Final = bytes(1 << 20)
_PAGE_SIZE: Final = 4096


def data_parts(file: DiskFile, pos: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of what is not zeros, from ``pos`` to ``size``.

    A part begins and ends with a byte that is not zero, and has 1 MiB at most.

    Raises:
        OSError: the disk cannot be read.
    """
    at = file.next_data(pos) if pos < size else None
    while at is not None and at < size:
        data = file.pread(min(-at % _PAGE_SIZE or len(_ZEROS), size - at), at)
        if not data:
            return
        if data != _ZEROS[: len(data)]:
            part = data.lstrip(b"\0")
            yield at + len(data) - len(part), part.rstrip(b"\0")
        at = file.next_data(at + len(data))


def first_data(file: DiskFile, pos: int, size: int) -> int | None:
    """Return the first position >= ``pos`` of a byte that is not zero, None for none."""
    return next((at for at, _ in data_parts(file, pos, size)), None)


def is_blank_to(file: DiskFile, pos: int, size: int) -> bool:
    """Tell whether a file holds nothing but zeros from ``pos`` up to ``size``."""
    return first_data(file, pos, size) is None
