"""Many records of the log, read with few calls.

    in memory ── mapped: the records alone, joined
    else      ── near ones together, one read each into one buffer, in ``pieces`` if others wait;
                 what is not cached is told at once (ColdRead)

Rule: records come whole and in the order asked for; one that is not there is left out.

Source: store/CommitLog.java#getMessage.
"""

import contextlib
from collections.abc import Iterator
from typing import Final

from server.store.commitlog.log_files import CommitLog
from server.store.commitlog.read_in_slices import PIECE_SIZE, READING, Begun
from server.store.disk.nowait import ColdRead
from server.store.results import Chunk

_MERGE_SIZE_MAX: Final = 1 << 20
_GAP_SIZE_MAX: Final = 10_240
"""Bytes between two records that are cheaper to read than to read around."""


def read_rising(log: CommitLog, starts: tuple[int, ...], ends: tuple[int, ...]) -> list[Chunk]:
    """Return records as ``read_merged`` does, without what lies between them if possible."""
    parts = list(zip(starts, ends, strict=True))
    is_one = starts[1:] == ends[:-1]
    data = log.read_parts([(starts[0], ends[-1])] if is_one else parts)
    if data is not None:
        return [data]
    return read_merged(log, [(start, end - start) for start, end in parts])


def read_merged(log: CommitLog, picked: list[tuple[int, int]]) -> list[Chunk]:
    """Return the records, those that lie together read at once.

    Raises:
        ColdRead: under ``no_wait``, when not all of them are in the page cache.
        OthersWait: with ``Pieces``, when somebody is to go first.
    """
    cold: dict[int, ColdRead] = {}
    groups = list(_together(picked, log.file_size))
    pieces = READING.pieces
    size = sum(group[-1][1] - group[0][0] for group in groups)
    if pieces is None:
        begun = Begun(picked, buffer=bytearray(size))
    else:
        begun = pieces.begin(picked, size=size)
    unasked_size = 0
    for number in range(begun.group_count, len(groups)):
        together = groups[number]
        first, end = together[0][0], together[-1][1]
        base = first - first % log.file_size
        if base in cold:
            # A try on the loop would have the disk begin, which is the thread's to wait for.
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
        if pieces is not None and unasked_size >= PIECE_SIZE and not cold:
            begun.group_count, unasked_size = number + 1, 0
            pieces.let_others(begun)
    if cold:
        if pieces is not None:
            # The next try has use for it: new pages are a good part of what a try costs.
            pieces.give_up(begun)
        whole, *others = cold.values()
        for other in others:
            whole.join(other)
        raise whole
    return begun.chunks


def warm(log: CommitLog, picked: list[tuple[int, int]]) -> None:
    """Bring the records into the page cache; for a thread. What cannot be read is left out."""
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
        for one in cold.values():
            one.warm()


def _together(picked: list[tuple[int, int]], file_size: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the (start, end) of records that touch, in groups that one read is to fetch."""
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
