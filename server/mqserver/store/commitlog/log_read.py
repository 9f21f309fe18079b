"""Reads many records of the log with few calls.

    in memory ── memory-mapped: only the records, joined
    else      ── neighbouring records are merged into one read each, in slices if others wait;
                 bytes that are not cached raise ColdRead

Rule: records come whole and in the requested order; records that do not exist are left out.

A large read is split into slices (``ReadSlices``) so that sends can run in between: if others
wait, the read ends with ``OthersWait``, which holds the bytes read so far, and the same read
continues from there later. Only a read of the same records can continue it. The number of
reads that are split at a time and the number of pauses are limited; beyond that a read is
completed at once.

Source: store/CommitLog.java#getMessage.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.disk.nowait import ColdRead
from mqserver.store.results import Chunk

PIECE_SIZE: Final = 32_768
"""Least number of bytes to read before checking whether others wait."""
PAUSES_MAX: Final = 32
"""How often one read pauses for others; a single send takes three turns of the loop."""
BEGUN_MAX: Final = 16

Picked = list[tuple[int, int]]
"""Log offset and size of each record."""


class PausedRead:
    """A read of many records that may be completed only in part."""

    __slots__ = ("buffer", "chunks", "group_count", "left", "pause_count", "picked")

    def __init__(self, picked: Picked, *, buffer: bytearray, pause_count: int = 0) -> None:
        self.picked = picked
        self.buffer = buffer
        self.chunks: list[Chunk] = []
        self.left = memoryview(buffer)
        """Part of the buffer that is not filled yet."""
        self.group_count = 0
        self.pause_count = pause_count


class OthersWait(Exception):
    """A read pauses for others; afterwards ``ReadSlices.may_go_on`` has to be asked."""

    def __init__(self, begun: PausedRead) -> None:
        super().__init__("others wait")
        self.begun = begun


class ReadSlices:
    """Splits the large reads of one thread into slices, between which others may run.

    Args:
        is_waited_for: returns whether other work waits for this thread.
    """

    __slots__ = ("_begun", "_begun_count", "_spare", "is_waited_for")

    def __init__(self, is_waited_for: Callable[[], bool]) -> None:
        self.is_waited_for = is_waited_for
        self._begun: PausedRead | None = None
        self._begun_count = 0
        self._spare = bytearray()

    def __enter__(self) -> None:
        _THREAD.slices = self

    def __exit__(self, *exc: object) -> None:
        _THREAD.slices = None
        self._begun = None

    def begin(self, picked: Picked, *, size: int) -> PausedRead:
        """Return the paused read of these records, or a new one with room for ``size`` bytes."""
        begun, self._begun = self._begun, None
        if begun is not None and begun.picked == picked:
            return begun
        buffer, self._spare = self._spare, bytearray()
        if len(buffer) < size:
            buffer = bytearray(size)
        return PausedRead(
            picked, buffer=buffer, pause_count=0 if begun is None else begun.pause_count
        )

    def give_up(self, begun: PausedRead) -> None:
        """Keep the buffer of an abandoned read for the next one."""
        self._spare = begun.buffer

    def let_others(self, begun: PausedRead) -> None:
        """Pause a read if others wait and the limits allow a pause.

        Raises:
            OthersWait: the read has to pause.
        """
        has_room = begun.pause_count < PAUSES_MAX and self._begun_count < BEGUN_MAX
        if has_room and self.is_waited_for():
            self._begun_count += 1
            raise OthersWait(begun)

    def may_go_on(self, begun: PausedRead) -> bool:
        """Return whether the next read may continue ``begun``; if not, ask again one turn later."""
        begun.pause_count += 1
        if begun.pause_count < PAUSES_MAX and self.is_waited_for():
            return False
        self._begun_count -= 1
        self._begun = begun
        return True


class _Thread(threading.local):
    slices: ReadSlices | None = None
    """What splits the reads of the current thread; None if nothing does."""


_THREAD: Final = _Thread()
_MERGE_SIZE_MAX: Final = 1 << 20
_GAP_SIZE_MAX: Final = 10_240
"""Gap between two records up to which it is cheaper to read the gap than to read twice."""


def read_parts(log: CommitLog, parts: list[tuple[int, int]]) -> list[Chunk]:
    """Return the bytes of parts of the log, each a start and an end, between which records lie.

    Raises:
        ColdRead, OthersWait: see ``read_merged``.
    """
    data = log.read_parts(parts) if parts else b""
    if data is not None:
        return [data] if data else []
    return read_merged(log, [(start, end - start) for start, end in parts])


def read_merged(log: CommitLog, picked: list[tuple[int, int]]) -> list[Chunk]:
    """Return the records, with neighbouring ones read together.

    Raises:
        ColdRead: under ``no_wait``, not all of the bytes are in the page cache.
        OthersWait: with ``ReadSlices``, others should run first.
    """
    cold: dict[int, ColdRead] = {}
    groups = list(_together(picked, log.file_size))
    slices = _THREAD.slices
    size = sum(group[-1][1] - group[0][0] for group in groups)
    if slices is None:
        begun = PausedRead(picked, buffer=bytearray(size))
    else:
        begun = slices.begin(picked, size=size)
    unasked_size = 0
    for number in range(begun.group_count, len(groups)):
        together = groups[number]
        first, end = together[0][0], together[-1][1]
        base = first - first % log.file_size
        if base in cold:
            # Even an attempt would start disk I/O, which the thread should wait for.
            cold[base].also(end - first, first - base)
            continue
        try:
            is_there = log.read_into(begun.left[: end - first], first)
        except ColdRead as error:
            cold[base] = error
            continue
        if is_there:
            begun.chunks += [begun.left[start - first : stop - first] for start, stop in together]
            begun.left = begun.left[end - first :]
        unasked_size += end - first
        if slices is not None and unasked_size >= PIECE_SIZE and not cold:
            begun.group_count, unasked_size = number + 1, 0
            slices.let_others(begun)
    if cold:
        if slices is not None:
            # Keep the buffer, since allocating new pages is a good part of an attempt's cost.
            slices.give_up(begun)
        whole, *others = cold.values()
        for other in others:
            whole.join(other)
        raise whole
    return begun.chunks


def warm(log: CommitLog, picked: list[tuple[int, int]]) -> None:
    """Read records into the page cache, in a thread; records that cannot be read are skipped."""
    cold: dict[int, ColdRead] = {}
    try:
        for together in _together(picked, log.file_size):
            first, end = together[0][0], together[-1][1]
            base = first - first % log.file_size
            if base in cold:
                cold[base].also(end - first, first - base)
                continue
            with contextlib.suppress(OSError), log.path_of(base).open("rb") as file:
                cold[base] = ColdRead(file.fileno(), end - first, first - base)
    finally:
        for chunk in cold.values():
            chunk.warm()


def _together(picked: list[tuple[int, int]], file_size: int) -> Iterator[list[tuple[int, int]]]:
    """Yield groups of (start, end) of adjacent records, each group for one read."""
    if not picked:
        return
    start = end = picked[0][0]
    together: list[tuple[int, int]] = []
    for log_offset, size in picked:
        gap = log_offset - end
        if gap or log_offset + size - start > _MERGE_SIZE_MAX or end % file_size == 0:
            if end > start:
                together.append((start, end))
            start = log_offset
            near = 0 <= gap <= _GAP_SIZE_MAX and log_offset % file_size >= gap > 0
            if together and not (near and log_offset + size - together[0][0] <= _MERGE_SIZE_MAX):
                yield together
                together = []
        end = log_offset + size
    together.append((start, end))
    yield together
