"""Checksums of whole records, stored beside a store, which reveal every flipped bit.

    checksums/00000000000000262144      one file a log file, under its name

    0      8          16             24                           -4
    | id   | log_offset | sealed_size | size, crc | size, crc | … | crc of all before |

Rule: the segments follow each other from the start of the log file: records, the blank at its end,
and damage that existed when it was sealed. RocketMQ's own CRC covers only the body of a record;
these checksums cover every byte. A broker ignores the directory. Records that a broker writes
later lie after ``sealed_size``, and the next run seals them. A segment that has changed is never
sealed again.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats.message import Record, crc32
from storefmt.offline.output_dir import OutputDirectory, SparseFile, progress_none
from storefmt.offline.parallel import map_files, workers_for
from storefmt.offline.views.effective_log import ProgressCall
from storefmt.offline.views.log_scan import Blank, Damage, walk_file
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan
from storefmt.store_file import StoreFile

CHECKSUMS: Final = "checksums"
"""The directory at the root of a store."""
IDENTITY: Final = b"MQSEAL01"
HEAD: Final = struct.Struct(">8sqq")
SEGMENT: Final = struct.Struct(">II")
_END: Final = struct.Struct(">I")
_READ_SIZE: Final = 1 << 20
SEGMENT_SIZE_MAX: Final = 64 << 20
_LOG_OFFSET_MAX: Final = (1 << 63) - 1
_POLYNOMIAL: Final = 0xEDB88320
_TRY_SIZE_MAX: Final = 256 << 10
_SPARE: Final = ".tmp"


class SealedSegment(NamedTuple):
    """A part of a log file; ``pos`` and ``size`` in bytes."""

    pos: int
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class SealedFile:
    """The checksums of one log file; ``size`` bytes of it are covered.

    Attributes:
        segments: (size, crc) pairs, packed.
    """

    log_offset: int
    size: int
    segments: bytes

    def __iter__(self) -> Iterator[SealedSegment]:
        pos = 0
        for size, crc in SEGMENT.iter_unpack(self.segments):
            yield SealedSegment(pos, size, crc)
            pos += size

    def encode(self) -> bytes:
        """Return the bytes of the file."""
        data = HEAD.pack(IDENTITY, self.log_offset, self.size) + self.segments
        return data + _END.pack(crc32(data))

    @classmethod
    def decode(cls, data: bytes) -> "SealedFile":
        """Return what a file holds.

        Raises:
            RecordDamaged: the file itself is damaged.
        """
        if len(data) < HEAD.size + _END.size or (len(data) - HEAD.size - _END.size) % SEGMENT.size:
            raise _damaged(f"{len(data)} bytes", DamageKind.TRUNCATED)
        if crc32(data[: -_END.size]) != _END.unpack(data[-_END.size :])[0]:
            raise _damaged("its own checksum does not fit", DamageKind.BAD_CRC)
        identity, log_offset, size = HEAD.unpack_from(data)
        sealed = cls(log_offset, size, data[HEAD.size : -_END.size])
        if identity != IDENTITY or sum(part.size for part in sealed) != size:
            raise _damaged("another format", DamageKind.BAD_MAGIC)
        return sealed


def _damaged(what: str, kind: DamageKind) -> RecordDamaged:
    return RecordDamaged(
        f"checksum file: {what}; recreate it with `store seal` from a store known to be good",
        kind=kind,
    )


@dataclass(frozen=True, slots=True)
class SealResult:
    """The result of sealing one log file.

    Attributes:
        result: ``sealed``, ``extended``, ``unchanged``, or ``differs``: bytes that were
            sealed before have changed, and nothing was written.
        segment_count, size: records and other parts, and bytes that are covered.
        damage_count: parts that were not a record when they were sealed.
    """

    file: str
    result: str
    segment_count: int
    size: int
    damage_count: int


def seal(
    store: StoreView,
    target: Path,
    *,
    jobs: int | None = 1,
    progress: ProgressCall = progress_none,
) -> Iterator[SealResult]:
    """Write the checksums of every log file into ``target``, and yield a result for each.

    Args:
        target: ``checksums`` in the store, or another directory.
        jobs: processes that share the files of a large log; None for one on each core.

    Raises:
        BadCall: the target is not a directory of checksums.
        StoreError: a file of the store cannot be read.
        OSError: a checksum file cannot be written.
    """
    out = _target(target)
    spans, sealed_size = store.log.spans, 0
    total = sum(span.size for span in spans)
    results = map_files(
        _seal_file,
        ((number, out.file(span.path.name)) for number, span in enumerate(spans)),
        make=partial(StoreView, store.tree),
        worker_count=min(workers_for(store.log.data_size, jobs), len(spans)),
    )
    with closing(results):
        for span, result in zip(spans, results, strict=True):
            if result is not None:
                yield result
            sealed_size += span.size
            progress(sealed_size, total)


def _seal_file(store: StoreView, task: tuple[int, Path]) -> SealResult | None:
    """Seal one log file, given by its number; None if the file is empty."""
    number, path = task
    span, base = store.log.spans[number], store.log.bases[number]
    file, name = store.log.open(span), store.span_name(span)
    old = read_sealed(path) if path.exists() else None
    if old is not None and next(changed_segments(file, old), None) is not None:
        return SealResult(name, "differs", 0, old.size, 0)
    if file.first_data() is None:
        return None
    new, damage_count = _segments(file, span, base)
    result = "unchanged" if new == old else "extended" if old else "sealed"
    if new != old:
        _write(path, new.encode())
    return SealResult(name, result, len(new.segments) // SEGMENT.size, new.size, damage_count)


def read_sealed(path: Path) -> SealedFile:
    """Return the checksums in a file.

    Raises:
        StoreError: it cannot be read. RecordDamaged: it is damaged.
    """
    with closing(StoreFile(path)) as file:
        return SealedFile.decode(file.read(0, file.size))


def changed_segments(file: StoreFile, sealed: SealedFile) -> Iterator[tuple[SealedSegment, int]]:
    """Yield each segment that has changed since it was sealed, with its present CRC.

    Raises:
        StoreError: the file cannot be read.
    """
    window, start = b"", 0
    for part in sealed:
        if part.size > _READ_SIZE:
            crc = crc_of(file, part.pos, part.size)
        else:
            if not start <= part.pos <= part.pos + part.size <= start + len(window):
                window, start = file.read(part.pos, 2 * _READ_SIZE), part.pos
            window_pos = part.pos - start
            crc = crc32(memoryview(window)[window_pos : window_pos + part.size])
        if crc != part.crc:
            yield part, crc


def crc_of(file: StoreFile, pos: int, size: int) -> int:
    """Return the CRC-32 of a part of a file, read in windows."""
    crc, end = 0, pos + size
    while pos < end:
        data = file.read(pos, min(_READ_SIZE, end - pos))
        if not data:
            break
        crc = crc32(data, crc)
        pos += len(data)
    return crc


def _segments(file: StoreFile, span: FileSpan, base: int) -> tuple[SealedFile, int]:
    parts, size, damage_count = bytearray(), 0, 0
    for pos, item in walk_file(file, base=base):
        if isinstance(item, Record):
            count = item.size
        elif isinstance(item, Blank):
            count = item.left
        elif isinstance(item, Damage) and pos + item.size < span.size:
            count, damage_count = item.size, damage_count + 1
        elif isinstance(item, Damage):
            # Garbage up to the end is sealed as far as it reaches, so that a broker may continue.
            count, damage_count = file.data_end(pos) - pos, damage_count + 1
        else:
            break
        size += count
        for start in range(pos, pos + count, SEGMENT_SIZE_MAX):
            length = min(SEGMENT_SIZE_MAX, pos + count - start)
            parts += SEGMENT.pack(length, crc_of(file, start, length))
    # Twenty digits of a hostile name are more than the field holds.
    return SealedFile(min(span.start, _LOG_OFFSET_MAX), size, bytes(parts)), damage_count


def _target(path: Path) -> OutputDirectory:
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise BadCall(f"{path} is not a directory; move it away or name another one")
    if path.is_dir():
        # A file that a killed run has not finished is rewritten.
        names = [each.name.removesuffix(_SPARE) for each in path.iterdir()]
        has_only_checksums = all(len(name) == 20 and name.isdigit() for name in names)
        if not has_only_checksums:
            raise BadCall(f"{path} holds files other than checksums; name another directory")
    path.mkdir(parents=True, exist_ok=True)
    return OutputDirectory(path)


def _write(path: Path, data: bytes) -> None:
    """Replace a file by a complete new one, or leave the old one."""
    spare = path.with_name(f"{path.name}{_SPARE}")
    try:
        file = SparseFile(spare, size=len(data))
        try:
            file.pwrite(data, 0)
        finally:
            file.close(sync=True)
        os.replace(spare, path)
    except OSError:
        spare.unlink(missing_ok=True)
        raise


def flipped_bit(found: int, expected: int, size: int) -> int | None:
    """Return the number of the bit (highest bit of a byte first) whose flip explains a CRC.

    Args:
        found, expected: CRC-32 of ``size`` bytes as they are and as they were.

    Returns:
        None where more than one bit differs, or ``size`` is too large to try.
    """
    if size > _TRY_SIZE_MAX:
        return None
    # One flipped bit changes the CRC by a value that only depends on its distance from
    # the end: the register is run backwards over zeros until that value is met.
    difference, register = found ^ expected, _POLYNOMIAL
    for distance in range(8 * size):
        if register == difference:
            byte, bit = divmod(distance, 8)
            # The CRC takes the lowest bit of a byte first.
            return (size - 1 - byte) * 8 + bit
        register = (register >> 1) ^ (_POLYNOMIAL if register & 1 else 0)
    return None
