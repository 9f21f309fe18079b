"""Walks a commit log: from record to record, and over damage to the next one.

    | record | record | blank        |     a rolled file
    | record | record | 0 0 0 0 0 …  |     the newest file: ``End``
    | record | damage | record …     |     ``Damage`` says what and how much was skipped

Rule: a damaged record costs itself and nothing else. Where only its CRC or text is
wrong its size holds and the next record follows at once. Otherwise the file is searched
for the next magic whose record says that it lies exactly there (``log_offset`` = base +
position); the same search starts a reader in the middle of a file. (A body that holds a
record made for exactly its own position would deceive the search; nothing else does.)
Memory is bounded by one window and one record.

Source: store/CommitLog.java#checkMessageAndReturnSize, which stops at the first damage.
"""

import os
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from storefmt import layout
from storefmt.errors import DamageKind, RecordDamaged
from storefmt.message import (
    BLANK_SIZE_MIN,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_SIZE_MIN,
    Record,
    decode_record,
)
from storefmt.paths import parse_log_file_name

WINDOW_SIZE: Final = 1 << 20
RECORD_SIZE_MAX: Final = 64 << 20
"""A record that claims more is taken for damaged; RocketMQ's own limit is a 4 MiB body."""

_HEAD: Final = layout.MESSAGE.part("log_offset").struct()
_SIZE_MAGIC: Final = layout.BLANK.struct()
_MAGIC_POS: Final = layout.MESSAGE.part("size").struct().size
_MAGIC: Final = re.compile(
    b"|".join(re.escape(struct.pack(">i", magic)) for magic in (MAGIC_V1, MAGIC_V2))
)
_SIZE_HOLDS: Final = (DamageKind.BAD_CRC, DamageKind.BAD_TEXT)

Read = Callable[[int, int], bytes]
"""Takes a position and a size in a file; gives fewer bytes only at the end of the file."""


class Blank(NamedTuple):
    """The filler at the end of a file; ``size`` is what it says, ``left`` what is left."""

    pos: int
    size: int
    left: int


class End(NamedTuple):
    """Zeros, and no record from here to the end of the file: the end of the data."""

    pos: int


class Damage(NamedTuple):
    """``size`` bytes at ``pos`` of a file that are no good record, and why."""

    pos: int
    size: int
    error: RecordDamaged


LogItem = Record | Blank | End | Damage


def scan_log(data: bytes | memoryview, pos: int, end: int) -> tuple[list[int], int]:
    """Return where records start, by looking at nothing but sizes and magics.

    Args:
        data: part of a commit log file, with a record starting at ``pos``.
        end: only records that end at or before it are returned.

    Returns:
        The starts, and the position behind the last of these records: there is no
        record, or one that does not end before ``end``. What is in the records was not
        checked.
    """
    starts: list[int] = []
    append, unpack = starts.append, _SIZE_MAGIC.unpack_from
    usual, last = MAGIC_V1, end - _SIZE_MAGIC.size
    while pos <= last:
        size, magic = unpack(data, pos)
        if (magic != usual and magic != MAGIC_V2) or size < RECORD_SIZE_MIN:
            return starts, pos
        append(pos)
        pos += size
    if pos > end:
        pos = starts.pop()
    return starts, pos


def next_start(
    read: Read,
    pos: int,
    *,
    base: int,
    end: int,
    data_after: Callable[[int], int] = lambda pos: pos,
) -> int | None:
    """Return where the first record at or behind ``pos`` starts, None for none before ``end``.

    Args:
        base: log offset (bytes) of the file's first byte, as its records say it.
        data_after: may jump over a hole of a sparse file, to the first byte that is none.
    """
    while pos < end:
        pos = data_after(pos)
        # Windows overlap by a head, so that none is cut at the end of its window.
        window = read(pos, WINDOW_SIZE + _HEAD.size)
        if len(window) < _HEAD.size:
            return None
        for found in _MAGIC.finditer(window):
            start = found.start() - _MAGIC_POS
            if 0 <= start <= len(window) - _HEAD.size:
                size, *_, log_offset = _HEAD.unpack_from(window, start)
                if log_offset == base + pos + start and size >= RECORD_SIZE_MIN:
                    return pos + start if pos + start < end else None
        pos += len(window) - _HEAD.size + 1
    return None


def walk(
    read: Read,
    *,
    base: int,
    size: int,
    start: int = 0,
    check_crc: bool = True,
    data_after: Callable[[int], int] = lambda pos: pos,
) -> Iterator[LogItem]:
    """Yield every record of one file, and what is between and behind them.

    Args:
        base: log offset (bytes) of the file's first byte.
        size: size of the file in bytes.
        start: position in the file where a record starts.
        data_after: as in ``next_start``.

    Yields:
        Records in order; the last item is a Blank, an End, or a Damage that reaches to
        the end of the file; nothing of them when the last record ends with the file.
    """
    window = _Window(read)
    pos = start
    while pos < size:
        try:
            item = _item_at(window, pos, size - pos, check_crc)
        except RecordDamaged as error:
            resumed = _resume(error, window, pos, base=base, size=size, data_after=data_after)
            if error.kind == DamageKind.ZEROS and resumed == size:
                yield End(pos)
                return
            yield Damage(pos, resumed - pos, error)
            pos = resumed
            continue
        yield item
        if not isinstance(item, Record):
            return
        pos += item.size


def iter_log(
    directory: Path, *, start: int | None = None, check_crc: bool = True
) -> Iterator[LogItem]:
    """Yield the items of every file of a commit log directory, in order.

    Args:
        start: log offset (bytes) at which a record starts; from the oldest when None.

    Raises:
        OSError: the directory or a file cannot be read.
    """
    for path in log_files(directory):
        with LogFile(path) as file:
            if start is not None and start >= file.base + file.size:
                continue
            first = 0 if start is None else max(start - file.base, 0)
            yield from walk(
                file.read,
                base=file.base,
                size=file.size,
                start=first,
                check_crc=check_crc,
                data_after=file.data_after,
            )


def log_files(directory: Path) -> list[Path]:
    """Return the files of a commit log directory in the order of their offsets.

    Files with other names (as a copy left by hand) are not returned.
    """
    return sorted(
        path for path in directory.iterdir() if parse_log_file_name(path.name) is not None
    )


class LogFile:
    """One commit log file, open for reading; the size is that of the moment of opening."""

    __slots__ = ("_fd", "base", "name", "size")

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.base = parse_log_file_name(path.name) or 0
        self._fd = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._fd).st_size

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def read(self, pos: int, size: int) -> bytes:
        """Return ``size`` bytes at ``pos``, fewer at the end of the file."""
        return os.pread(self._fd, size, pos)

    def read_into(self, buffer: memoryview, pos: int) -> int:
        """Fill ``buffer`` from ``pos`` on; return how many bytes there were."""
        done = 0
        while done < len(buffer):
            count = os.preadv(self._fd, [buffer[done:]], pos + done)
            if count == 0:
                break
            done += count
        return done

    def data_after(self, pos: int) -> int:
        """Return the first position at or behind ``pos`` that lies in no hole of the file."""
        try:
            return os.lseek(self._fd, pos, os.SEEK_DATA)
        except OSError:
            # ENXIO: nothing but a hole is left. A file system without holes never says so.
            return self.size


class _Window:
    """The bytes around the walk, read once and looked at in place."""

    __slots__ = ("_data", "_pos", "read")

    def __init__(self, read: Read) -> None:
        self.read = read
        self._data, self._pos = b"", 0

    def locate(self, pos: int, size: int) -> tuple[bytes, int]:
        """Return bytes that hold ``size`` bytes from ``pos`` (fewer at the end), and where."""
        start = pos - self._pos
        if start + size > len(self._data):
            self._data, self._pos = self.read(pos, max(size, WINDOW_SIZE)), pos
            start = 0
        return self._data, start


def _item_at(window: _Window, pos: int, left: int, check_crc: bool) -> LogItem:
    if left < BLANK_SIZE_MIN:
        raise _damaged(DamageKind.TRUNCATED, pos, "size", left, BLANK_SIZE_MIN)
    data, at = window.locate(pos, BLANK_SIZE_MIN)
    if len(data) - at < BLANK_SIZE_MIN:
        raise _damaged(DamageKind.TRUNCATED, pos, "size", len(data) - at, left)
    size, magic = _SIZE_MAGIC.unpack_from(data, at)
    if magic == MAGIC_BLANK:
        if size != left:
            raise _damaged(DamageKind.BAD_SIZE, pos, "size", size, left)
        return Blank(pos, size, left)
    if size == 0 and magic == 0:
        raise _damaged(DamageKind.ZEROS, pos, "size", 0, RECORD_SIZE_MIN)
    known = magic in (MAGIC_V1, MAGIC_V2)
    if known and size > min(left, RECORD_SIZE_MAX):
        kind = DamageKind.BAD_SIZE if size > RECORD_SIZE_MAX else DamageKind.TRUNCATED
        raise _damaged(kind, pos, "size", size, min(left, RECORD_SIZE_MAX))
    data, at = window.locate(pos, max(size, BLANK_SIZE_MIN) if known else BLANK_SIZE_MIN)
    return decode_record(data, at, check_crc=check_crc, shift=pos - at)


def _resume(
    error: RecordDamaged,
    window: _Window,
    pos: int,
    *,
    base: int,
    size: int,
    data_after: Callable[[int], int],
) -> int:
    """Return where to go on behind the damage at ``pos``; ``size`` for nowhere."""
    if error.kind in _SIZE_HOLDS:
        data, at = window.locate(pos, _SIZE_MAGIC.size)
        record_size: int = _SIZE_MAGIC.unpack_from(data, at)[0]
        return pos + record_size
    found = next_start(window.read, pos + 1, base=base, end=size, data_after=data_after)
    return size if found is None else found


def _damaged(kind: DamageKind, pos: int, field: str, found: int, expected: int) -> RecordDamaged:
    return RecordDamaged(
        f"commit log at byte {pos} of its file: {kind.value.replace('_', ' ')}, {field} is "
        f"{found}, expected {expected}; run `mqadmin storeVerify` on a copy of the store",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )
