"""``epochFileCheckpoint``: under which masters the parts of a log were written, in controller mode.

    2            number of entries
    891011744    CRC-32 of the entry lines, & 0x7fffffff; 0 is not checked
    1-0          epoch 1 begins at log offset 0
    2-256632

Rule: epochs and offsets grow from line to line. Java never writes an empty list. A damaged file is
an error, since a log without its epochs would be taken for that of a new replica and overwritten.
(Java then takes an empty list.)

Source: store/ha/autoswitch/EpochFileCache.java, common/utils/CheckpointFile.java (5.4.0).
"""

import itertools
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from storefmt.errors import ConfigDamaged

FILE_NAME: Final = "epochFileCheckpoint"
EPOCH_MAX: Final = (1 << 31) - 1
OFFSET_MAX: Final = (1 << 63) - 1
ENTRIES_MAX: Final = 1_000_000
"""Largest number of entries that is read."""


class EpochStart(NamedTuple):
    """One epoch and the log offset of its first byte."""

    epoch: int
    start_offset: int


def decode(data: bytes) -> list[EpochStart]:
    """Return the epochs of a file, the oldest first.

    Raises:
        ConfigDamaged: the file is not whole, or its entries are not in order.
    """
    try:
        lines = data.decode("ascii").splitlines(keepends=True)
    except UnicodeDecodeError as error:
        raise ConfigDamaged(f"byte {error.start} is not ASCII") from None
    if len(lines) < 2:
        raise ConfigDamaged(f"{len(lines)} lines, expected the count, the CRC and the entries")
    count = _number(lines[0], high=ENTRIES_MAX, name="line 1, the number of entries")
    crc = _number(lines[1], high=EPOCH_MAX, name="line 2, the CRC of the entries")
    entries = [_entry(line, number) for number, line in enumerate(lines[2:], 3)]
    if len(entries) != count:
        raise ConfigDamaged(f"{len(entries)} entries, expected {count}")
    content = "".join(line.rstrip("\n") + "\n" for line in lines[2:])
    if crc and crc != _crc(content):
        raise ConfigDamaged(f"the entries have CRC {_crc(content)}, expected {crc}")
    for number, (before, after) in enumerate(itertools.pairwise(entries), 4):
        if not (before.epoch < after.epoch and before.start_offset < after.start_offset):
            raise ConfigDamaged(f"line {number}: {_line(after)} after {_line(before)}")
    return entries


def encode(entries: Sequence[EpochStart]) -> str:
    """Return the text of the file."""
    content = "".join(_line(entry) + "\n" for entry in entries)
    return f"{len(entries)}\n{_crc(content)}\n{content}"


def common_end(
    ours: Sequence[EpochStart], *, our_end: int, theirs: Sequence[EpochStart], their_end: int
) -> int | None:
    """Return the log offset up to which two logs are the same.

    The newest epoch that begins at the same offset in both logs decides: they are the same up to
    the point at which the first of them ends it.

    Args:
        ours: the epochs of a log, the oldest first.
        our_end: its end.
        theirs: the epochs of another log.
        their_end: its end.

    Returns:
        The offset, or None if they have no epoch in common.

    Source: store/ha/autoswitch/EpochFileCache.java#findConsistentPoint.
    """
    their_ends = dict(zip(theirs, _ends(theirs, their_end), strict=True))
    for entry, end in reversed(list(zip(ours, _ends(ours, our_end), strict=True))):
        if entry in their_ends:
            return min(end, their_ends[entry])
    return None


def appended(entries: Sequence[EpochStart], epoch: int, start_offset: int) -> list[EpochStart]:
    """Return the epochs after a new one began at ``start_offset``.

    An epoch in which nothing was written leaves no entry, since two may not begin at one offset.

    Raises:
        ValueError: the epoch is not higher than the newest one that has bytes.
    """
    kept = [entry for entry in entries if entry.start_offset < start_offset]
    if kept and kept[-1].epoch >= epoch:
        raise ValueError(f"epoch {epoch} follows epoch {kept[-1].epoch}")
    return [*kept, EpochStart(epoch, start_offset)]


def cut(entries: Sequence[EpochStart], end_offset: int) -> list[EpochStart]:
    """Return the epochs of a log whose bytes from ``end_offset`` on were removed."""
    return [entry for entry in entries if entry.start_offset < end_offset]


def epoch_at(entries: Sequence[EpochStart], log_offset: int) -> EpochStart | None:
    """Return the epoch under which a byte was written, or None if it is older than all."""
    return next((entry for entry in reversed(entries) if entry.start_offset <= log_offset), None)


def _ends(entries: Sequence[EpochStart], log_end: int) -> list[int]:
    return [entry.start_offset for entry in entries[1:]] + [log_end] * bool(entries)


def _entry(line: str, number: int) -> EpochStart:
    epoch, separator, start_offset = line.rstrip("\n").partition("-")
    if not separator:
        raise ConfigDamaged(f"line {number}: {line.strip()[:40]!r}, expected epoch-offset")
    return EpochStart(
        _number(epoch, high=EPOCH_MAX, name=f"line {number}, the epoch"),
        _number(start_offset, high=OFFSET_MAX, name=f"line {number}, the offset"),
    )


def _number(text: str, *, high: int, name: str) -> int:
    digits = text.rstrip("\n")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 19 or int(digits) > high:
        raise ConfigDamaged(f"{name}: {digits[:40]!r}, expected 0 to {high}")
    return int(digits)


def _line(entry: EpochStart) -> str:
    return f"{entry.epoch}-{entry.start_offset}"


def _crc(content: str) -> int:
    return zlib.crc32(content.encode()) & 0x7FFF_FFFF
