"""Where a commit log file belongs in the log: as its name says, or as its records say.

    name 00000000000000524288, records that say 262144, 262144 + 361 …: the file belongs at 262144

Rule: a single record may have a damaged field, so two records that agree are needed to show a
wrong name, or the file that has the other name must be out of place as well. A file whose records
lie in another file, which has the right name, is a double: its records must not be counted twice.

Source: as ``storefmt.formats.scan``; Java believes names only.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from storefmt.formats.message import MAGIC_V1, MAGIC_V2
from storefmt.formats.scan import RECORD_HEAD, Read

HEAD_SIZE: Final = RECORD_HEAD.size


class FilePlace(NamedTuple):
    """The log offset of a file's first byte, and whether another file has the same records."""

    base: int
    is_double: bool = False


def place_of(
    read: Read, start: int, *, file_size: int, head_of: Callable[[int], bytes]
) -> FilePlace:
    """Return where a file belongs.

    Args:
        read: reads the file.
        start: the log offset that its name says.
        file_size: the size of a whole log file in bytes, 0 if that is not known.
        head_of: returns the first ``HEAD_SIZE`` bytes of the file that is named by a log offset,
            empty bytes if there is none.
    """
    head = read(0, HEAD_SIZE)
    first = _said(head)
    if first is None or first[1] == start:
        return FilePlace(start)
    size, base = first
    if base < 0 or file_size <= 0 or base % file_size:
        return FilePlace(start)
    second = _said(read(size, HEAD_SIZE)) if size >= 0 else None
    there = head_of(base)
    said = _said(there)
    if second is not None:
        is_moved = second[1] == base + size
    else:
        is_moved = said is not None and (said[1] != base or there == head)
    if not is_moved:
        return FilePlace(start)
    return FilePlace(base, is_double=said is not None and said[1] == base)


def _said(head: bytes) -> tuple[int, int] | None:
    """Return the size and the log offset in a record's head, None if there is no record."""
    if len(head) < HEAD_SIZE:
        return None
    size, magic, *_, log_offset = RECORD_HEAD.unpack(head)
    return (size, log_offset) if magic in (MAGIC_V1, MAGIC_V2) else None
