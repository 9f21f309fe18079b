"""Scans a commit log file from record to record, and skips damage to the next good record.

    | record | record | blank        |     a rolled file
    | record | record | 0 0 0 0 0 …  |     the newest file: ``End``
    | record | damage | record …     |     ``Damage`` says what and how much was skipped

Rule: a damaged record does not hide the records after it. Where only its CRC or a text is wrong,
its size is still right and the next record follows at once. Otherwise the scan searches for the
next magic whose record says that it lies exactly there (``log_offset`` = base + position). A
reader that starts in the middle of a file uses the same search. (Only a body that contains a
record made for exactly its own position would deceive the search.) Memory is bounded by one
window and one record.

Source: store/CommitLog.java#checkMessageAndReturnSize, which stops at the first damage.
"""

import os
import re
import struct
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.message import (
    BLANK_SIZE_MIN,
    CRC_MASK,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_SIZE_MIN,
    Record,
    crc32,
    decode_record,
)
from storefmt.formats.sysflag import BORN_HOST_V6, HOSTS_V6, STORE_HOST_V6
from storefmt.kernels import load
from storefmt.paths import parse_log_file_name
from storefmt.remote_file import remote_file_of

WINDOW_SIZE: Final = 1 << 20
RECORD_SIZE_MAX: Final = 64 << 20
"""A record with a larger size field counts as damaged; RocketMQ itself limits bodies to 4 MiB."""

RECORD_HEAD: Final = layout.MESSAGE.part("log_offset").struct()
"""The fields of a record from its size to its own log offset."""
_SIZE_MAGIC: Final = layout.BLANK.struct()
# The fields of a head that a look at the CRC needs, everything else as padding.
_CRC_HEAD: Final = layout.MESSAGE.part("body_size").struct(
    only=("size", "magic", "body_crc", "sys_flag", "body_size")
)
_V6_GROWTH: Final = {BORN_HOST_V6: 12, STORE_HOST_V6: 12, HOSTS_V6: 24}
MAGIC_POS: Final = layout.MESSAGE.part("size").struct().size
MAGIC: Final = re.compile(
    b"|".join(re.escape(struct.pack(">i", magic)) for magic in (MAGIC_V1, MAGIC_V2))
)
SIZE_HOLDS: Final = (DamageKind.BAD_CRC, DamageKind.BAD_TEXT)
"""Kinds of damage after which the size of the record can still be right."""

Read = Callable[[int, int], bytes]
"""Takes a position and a size in a file; gives fewer bytes only at the end of the file."""
# Named as text: an array type takes no parameter before Python 3.12.
RecordStarts: TypeAlias = "tuple[array[int], int]"
"""Where records start, and the position after the last of them."""
Scan = Callable[[memoryview, int, int, bool], RecordStarts]


class Blank(NamedTuple):
    """The filler at the end of a file; ``size`` is what it says, ``left`` what is left."""

    pos: int
    size: int
    left: int


class End(NamedTuple):
    """Zeros, and no record from here to the end of the file: the end of the data."""

    pos: int


class Damage(NamedTuple):
    """``size`` bytes at ``pos`` of a file that are not a good record, and the reason."""

    pos: int
    size: int
    error: RecordDamaged


LogItem = Record | Blank | End | Damage


def scan_log(
    data: bytes | memoryview, pos: int, end: int, *, check_crc: bool = False
) -> RecordStarts:
    """Return where records start; only sizes, magics and (if asked) CRCs are checked.

    Args:
        data: part of a commit log file, with a record starting at ``pos``.
        end: only records that end at or before it are returned.
        check_crc: also stop before a record whose body does not fit its CRC (or its size).

    Returns:
        The starts as 64-bit numbers, and the position after the last of these records:
        there is no good record, or one that does not end before ``end``. What else is in
        the records was not checked.

    Raises:
        BadCall: ``pos`` to ``end`` is not within ``data``.
    """
    if not 0 <= pos <= end <= len(data):
        raise BadCall(f"scan from byte {pos} to {end} of {len(data)}; give a part of the data")
    return _scan(memoryview(data), pos, end, check_crc)


def scan_pure(data: memoryview, pos: int, end: int, check_crc: bool) -> RecordStarts:
    """Do what ``scan_log`` does, in plain Python."""
    if check_crc:
        return _scan_crc(data, pos, end)
    starts = array("q")
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


def _scan_crc(data: memoryview, pos: int, end: int) -> RecordStarts:
    starts = array("q")
    append, unpack, crc_of, mask = starts.append, _CRC_HEAD.unpack_from, crc32, CRC_MASK
    head_size, usual, last = _CRC_HEAD.size, MAGIC_V1, end - RECORD_SIZE_MIN
    while pos <= last:
        size, magic, crc, sys_flag, body_size = unpack(data, pos)
        body_pos = pos + head_size
        if sys_flag & HOSTS_V6:
            body_pos += _V6_GROWTH[sys_flag & HOSTS_V6]
            body_size = int.from_bytes(data[body_pos - 4 : body_pos], "big", signed=True)
        body_end, behind = body_pos + body_size, pos + size
        if behind > end or not body_pos <= body_end <= behind:
            break
        if magic != usual and magic != MAGIC_V2:
            break
        if body_size and crc_of(data[body_pos:body_end]) & mask != crc:
            break
        append(pos)
        pos = behind
    return starts, pos


_scan: Scan = load("storefmt.formats.scan_kernel", "scan_compiled", pure=scan_pure)


def next_start(
    read: Read,
    pos: int,
    *,
    base: int,
    end: int,
    data_after: Callable[[int], int] = lambda pos: pos,
) -> int | None:
    """Return where the first record at or after ``pos`` starts, None for none before ``end``.

    Args:
        base: log offset (bytes) of the file's first byte, as its records say it.
        data_after: may jump over a hole of a sparse file, to the first byte after it.
    """
    while pos < end:
        pos = data_after(pos)
        # Windows overlap by a head, so that none is cut at the end of its window.
        window = read(pos, WINDOW_SIZE + RECORD_HEAD.size)
        if len(window) < RECORD_HEAD.size:
            return None
        for match in MAGIC.finditer(window):
            start = match.start() - MAGIC_POS
            if 0 <= start <= len(window) - RECORD_HEAD.size:
                size, *_, log_offset = RECORD_HEAD.unpack_from(window, start)
                if log_offset == base + pos + start and size >= RECORD_SIZE_MIN:
                    return pos + start if pos + start < end else None
        pos += len(window) - RECORD_HEAD.size + 1
    return None


def scan_items(
    read: Read,
    *,
    base: int,
    size: int,
    start: int = 0,
    check_crc: bool = True,
    data_after: Callable[[int], int] = lambda pos: pos,
) -> Iterator[LogItem]:
    """Yield every record of one file, and the damage, blank or end between and after them.

    Args:
        base: log offset (bytes) of the file's first byte.
        size: size of the file in bytes.
        start: position in the file where a record starts.
        data_after: as in ``next_start``.

    Yields:
        Records and damage in order. The last item is a Blank, an End, or a Damage that reaches to
        the end of the file, unless the last record ends there.
    """
    pos = start
    while pos < size:
        # The usual case: records that lie wholly in the window.
        window, window_pos, good = read(pos, WINDOW_SIZE), 0, True
        while good:
            try:
                record = decode_record(window, window_pos, check_crc=check_crc, shift=pos)
            except RecordDamaged:
                good = False
            else:
                yield record
                window_pos += record.size
        pos += window_pos
        if window_pos:
            continue
        # The window began with something else, or with a record larger than itself.
        try:
            item = _item_at(read, pos, size - pos, check_crc)
        except RecordDamaged as error:
            resumed = _resume(error, read, pos, base=base, size=size, data_after=data_after)
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


def offset_mismatch(record: Record, pos: int, *, base: int) -> Damage | None:
    """Return the damage if a record says that it lies elsewhere, else None.

    Args:
        pos: its position in the file.
        base: log offset of the file's first byte.
    """
    if record.log_offset == base + pos:
        return None
    error = _damaged(DamageKind.OFFSET_MISMATCH, pos, "log_offset", record.log_offset, base + pos)
    return Damage(pos, record.size, error)


def name_mismatch(file: "LogFile", base: int) -> Damage | None:
    """Return the damage if the records of a file lie at ``base``, which is not its name."""
    if base == file.base:
        return None
    error = RecordDamaged(
        f"{file.name} has the records of the file at {base:020d}; rename it on a copy of the store",
        kind=DamageKind.WRONG_FILE_NAME,
        field="log_offset",
        found=base,
        expected=file.base,
    )
    return Damage(0, file.size, error)


def log_files(directory: Path) -> list[Path]:
    """Return the files of a commit log directory in the order of their offsets.

    Files with other names (such as a copy made by hand) are not returned.
    """
    return sorted(
        path for path in directory.iterdir() if parse_log_file_name(path.name) is not None
    )


class LogFile:
    """One commit log file, open for reading; the size is that of the moment of opening."""

    __slots__ = ("_fd", "_remote", "base", "name", "size")

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.base = parse_log_file_name(path.name) or 0
        self._remote = remote_file_of(path)
        if self._remote is None:
            self._fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            self.size = os.fstat(self._fd).st_size
        else:
            self.size = self._remote.size

    def __enter__(self) -> "LogFile":
        return self

    def __exit__(self, *_: object) -> None:
        if self._remote is None:
            os.close(self._fd)
        else:
            self._remote.close()

    def read(self, pos: int, size: int) -> bytes:
        """Return ``size`` bytes at ``pos``, fewer at the end of the file."""
        return (
            os.pread(self._fd, size, pos) if self._remote is None else self._remote.read(pos, size)
        )

    def read_into(self, buffer: memoryview, pos: int) -> int:
        """Fill ``buffer`` from ``pos`` on; return how many bytes there were."""
        if self._remote is not None:
            data = self._remote.read(pos, len(buffer))
            buffer[: len(data)] = data
            return len(data)
        filled_size = 0
        while filled_size < len(buffer):
            count = os.preadv(self._fd, [buffer[filled_size:]], pos + filled_size)
            if count == 0:
                break
            filled_size += count
        return filled_size

    def data_after(self, pos: int) -> int:
        """Return the first position at or after ``pos`` that lies in no hole of the file.

        The result is up to 4 bytes earlier, since a hole may hold the zeros in front of a record's
        size.
        """
        if self._remote is not None:
            return min(pos, self.size)
        try:
            return max(pos, os.lseek(self._fd, pos, os.SEEK_DATA) - MAGIC_POS)
        except OSError:
            # ENXIO: only a hole is left. A file system without holes never reports it.
            return self.size

    def data_end(self) -> int:
        """Return the position after which only a hole is left; 0 if the file is one hole."""
        end = pos = 0
        while self._remote is None and pos < self.size:
            try:
                first = os.lseek(self._fd, pos, os.SEEK_DATA)
                end = pos = min(os.lseek(self._fd, first, os.SEEK_HOLE), self.size)
            except OSError:
                return end
        return self.size if self._remote is not None else end


def _item_at(read: Read, pos: int, left: int, check_crc: bool) -> LogItem:
    head = read(pos, min(left, BLANK_SIZE_MIN))
    if len(head) < BLANK_SIZE_MIN:
        raise _damaged(DamageKind.TRUNCATED, pos, "size", len(head), BLANK_SIZE_MIN)
    size, magic = _SIZE_MAGIC.unpack(head)
    if magic == MAGIC_BLANK:
        if size != left:
            raise _damaged(DamageKind.BAD_SIZE, pos, "size", size, left)
        return Blank(pos, size, left)
    if size == 0 and magic == 0:
        raise _damaged(DamageKind.ZEROS, pos, "size", 0, RECORD_SIZE_MIN)
    is_record = magic in (MAGIC_V1, MAGIC_V2)
    if is_record and size > min(left, RECORD_SIZE_MAX):
        kind = DamageKind.BAD_SIZE if size > RECORD_SIZE_MAX else DamageKind.TRUNCATED
        raise _damaged(kind, pos, "size", size, min(left, RECORD_SIZE_MAX))
    data = read(pos, max(size, RECORD_SIZE_MIN)) if is_record else head
    return decode_record(data, check_crc=check_crc, shift=pos)


def _resume(
    error: RecordDamaged,
    read: Read,
    pos: int,
    *,
    base: int,
    size: int,
    data_after: Callable[[int], int],
) -> int:
    """Return where to continue after the damage at ``pos``; ``size`` if nothing follows."""
    if error.kind in SIZE_HOLDS:
        return pos + int.from_bytes(read(pos, MAGIC_POS), "big", signed=True)
    start = next_start(read, pos + 1, base=base, end=size, data_after=data_after)
    return size if start is None else start


def _damaged(kind: DamageKind, pos: int, field: str, found: int, expected: int) -> RecordDamaged:
    return RecordDamaged(
        f"commit log at byte {pos} of its file: {kind.value.replace('_', ' ')}, {field} is "
        f"{found}, expected {expected}; run `mqadmin store verify` on a copy of the store",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )
