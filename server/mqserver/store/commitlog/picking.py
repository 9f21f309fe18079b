"""Picks from the entries of a queue the records that a get returns, and says where they lie.

    entries   | 0: A | 1: B | 2: A | 3: A | …      wanted: A, at most two
    scanned     wanted  no    wanted  enough: the next get begins here
    parts     [(start, end), (start, end)]         adjacent records make one part

Rule: the limits and their order are Java's. Each entry is examined as Java does it: fillers are
skipped, records below the log's start mean that messages are being removed, and a record far behind
the log's end counts against the limits of the disk. A record that would lie past the log's end is
skipped and reported.

Source: store/DefaultMessageStore.java#getMessage, #isTheBatchFull, #checkInDiskByCommitOffset.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from mqserver.store.commitlog.log_window import LogWindow, StoreFilter
from mqserver.store.results import GetStatus
from storefmt.formats.consumequeue import CQ_ENTRY, EXT_ADDRESS_MAX, FILLER_SIZE
from storefmt.formats.consumequeue_ext import ExtUnit
from storefmt.kernels import load

PART_SIZE_MAX: Final = 1 << 20
"""Bytes up to which adjacent records make one part, so that a read can pause between parts."""

TagCodes = frozenset[int]
"""Tag codes of the messages to return."""
Part = tuple[int, int]
"""Log offsets where a run of adjacent records starts and ends."""


class GetLimits(NamedTuple):
    """How much one get may return, and where the log begins and ends."""

    count_max: int
    size_max: int
    disk_count_max: int
    """The same two limits for records that are probably not in memory."""
    disk_size_max: int
    memory_size: int
    """Bytes at the end of the log that count as being in memory."""
    log_start: int
    log_end: int
    log_file_size: int


class Picked(NamedTuple):
    """What is in the entries."""

    status: GetStatus
    parts: list[Part]
    record_count: int
    """Number of records in ``parts``."""
    scanned_count: int
    """Number of entries that need not be examined again."""
    log_offset: int
    """Log offset in the last entry that was examined."""
    behind: list[tuple[int, int]]
    """Number and log offset of each entry that points past the end of the log."""


Pick = Callable[[bytes | bytearray, GetLimits, TagCodes | None], Picked | None]


def pick_each(
    data: bytes | bytearray,
    limits: GetLimits,
    codes: TagCodes | None,
    wants: StoreFilter | None = None,
    *,
    window: LogWindow | None = None,
    unit_at: Callable[[int], ExtUnit | None] = lambda address: None,
) -> Picked:
    """Pick records, entry by entry.

    Args:
        data: whole entries.
        limits: the limits of this get.
        codes: tag codes of the messages to return; None for all messages.
        wants: tests the ext units of the queue.
        window: tests the records; when these tests have cost too much, no more entries are
            examined.
        unit_at: returns the ext unit at an address, None if there is none.

    Raises:
        OSError: the disk could not be read.
    """
    picked: list[tuple[int, int]] = []
    behind: list[tuple[int, int]] = []
    total, scanned, log_offset, skip_until = 0, 0, 0, -1
    status = GetStatus.NO_MATCHED_MESSAGE
    for log_offset, size, tags_code in CQ_ENTRY.iter_unpack(data):
        if window is not None and window.work_left <= 0:
            break
        if log_offset < skip_until or size == FILLER_SIZE:
            scanned += 1
            continue
        if picked and _is_full(limits, len(picked), total + size, log_offset):
            break
        scanned += 1
        if tags_code <= EXT_ADDRESS_MAX:
            unit = None if codes is None and wants is None else unit_at(tags_code)
            if unit is not None and not _takes_unit(unit, codes, wants):
                continue
        elif codes is not None and tags_code not in codes:
            continue
        if log_offset < limits.log_start:
            status = status if picked else GetStatus.MESSAGE_WAS_REMOVING
            skip_until = log_offset - log_offset % limits.log_file_size + limits.log_file_size
            continue
        skip_until = -1
        if log_offset + size > limits.log_end:
            behind.append((scanned - 1, log_offset))
            continue
        if window is not None and not window.holds_wanted(log_offset, size):
            status = GetStatus.NO_MATCHED_MESSAGE
            continue
        picked.append((log_offset, size))
        total += size
    if picked:
        status = GetStatus.FOUND
    parts = _parts(picked, limits.log_file_size)
    return Picked(status, parts, len(picked), scanned, log_offset, behind)


def _is_full(limits: GetLimits, count: int, size: int, log_offset: int) -> bool:
    if limits.log_end - log_offset > limits.memory_size:
        return size > limits.disk_size_max or count >= limits.disk_count_max
    return size > limits.size_max or count >= limits.count_max


def _takes_unit(unit: ExtUnit, codes: TagCodes | None, wants: StoreFilter | None) -> bool:
    if codes is not None and unit.tags_code not in codes:
        return False
    return wants is None or wants.takes_unit(unit)


def _parts(picked: list[tuple[int, int]], file_size: int) -> list[Part]:
    parts: list[Part] = []
    start = end = -1
    for log_offset, size in picked:
        is_near = log_offset == end and log_offset % file_size != 0
        if is_near and log_offset + size - start <= PART_SIZE_MAX:
            end = log_offset + size
            parts[-1] = (start, end)
        else:
            start, end = log_offset, log_offset + size
            parts.append((start, end))
    return parts


def pick_pure(data: bytes | bytearray, limits: GetLimits, codes: TagCodes | None) -> None:
    """Leave all entries to ``pick_each``."""


pick: Final[Pick] = load("mqserver.store.commitlog.picking_kernel", "pick_compiled", pure=pick_pure)
"""The short way in use. The kernel leaves ext units, entries that point behind the log, and other
rare ones to ``pick_each``."""
