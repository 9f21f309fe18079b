"""Check that a slave's log is a prefix of its master's, or find where the two diverge.

    last record here ── VIEW_MESSAGE_BY_ID ──> does the master have the same bytes? yes: done
        └ no, or the master's log ends before it
            binary search over the first records of the files ──> the file
            binary search over the records of that file       ──> where the logs diverge

Rule: the replication protocol has no handshake, so this uses a request that every master
answers, Java's included. A record contains its own log offset, its times and its hosts, so if
both logs have the same record, everything before it is the same as well.

Source: none; Java compares nothing (a longer slave goes on in the middle of a record).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from mqserver.store.disk.nowait import ColdRead, no_wait
from mqserver.store.raw_log import RawLog
from storefmt.formats.message import MAGIC_BLANK, RECORD_SIZE_MIN

WINDOW_SIZE: Final = 1 << 20
_FRONT_SIZE: Final = 8

RecordAt = Callable[[int], Awaitable[bytes | None]]
"""Returns the master's record at a log offset, or None if it has none there."""


class LogsDiverged(Exception):
    """The logs diverge.

    Attributes:
        log_offset: end of the last record that both logs have.
    """

    def __init__(self, log_offset: int, text: str) -> None:
        super().__init__(text)
        self.log_offset = log_offset


async def compare(raw: RawLog, *, log_min: int, master_min: int, record_at: RecordAt) -> None:
    """Compare the log of a slave with that of its master.

    Args:
        raw: the log of the slave.
        log_min: first log offset that the slave still has.
        master_min: first log offset that the master still has.
        record_at: asks the master for a record.

    Raises:
        LogsDiverged: the slave's log is not a prefix of the master's.
        OSError: one of the logs cannot be read.
    """
    end = raw.whole_offset
    if end < master_min:
        text = f"this log ends at {end}, and the master's begins at {master_min}"
        raise LogsDiverged(end, f"{text}: the bytes between them are gone")
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
        raise LogsDiverged(log_min, _text(log_min, end))
    file_end = min(firsts[number - 1] // raw.file_size * raw.file_size + raw.file_size, end)
    starts = await record_starts(raw, firsts[number - 1], file_end)
    count = await _count_of_same(starts, same)
    diverged = starts[count] if count < len(starts) else file_end
    raise LogsDiverged(diverged, _text(diverged, end))


def _text(diverged: int, end: int) -> str:
    return (
        f"the logs diverge at {diverged}: {end - diverged} bytes of this log from there on are not "
        "in the master's"
    )


async def _count_of_same(offsets: Sequence[int], same: Callable[[int], Awaitable[bool]]) -> int:
    """Return at how many of the offsets, from the first on, both logs have the same record."""
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
    """Return the log offsets of the records of one file.

    Args:
        raw: the log.
        start: log offset of a record; ``end`` is that of the end of the file or log.

    Raises:
        OSError: the log cannot be read.
    """
    starts: list[int] = []
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
        starts.append(start)
        start += size
    return starts


async def read(raw: RawLog, log_offset: int, size_max: int) -> bytes:
    """Return bytes of the log; a thread reads those that are not in the page cache.

    Raises:
        OSError: the bytes cannot be read.
    """
    for is_polite in (True, True, False):
        try:
            with no_wait(is_polite):
                return raw.read(log_offset, size_max)
        except ColdRead as cold:
            await asyncio.get_running_loop().run_in_executor(None, cold.warm)
    return b""
