"""The body of a batch send: several messages of one topic in one request.

    | size | magic 0 | body_crc 0 | flag | body_size | body | properties_size | properties |

Rule: entries lie one after the other with nothing between. The broker makes one record
of each, with consecutive queue offsets; a batch is never compressed and never delayed.

Source: common/message/MessageDecoder.java#encodeMessage, #decodeMessage,
store/CommitLog.java#MessageExtBatchEncoder (4.9.7).
"""

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout

_HEAD: Final = layout.BATCH_ENTRY.part("body_size").struct()
_I16: Final = struct.Struct(">h")
_FIXED: Final = _HEAD.size + _I16.size
assert _FIXED == 22


class BatchEntry(NamedTuple):
    """One message of a batch; ``properties`` is their raw text."""

    flag: int
    body: bytes
    properties: bytes


def split_batch(body: bytes, *, start: int = 0) -> list[BatchEntry]:
    """Return the messages of a batch body from byte ``start`` on, where one of them begins.

    Raises:
        RecordDamaged: an entry is cut off, or its lengths do not add up to its size.
    """
    entries: list[BatchEntry] = []
    pos, end = start, len(body)
    while pos < end:
        if end - pos < _FIXED:
            raise _damaged(DamageKind.TRUNCATED, pos, "size", end - pos, _FIXED)
        size, _, _, flag, body_size = _HEAD.unpack_from(body, pos)
        body_pos = pos + _HEAD.size
        body_end = body_pos + body_size
        if size > end - pos:
            raise _damaged(DamageKind.TRUNCATED, pos, "size", size, end - pos)
        if body_size < 0 or body_end + _I16.size > pos + size:
            raise _damaged(DamageKind.BAD_LENGTH, pos, "body_size", body_size, size - _FIXED)
        (properties_size,) = _I16.unpack_from(body, body_end)
        properties_end = body_end + _I16.size + properties_size
        if properties_size < 0 or properties_end != pos + size:
            raise _damaged(
                DamageKind.BAD_LENGTH,
                pos,
                "properties_size",
                properties_size,
                size - _FIXED - body_size,
            )
        properties = body[body_end + _I16.size : properties_end]
        entries.append(BatchEntry(flag, body[body_pos:body_end], properties))
        pos = properties_end
    return entries


def join_batch(entries: Iterable[BatchEntry]) -> bytes:
    """Return the body of a batch send with these messages, in this order.

    Raises:
        BadCall: properties of more than 32767 bytes, or a flag beyond 32 bits.
    """
    parts: list[bytes] = []
    for flag, body, properties in entries:
        size = _FIXED + len(body) + len(properties)
        try:
            parts += (
                _HEAD.pack(size, 0, 0, flag, len(body)),
                body,
                _I16.pack(len(properties)),
                properties,
            )
        except struct.error as error:
            raise BadCall(
                f"message {len(parts) // 4} of the batch does not fit ({error}): flag {flag}, "
                f"body {len(body)} bytes, properties {len(properties)} of 32767 bytes"
            ) from error
    return b"".join(parts)


def _damaged(kind: DamageKind, pos: int, field: str, found: int, expected: int) -> RecordDamaged:
    return RecordDamaged(
        f"batch entry at byte {pos}: {field} is {found}, expected {expected}; "
        "the producer's batch encoding is wrong or the body was cut",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )
