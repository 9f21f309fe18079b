"""Many records of the log, read with few calls.

    in memory ── mapped: the records alone, joined
    else      ── near ones together, one pread each; what is not cached is told at once (ColdRead)

Rule: records come whole and in the order asked for; one that is not there is left out.

Source: store/CommitLog.java#getMessage.
"""

from typing import Final

from server.store.logfile import CommitLog
from server.store.nowait import ColdRead

_MERGE_SIZE_MAX: Final = 1 << 20
_GAP_SIZE_MAX: Final = 10_240
"""Bytes between two records that are cheaper to read than to read around."""


def read_rising(log: CommitLog, starts: tuple[int, ...], ends: tuple[int, ...]) -> list[bytes]:
    """Return records as ``read_merged`` does, without what lies between them if possible."""
    parts = list(zip(starts, ends, strict=True))
    is_one = starts[1:] == ends[:-1]
    data = log.read_parts([(starts[0], ends[-1])] if is_one else parts)
    if data is not None:
        return [data]
    return read_merged(log, [(start, end - start) for start, end in parts])


def read_merged(log: CommitLog, picked: list[tuple[int, int]]) -> list[bytes]:
    """Return the records, those that lie together read at once.

    Raises:
        ColdRead: under ``no_wait``, for all of them that are not in the page cache.
    """
    chunks: list[bytes] = []
    cold: list[ColdRead] = []
    if not picked:
        return chunks
    file_size = log.file_size
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
                _read_into(log, chunks, together, cold)
                together = []
        end = log_offset + size
    together.append((start, end))
    _read_into(log, chunks, together, cold)
    if cold:
        for one in cold[1:]:
            cold[0].join(one)
        raise cold[0]
    return chunks


def _read_into(
    log: CommitLog, chunks: list[bytes], together: list[tuple[int, int]], cold: list[ColdRead]
) -> None:
    first = together[0][0]
    try:
        data = log.read(first, together[-1][1] - first)
    except ColdRead as error:
        cold.append(error)
        return
    if data is None:
        return
    if len(together) == 1:
        chunks.append(data)
    else:
        chunks += [data[start - first : end - first] for start, end in together]
