"""Scans one commit log file of an opened store, forwards with positions, and from its end.

    |record|record|damaged …|record|record|blank   |
                                   ^ last_record: found from the end, without a walk

Rule: forwards, as ``storefmt.formats.scan``, damage is an item that reaches to the next readable
record. Backwards, a magic counts if its record says that it lies exactly there.
"""

from collections.abc import Iterator

from storefmt.formats.message import Record
from storefmt.formats.scan import (
    MAGIC,
    MAGIC_POS,
    RECORD_HEAD,
    Blank,
    Damage,
    End,
    LogItem,
    scan_items,
)
from storefmt.store_file import WINDOW_SIZE, StoreFile

__all__ = ["RECORD_HEAD", "Blank", "Damage", "End", "LogItem", "last_record", "walk_file"]


def walk_file(
    file: StoreFile, *, base: int, start: int = 0, check_crc: bool = True
) -> Iterator[tuple[int, LogItem]]:
    """Yield (position in the file, item) from ``start``, a record's start, to the end.

    Args:
        base: log offset of the file's first byte, as its records say it.

    Raises:
        StoreError: the disk refuses a read.
    """
    pos = start
    items = scan_items(
        file.read,
        base=base,
        size=file.size,
        start=start,
        check_crc=check_crc,
        data_after=file.data_after,
    )
    for item in items:
        yield pos, item
        if isinstance(item, Record | Damage):
            pos += item.size


def last_record(file: StoreFile, *, base: int, end: int) -> tuple[int, Record] | None:
    """Return (position, record) of the last whole record that starts before ``end``."""
    stop = end
    while stop > 0:
        first = max(0, stop - WINDOW_SIZE)
        # A record that starts before ``stop`` may have its magic after it.
        data = file.read(first, stop - first + RECORD_HEAD.size)
        for match in reversed(list(MAGIC.finditer(data))):
            start = match.start() - MAGIC_POS
            if not 0 <= start <= min(len(data) - RECORD_HEAD.size, stop - first - 1):
                continue
            if RECORD_HEAD.unpack_from(data, start)[-1] != base + first + start:
                continue
            item = next(walk_file(file, base=base, start=first + start))[1]
            if isinstance(item, Record):
                return first + start, item
        stop = first
    return None
