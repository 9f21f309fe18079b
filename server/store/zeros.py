"""Where a file holds nothing: holes, and blocks that were reserved and never written.

Rule: zeros are the only thing a commit log file may have behind its last record.
"""

from typing import Final

from server.store.disk import DiskFile

_ZEROS: Final = bytes(1 << 20)


def first_data(file: DiskFile, pos: int, size: int) -> int | None:
    """Return the first position >= ``pos`` near a byte that is not zero, None for none."""
    at: int | None = pos
    while at is not None and at < size:
        at = file.next_data(at)
        if at is None or at >= size:
            return None
        data = file.pread(min(len(_ZEROS), size - at), at)
        if not data:
            return None
        if data != _ZEROS[: len(data)]:
            return at + len(data) - len(data.lstrip(b"\0"))
        at += len(data)
    return None


def is_blank_to(file: DiskFile, pos: int, size: int) -> bool:
    """Tell whether a file holds nothing but zeros from ``pos`` up to ``size``."""
    return first_data(file, pos, size) is None
