"""The body of a batch send: several messages of one topic in one request.

    | size | magic 0 | body_crc 0 | flag | body_size | body | properties_size | properties |

Rule: entries lie one after the other with nothing between. The broker makes one record
of each, with consecutive queue offsets; a batch is never compressed and never delayed.

Source: common/message/MessageDecoder.java#encodeMessage, #decodeMessage,
store/CommitLog.java#MessageExtBatchEncoder (4.9.7).
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout

_HEAD: Final = layout.BATCH_ENTRY.part("body_size").struct()
_HEAD_READ: Final = layout.BATCH_ENTRY.part("body_size").struct(only=("size", "flag", "body_size"))
_I16: Final = struct.Struct(">h")
_FIXED: Final = _HEAD.size + _I16.size
assert _FIXED == 22


class BatchEntry(NamedTuple):
    """One message of a batch; ``properties`` is their raw text."""

    flag: int
    body: bytes
    properties: bytes


class BatchSpan(NamedTuple):
    """Where the parts of one message lie in the body of a batch send, in bytes."""

    flag: int
    body_pos: int
    body_end: int
    properties_pos: int
    end: int


def batch_spans(data: bytes) -> Iterator[BatchSpan]:
    """Yield where the parts of each message lie in ``data``, the body of a batch send.

    Raises:
        RecordDamaged: an entry is cut off, or its lengths do not add up to its size; the entries
            before it were yielded.
    """
    pos, end = 0, len(data)
    while pos < end:
        if end - pos < _FIXED:
            raise _damaged(DamageKind.TRUNCATED, pos, "size", end - pos, _FIXED)
        size, flag, body_size = _HEAD_READ.unpack_from(data, pos)
        body_pos = pos + _HEAD.size
        body_end = body_pos + body_size
        properties_pos = body_end + _I16.size
        if size > end - pos:
            raise _damaged(DamageKind.TRUNCATED, pos, "size", size, end - pos)
        if body_size < 0 or properties_pos > pos + size:
            raise _damaged(DamageKind.BAD_LENGTH, pos, "body_size", body_size, size - _FIXED)
        (properties_size,) = _I16.unpack_from(data, body_end)
        if properties_size < 0 or properties_pos + properties_size != pos + size:
            expected = size - _FIXED - body_size
            raise _damaged(DamageKind.BAD_LENGTH, pos, "properties_size", properties_size, expected)
        pos += size
        yield BatchSpan(flag, body_pos, body_end, properties_pos, pos)


def split_batch(body: bytes) -> list[BatchEntry]:
    """Return the messages of a batch body.

    Raises:
        RecordDamaged: an entry is cut off, or its lengths do not add up to its size.
    """
    return [
        BatchEntry(flag, body[body_pos:body_end], body[properties_pos:end])
        for flag, body_pos, body_end, properties_pos, end in batch_spans(body)
    ]


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
