"""The bits of a record's ``sys_flag``, and the compression they name.

    10 9 8 | 7 6                       | 5 4            | 3 2         | 1          | 0
    codec  | 5.x: inner batch, wrapped | v6 store, born | transaction | multi tags | compressed

Rule: the codec bits only count when bit 0 is set. The values 0 and 0x300 both mean zlib, because
old clients had no other codec. The broker never reads a body.

Source: common/sysflag/MessageSysFlag.java, common/compression/CompressionType.java.
"""

import zlib
from enum import IntEnum
from typing import Final

from storefmt.errors import BadCall, DamageKind, RecordDamaged

COMPRESSED: Final = 0x1
MULTI_TAGS: Final = 0x2
TRANSACTION_MASK: Final = 0xC
TRANSACTION_NONE: Final = 0
TRANSACTION_PREPARED: Final = 0x4
TRANSACTION_COMMIT: Final = 0x8
TRANSACTION_ROLLBACK: Final = 0xC
BORN_HOST_V6: Final = 0x10
STORE_HOST_V6: Final = 0x20
HOSTS_V6: Final = BORN_HOST_V6 | STORE_HOST_V6
NEED_UNWRAP: Final = 0x40
"""5.x: the record wraps another message."""
INNER_BATCH: Final = 0x80
"""5.x: the body holds as many messages as the property INNER_NUM says."""
COMPRESSION_MASK: Final = 0x700


class Compression(IntEnum):
    """The codec of a body; the value is what the codec bits of ``sys_flag`` hold."""

    LZ4 = 0x100
    ZSTD = 0x200
    ZLIB = 0x300


def compression_of(sys_flag: int) -> Compression | None:
    """Return the codec that ``sys_flag`` names, None for a plain body.

    Raises:
        RecordDamaged: the codec bits do not name a codec (0x400 and up).
    """
    if not sys_flag & COMPRESSED:
        return None
    bits = sys_flag & COMPRESSION_MASK
    if bits == 0:
        return Compression.ZLIB
    if bits > Compression.ZLIB:
        raise RecordDamaged(
            f"sys_flag {sys_flag:#x} names compression {bits:#x}, expected 0x100 (lz4), "
            "0x200 (zstd), 0x300 or 0 (zlib)",
            kind=DamageKind.BAD_BODY,
            field="sys_flag",
            found=bits,
        )
    return Compression(bits)


def inflate(body: bytes, sys_flag: int, *, size_max: int) -> bytes:
    """Return the body as the producer gave it, decompressed where ``sys_flag`` says so.

    Args:
        body: as stored.
        size_max: largest size to produce, in bytes; at most a few MiB more are decompressed to
            find out that the body is larger.

    Raises:
        RecordDamaged: the body is not what the codec writes, or grows beyond ``size_max``.
        BadCall: the library of the codec is not installed.
    """
    codec = compression_of(sys_flag)
    if codec is None:
        return bytes(body)
    try:
        data, finished = _DECOMPRESS[codec](bytes(body), size_max)
    except _Broken as broken:
        raise RecordDamaged(
            f"body of {len(body)} bytes is not {codec.name.lower()}: {broken}; "
            "read it without decompression to see the bytes",
            kind=DamageKind.BAD_BODY,
            field="body",
            found=codec.name.lower(),
        ) from broken
    if len(data) > size_max or not finished:
        raise RecordDamaged(
            f"body of {len(body)} bytes ({codec.name.lower()}) is cut off or grows beyond "
            f"{size_max} bytes; raise the limit to read such messages",
            kind=DamageKind.BAD_BODY,
            field="body",
            found=len(data),
            expected=size_max,
        )
    return data


class _Broken(Exception):
    """The codec refused the bytes."""


# This library has no limit on what it gives; a block of 128 KiB takes 4 bytes at least.
_ZSTD_PIECE: Final = 256

# Each produces little more than allowed, enough to show that the body is too large.


def _zlib(body: bytes, size_max: int) -> tuple[bytes, bool]:
    inflater = zlib.decompressobj()
    try:
        return inflater.decompress(body, size_max + 1), inflater.eof
    except zlib.error as error:
        raise _Broken(str(error)) from error


def _lz4(body: bytes, size_max: int) -> tuple[bytes, bool]:
    try:
        import lz4.frame
    except ImportError:
        raise _missing("lz4", Compression.LZ4) from None
    inflater = lz4.frame.LZ4FrameDecompressor()
    try:
        return inflater.decompress(body, max_length=size_max + 1), inflater.eof
    except RuntimeError as error:
        raise _Broken(str(error)) from error


def _zstd(body: bytes, size_max: int) -> tuple[bytes, bool]:
    try:
        import zstandard
    except ImportError:
        raise _missing("zstandard", Compression.ZSTD) from None
    inflater = zstandard.ZstdDecompressor().decompressobj()
    data = bytearray()
    try:
        for start in range(0, len(body), _ZSTD_PIECE):
            data += inflater.decompress(body[start : start + _ZSTD_PIECE])
            if inflater.eof or len(data) > size_max:
                break
    except zstandard.ZstdError as error:
        raise _Broken(str(error)) from error
    return bytes(data), inflater.eof


def _missing(library: str, codec: Compression) -> BadCall:
    return BadCall(
        f"body is compressed with {codec.name.lower()} and the library {library} is not "
        f"installed; install it with `pip install {library}`"
    )


_DECOMPRESS: Final = {Compression.ZLIB: _zlib, Compression.LZ4: _lz4, Compression.ZSTD: _zstd}
