"""Scans the commit log record by record and continues after damage.

    record  record  FileEnd | record  LogGap  record  …  record  LogGap (zeros to the end)

Rule: a record counts only if every field that can be checked is right: magic, lengths
that add up, its own log offset, the CRC of its body, text that is UTF-8. After a position
without a record the scan continues at the next whole record that names its own position, in
the same file or at the start of the next; the range before it is a ``LogGap``. The caller has
to decide what a gap means: a torn tail, free space or damage.

Source: store/CommitLog.java#checkMessageAndReturnSize (which checks less).
"""

import struct
from collections.abc import Callable, Generator, Sequence
from sys import intern, maxsize
from typing import Final, NamedTuple, cast

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.disk.file_windows import WINDOW_SIZE, FileWindows
from mqserver.store.disk.zeros import first_data
from storefmt.formats.message import (
    BLANK_SIZE_MIN,
    CRC_MASK,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_SIZE_MIN,
    crc32,
)
from storefmt.formats.sysflag import BORN_HOST_V6, HOSTS_V6, STORE_HOST_V6

ZEROS: Final = "zeros"
_RUN_MAX: Final = 256
"""Records parsed in one call, few enough to stay in the CPU's cache until they are used."""
_HEAD: Final = struct.Struct(">iiii4xqqi16xq4xi12xi")
"""The checked fields up to the length of the body, if both hosts are IPv4."""
_I64: Final = struct.Struct(">q")
_I32: Final = struct.Struct(">i")
_I16: Final = struct.Struct(">h")
_BLANK: Final = struct.Struct(">ii")
_MAGICS: Final = (MAGIC_V1, MAGIC_V2)
_PATTERNS: Final = tuple(_I32.pack(magic) for magic in (*_MAGICS, MAGIC_BLANK))
_NUL: Final = 0
"""NUL as a number, since ``in`` with one byte as bytes first raises and drops an error."""
_PORT_MAX: Final = 0xFFFF
# Creating a named tuple this way takes half the time; each record needs one.
_new_found: Final = cast(
    "Callable[[type[ScannedRecord], tuple[object, ...]], ScannedRecord]", tuple.__new__
)


class ScannedRecord(NamedTuple):
    """One valid record with its own offsets; ``properties`` are raw."""

    log_offset: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    sys_flag: int
    store_ms: int
    properties: bytes


class FileEnd(NamedTuple):
    """The marker that ends a file, from log offset ``start`` to ``end``."""

    start: int
    end: int


class LogGap(NamedTuple):
    """A range of the log without a record."""

    start: int
    end: int
    reason: str
    """Why there is no record at ``start``; ``zeros`` if the whole range is zero."""


def parse_record(data: bytes, pos: int, *, log_offset: int, left: int) -> ScannedRecord | str:
    """Return the record at ``data[pos:]``, or the reason why there is none.

    Args:
        data: bytes of the log.
        pos: where in ``data`` the record begins.
        log_offset: log offset of that position.
        left: bytes from there to the end of the file.
    """
    records, reason = parse_records(data, pos, log_offset=log_offset, left=left, count_max=1)
    return records[0] if records else reason


def parse_records(
    data: bytes,
    pos: int,
    *,
    log_offset: int,
    left: int,
    doubtful_from: int = maxsize,
    count_max: int = _RUN_MAX,
) -> tuple[list[ScannedRecord], str]:
    """Return the records from ``data[pos:]`` on, and why they end; "" if there may be more.

    Args:
        data, pos, log_offset, left: see ``parse_record``; a record leaves 8 bytes free.
        doubtful_from: log offset from which a NUL in topic or properties is an error.
        count_max: most records to return.
    """
    records: list[ScannedRecord] = []
    topics: dict[bytes, str] = {}
    shift, data_size, end_max = log_offset - pos, len(data), pos + left - BLANK_SIZE_MIN
    for _ in range(count_max):
        if pos < 0 or data_size - pos < RECORD_SIZE_MIN:
            return records, "truncated"
        head = _HEAD.unpack_from(data, pos)
        size, magic, crc, queue_id, queue_offset, place, sys_flag, store_ms, port, body_size = head
        if magic != MAGIC_V1 and magic != MAGIC_V2:
            return records, "magic"
        if size < RECORD_SIZE_MIN or (end := pos + size) > end_max:
            return records, "size"
        if place != pos + shift:
            return records, "physical offset"
        if end > data_size:
            return records, "truncated"
        body_at = pos + _HEAD.size
        if sys_flag & HOSTS_V6:
            store_ms, port, body_size, body_at = _long_hosts(data, pos, sys_flag)
        if not 0 <= port <= _PORT_MAX or queue_id < 0 or queue_offset < 0 or store_ms < 0:
            return records, "fields"
        body_end = body_at + body_size
        if body_size < 0 or body_end + 3 > end:
            return records, "lengths"
        if body_size and crc32(data[body_at:body_end]) & CRC_MASK != crc:
            return records, "body crc"
        topic_at = body_end + (1 if magic == MAGIC_V1 else 2)
        topic_size = data[body_end] if magic == MAGIC_V1 else _I16.unpack_from(data, body_end)[0]
        texts_at = topic_at + topic_size + 2
        if topic_size <= 0 or texts_at > end:
            return records, "lengths"
        if texts_at + _I16.unpack_from(data, texts_at - 2)[0] != end:
            return records, "lengths"
        name = data[topic_at : texts_at - 2]
        topic = topics.get(name) or _learn(topics, name)
        if not topic:
            return records, "topic"
        texts = data[texts_at:end]
        if end + shift > doubtful_from and (_NUL in texts or _NUL in name):
            return records, "text"
        fields = place, size, topic, queue_id, queue_offset, sys_flag, store_ms, texts
        records.append(_new_found(ScannedRecord, fields))
        pos = end
    return records, ""


def _learn(topics: dict[bytes, str], name: bytes) -> str:
    """Return the topic of these bytes and add it to ``topics``; "" if they are not UTF-8."""
    try:
        # All records of a topic share one str, since it is looked up and compared for each.
        topic = topics[name] = intern(name.decode())
    except UnicodeDecodeError:
        return ""
    return topic


def _long_hosts(data: bytes, pos: int, sys_flag: int) -> tuple[int, int, int, int]:
    """Return store time, store port, body size and body position if a host is IPv6."""
    host_pos = pos + (68 if sys_flag & BORN_HOST_V6 else 56)
    (store_ms,) = _I64.unpack_from(data, host_pos)
    host_pos += 24 if sys_flag & STORE_HOST_V6 else 12
    (port,) = _I32.unpack_from(data, host_pos)
    (body_size,) = _I32.unpack_from(data, host_pos + 16)
    return store_ms, port, body_size, host_pos + 20


class LogWalk:
    """Scans the files of a log.

    Args:
        log: the log that has the files.
        bases: log offsets at which the files start, sorted; a missing one is a gap.
        doubtful_from: log offset from which bytes may be zeros because they were never synced.
            A record there with a NUL in its topic or properties, which its CRC does not
            cover, is rejected. None if everything was synced.
    """

    def __init__(
        self, log: CommitLog, bases: Sequence[int], *, doubtful_from: int | None = None
    ) -> None:
        self._doubtful_from = maxsize if doubtful_from is None else doubtful_from
        self._log = log
        self._bases = bases

    def items(self, start: int) -> Generator[list[ScannedRecord] | FileEnd | LogGap, None, None]:
        """Yield records, blanks and gaps in order from log offset ``start`` (a record's start).

        Adjacent records are yielded together in lists.
        """
        expected = None
        for base in self._bases:
            if base + self._log.file_size <= start:
                continue
            if expected is not None and base != expected:
                yield LogGap(expected, base, "missing file")
            yield from self._file_items(base, max(start - base, 0))
            expected = base + self._log.file_size

    def _file_items(
        self, base: int, pos: int
    ) -> Generator[list[ScannedRecord] | FileEnd | LogGap, None, None]:
        size_max = self._log.file_size
        windows = FileWindows(self._log.file_at(base), pos, file_size=size_max)
        try:
            while pos < size_max:
                # Records may be missed because the window ends too early; then look again.
                item = self._records_at(windows, base, pos)[0] or self._item_at(windows, base, pos)
                if isinstance(item, str):
                    end = size_max if item == ZEROS else self._next_good(windows, base, pos)
                    yield LogGap(base + pos, base + end, item)
                    pos = end
                elif isinstance(item, FileEnd):
                    yield item
                    pos = size_max
                else:
                    yield item
                    last = item[-1]
                    pos = last.log_offset + last.size - base
        finally:
            windows.close()

    def _records_at(
        self, windows: FileWindows, base: int, pos: int
    ) -> tuple[list[ScannedRecord], str]:
        """Return the records in the window from ``pos`` on, and why they end."""
        return parse_records(
            windows.data,
            pos - windows.start,
            log_offset=base + pos,
            left=self._log.file_size - pos,
            doubtful_from=self._doubtful_from,
        )

    def _item_at(
        self, windows: FileWindows, base: int, pos: int
    ) -> list[ScannedRecord] | FileEnd | str:
        """Return what begins at ``pos``, or why nothing does; may move the window."""
        left = self._log.file_size - pos
        window_pos = windows.move(pos, RECORD_SIZE_MIN)
        if len(windows.data) - window_pos < _BLANK.size:
            return "truncated"
        size, magic = _BLANK.unpack_from(windows.data, window_pos)
        if magic == MAGIC_BLANK:
            return FileEnd(base + pos, base + self._log.file_size) if size == left else "blank size"
        if size == 0 and magic == 0:
            if first_data(windows.file, pos, self._log.file_size) is None:
                return ZEROS
        elif magic in _MAGICS and size <= left:
            windows.move(pos, size)
        records, reason = self._records_at(windows, base, pos)
        return records or reason

    def _next_good(self, windows: FileWindows, base: int, pos: int) -> int:
        """Return the position of the next record or blank after ``pos``, or the file size."""
        size_max = self._log.file_size
        start = first_data(windows.file, pos + 1, size_max)
        while start is not None and start < size_max:
            data = windows.file.pread(WINDOW_SIZE, start)
            for magic_pos in magic_positions(data):
                record_pos = start + magic_pos - 4
                if record_pos > pos and not isinstance(
                    self._item_at(windows, base, record_pos), str
                ):
                    return record_pos
            if len(data) < WINDOW_SIZE:
                break
            # The bytes of a magic may be divided between two windows.
            start = first_data(windows.file, start + len(data) - 4, size_max)
        return size_max


def magic_positions(data: bytes) -> list[int]:
    """Return every position in ``data`` that holds a magic; a record begins 4 bytes before it."""
    positions: list[int] = []
    for pattern in _PATTERNS:
        magic_pos = data.find(pattern)
        while magic_pos >= 0:
            positions.append(magic_pos)
            magic_pos = data.find(pattern, magic_pos + 1)
    return sorted(positions)
