"""One consume queue ext unit: what does not fit into a consume queue entry.

    0      2           10         18             20
    | size | tags_code | store_ms | bit_map_size | bit_map |

Rule: units lie one after the other; the rest of a file that the next unit did not fit
into starts with size -1. The consume queue entry holds the unit's address (see
``storefmt.formats.consumequeue.is_ext_address``).

Source: store/ConsumeQueueExt.java#CqExtUnit (4.9.7).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout

_HEAD: Final = layout.CONSUME_QUEUE_EXT_UNIT.part("bit_map_size").struct()
UNIT_SIZE_MIN: Final = _HEAD.size
UNIT_SIZE_MAX: Final = 0x7FFF
END_OF_FILE: Final = b"\xff\xff"
"""What stands in place of the size where a file has no room for the next unit."""
assert UNIT_SIZE_MIN == 20


class ExtUnit(NamedTuple):
    """One unit; the bit map says which groups' filters match the message."""

    tags_code: int
    store_ms: int
    bit_map: bytes

    @property
    def size(self) -> int:
        """Bytes the unit takes."""
        return UNIT_SIZE_MIN + len(self.bit_map)


def encode_unit(unit: ExtUnit) -> bytes:
    """Return the bytes of a unit.

    Raises:
        BadCall: its bit map is too long for an int16 size.
    """
    if unit.size > UNIT_SIZE_MAX:
        raise BadCall(f"bit map of {len(unit.bit_map)} bytes; a unit holds 32747 at most")
    return _HEAD.pack(unit.size, unit.tags_code, unit.store_ms, len(unit.bit_map)) + unit.bit_map


def decode_unit(data: bytes | memoryview, pos: int = 0) -> ExtUnit | None:
    """Return the unit at ``pos``, None at the end of the units (size -1, 0, or no bytes left).

    Raises:
        RecordDamaged: the sizes of the unit do not agree, or it is cut off.
    """
    size = int.from_bytes(data[pos : pos + 2], "big", signed=True)
    if size in (0, -1) or pos >= len(data):
        return None
    if size < UNIT_SIZE_MIN:
        raise _damaged(DamageKind.BAD_SIZE, pos, "size", size, UNIT_SIZE_MIN)
    if pos + size > len(data):
        raise _damaged(DamageKind.TRUNCATED, pos, "size", size, len(data) - pos)
    _, tags_code, store_ms, bit_map_size = _HEAD.unpack_from(data, pos)
    if UNIT_SIZE_MIN + bit_map_size != size:
        raise _damaged(
            DamageKind.BAD_LENGTH, pos, "bit_map_size", bit_map_size, size - UNIT_SIZE_MIN
        )
    return ExtUnit(tags_code, store_ms, bytes(data[pos + UNIT_SIZE_MIN : pos + size]))


def decode_units(data: bytes | memoryview) -> Iterator[tuple[int, ExtUnit]]:
    """Yield each unit of one file with its byte position in the file; errors as above."""
    pos = 0
    while (unit := decode_unit(data, pos)) is not None:
        yield pos, unit
        pos += unit.size


def _damaged(kind: DamageKind, pos: int, field: str, found: int, expected: int) -> RecordDamaged:
    return RecordDamaged(
        f"consume queue ext unit at byte {pos}: {field} is {found}, expected {expected}; "
        "the broker can rebuild these files from the commit log",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )
