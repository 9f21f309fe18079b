"""Whether a slave's log is a beginning of its master's, and where they part if it is not.

    last record here ── VIEW_MESSAGE_BY_ID ──> the same bytes there?  yes: same
        └ no, or the master's log ends before it
            first records of the files, halved ──> the file ──> its records, halved ──> where

Rule: the stream itself has no greeting, so what is asked is a request that every master
answers, ours and Java's. A record says where it lies, when and by whom it was made: one that
is the same in both logs has the same log before it.

Source: ours; Java compares nothing (a slave that is longer goes on in the middle of a record).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from server.store.disk.nowait import ColdRead, no_wait
from server.store.raw_log import RawLog
from storefmt.formats.message import MAGIC_BLANK, RECORD_SIZE_MIN

WINDOW_SIZE: Final = 1 << 20
_FRONT_SIZE: Final = 8

RecordAt = Callable[[int], Awaitable[bytes | None]]
"""Returns the master's record at a log offset, None where it has none."""


class Parting(Exception):
    """The logs part.

    Attributes:
        log_offset: end of the last record that both have.
    """

    def __init__(self, log_offset: int, text: str) -> None:
        super().__init__(text)
        self.log_offset = log_offset


async def compare(raw: RawLog, *, log_min: int, master_min: int, record_at: RecordAt) -> None:
    """Hold the log of a slave against that of its master.

    Args:
        log_min: first kept log offset of the slave, ``master_min`` of the master.

    Raises:
        Parting: it is no beginning of the master's.
        OSError: one of the logs cannot be read.
    """
    end = raw.whole_offset
    if end < master_min:
        text = f"this log ends at {end}, and the master's begins at {master_min}"
        raise Parting(end, f"{text}: what is between is gone")
    bases = list(range(log_min - log_min % raw.file_size, end, raw.file_size))
    for base in reversed(bases):
        starts = await record_starts(raw, max(base, log_min), min(base + raw.file_size, end))
        if starts:
            break
    else:
        return
    if await _is_same(raw, starts[-1], record_at):
        return

    async def same(log_offset: int) -> bool:
        return log_offset < master_min or await _is_same(raw, log_offset, record_at)

    firsts = [max(base, log_min) for base in bases]
    number = await _count_of_same(firsts, same)
    if not number:
        raise Parting(log_min, _text(log_min, end))
    file_end = min(firsts[number - 1] // raw.file_size * raw.file_size + raw.file_size, end)
    starts = await record_starts(raw, firsts[number - 1], file_end)
    count = await _count_of_same(starts, same)
    parting = starts[count] if count < len(starts) else file_end
    raise Parting(parting, _text(parting, end))


def _text(parting: int, end: int) -> str:
    return (
        f"the logs part at {parting}: of this log {end - parting} bytes from there on are not in "
        "the master's"
    )


async def _count_of_same(offsets: Sequence[int], same: Callable[[int], Awaitable[bool]]) -> int:
    """Return how many of the first offsets have the same records in both logs."""
    low, high = 0, len(offsets)
    while low < high:
        middle = (low + high) // 2
        if await same(offsets[middle]):
            low = middle + 1
        else:
            high = middle
    return low


async def _is_same(raw: RawLog, log_offset: int, record_at: RecordAt) -> bool:
    theirs = await record_at(log_offset)
    if theirs is None or len(theirs) < RECORD_SIZE_MIN:
        return False
    return await read(raw, log_offset, len(theirs)) == theirs


async def record_starts(raw: RawLog, start: int, end: int) -> list[int]:
    """Return where the records of one file begin, from the beginning of one on."""
    found: list[int] = []
    window, window_start = b"", start
    while start + RECORD_SIZE_MIN <= end:
        at = start - window_start
        if at + _FRONT_SIZE > len(window):
            window, window_start, at = await read(raw, start, WINDOW_SIZE), start, 0
            await asyncio.sleep(0)
        size = int.from_bytes(window[at : at + 4], "big", signed=True)
        magic = int.from_bytes(window[at + 4 : at + 8], "big", signed=True)
        if magic == MAGIC_BLANK or size < RECORD_SIZE_MIN or start + size > end:
            break
        found.append(start)
        start += size
    return found


async def read(raw: RawLog, log_offset: int, size_max: int) -> bytes:
    """Return bytes of the log; a thread reads those that are not in memory.

    Raises:
        OSError: they cannot be read.
    """
    for is_polite in (True, True, False):
        try:
            with no_wait(is_polite):
                return raw.read(log_offset, size_max)
        except ColdRead as cold:
            await asyncio.get_running_loop().run_in_executor(None, cold.warm)
    return b""
