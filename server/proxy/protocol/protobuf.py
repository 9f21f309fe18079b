"""The encoding of gRPC messages (Protocol Buffers, version 3) for dataclasses.

    class Address(WireMessage):          field 1, a text      0a 09 31 32 37 ...
        host: str = text(1)              field 2, a number    10 91 3f
        port: int = number(2)

A message is declared once, by the number and the kind of each field, and its class has both
directions. Times and durations are numbers of milliseconds here; on the wire they are messages
of seconds and nanoseconds.

Rule: a field without a value is not written, and a field that the class does not have is skipped
when it is read, as in every implementation of this encoding. A ``maybe_`` field tells a value that
was not given (None) from 0, False or "". A member of an enumeration that is not known is read as
its first one. Bytes that are no message raise BadMessage.

Source: protobuf.dev/programming-guides/encoding.
"""

import dataclasses
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple, Self, TypeVar

VARINT: Final = 0
FIXED64: Final = 1
DELIMITED: Final = 2
FIXED32: Final = 5
_SIZED: Final = {DELIMITED: 0, FIXED32: 4, FIXED64: 8}
"""Bytes of a value by its wire type; a delimited one tells its own."""

_FLOAT: Final = struct.Struct("<f")
_MASK: Final = (1 << 64) - 1
_NUMBER_MAX: Final = (1 << 63) - 1
_SHORT: Final = tuple(bytes((value,)) for value in range(0x80))
"""The encoding of the numbers that take one byte, as most do."""
_MS: Final = 1_000_000
"""Nanoseconds in a millisecond."""

M = TypeVar("M", bound="WireMessage")
E = TypeVar("E", bound=IntEnum)


class BadMessage(ValueError):
    """The bytes are not a message of the protocol."""


class _Kind(NamedTuple):
    """How one value is written: its wire type, and both directions."""

    wire: int
    encode: Callable[[Any], bytes]
    decode: Callable[[Any], Any]


class _Field(NamedTuple):
    """One declared field."""

    number: int
    kind: _Kind
    tag: bytes
    """Number and wire type, as they stand before each value."""
    is_list: bool = False
    is_map: bool = False
    is_maybe: bool = False


@dataclass(slots=True, kw_only=True)
class WireMessage:
    """Base of every message; its subclasses are dataclasses of declared fields."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the message in ``data``.

        Raises:
            BadMessage: the bytes end in a field, or a field has another kind of value.
        """
        values: dict[str, Any] = {}
        declared = _declared(cls)
        for number, wire, raw in _fields(data):
            known = declared.get(number)
            if known is None:
                continue
            name, field = known
            if field.is_list:
                found = values.setdefault(name, [])
                if wire == field.kind.wire:
                    found.append(field.kind.decode(raw))
                elif wire == DELIMITED and field.kind.wire == VARINT:
                    # Numbers of a list may lie together in one field.
                    found.extend(field.kind.decode(one) for one in _varints(raw))
                else:
                    raise BadMessage(_wrong(cls, number, wire))
            elif wire != field.kind.wire:
                raise BadMessage(_wrong(cls, number, wire))
            elif field.is_map:
                entry = field.kind.decode(raw)
                values.setdefault(name, {})[entry.key] = entry.value
            else:
                values[name] = field.kind.decode(raw)
        return cls(**values)

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        parts: list[bytes] = []
        for name, field in _declared(type(self)).values():
            value = getattr(self, name)
            if not value and (value is None or not field.is_maybe):
                continue
            tag, encode = field.tag, field.kind.encode
            if field.is_list:
                parts += [tag + encode(each) for each in value]
            elif field.is_map:
                parts += [tag + encode(_Entry(key=key, value=value[key])) for key in value]
            else:
                parts.append(tag + encode(value))
        return b"".join(parts)


def text(number: int) -> str:
    """Declare a text; "" when it is not given."""
    return dataclasses.field(default="", metadata=_of(number, _TEXT))


def maybe_text(number: int) -> str | None:
    """Declare a text that may be absent."""
    return dataclasses.field(default=None, metadata=_of(number, _TEXT, is_maybe=True))


def texts(number: int) -> list[str]:
    """Declare a list of texts."""
    return dataclasses.field(default_factory=list, metadata=_of(number, _TEXT, is_list=True))


def binary(number: int) -> bytes:
    """Declare bytes; b"" when they are not given."""
    return dataclasses.field(default=b"", metadata=_of(number, _BYTES))


def number(number: int) -> int:
    """Declare an integer of 32 or 64 bits; 0 when it is not given."""
    return dataclasses.field(default=0, metadata=_of(number, _NUMBER))


def maybe_number(number: int) -> int | None:
    """Declare an integer of 32 or 64 bits that may be absent."""
    return dataclasses.field(default=None, metadata=_of(number, _NUMBER, is_maybe=True))


def real(number: int) -> float:
    """Declare a floating point number of 32 bits; 0.0 when it is not given."""
    return dataclasses.field(default=0.0, metadata=_of(number, _REAL))


def flag(number: int) -> bool:
    """Declare a truth value; False when it is not given."""
    return dataclasses.field(default=False, metadata=_of(number, _FLAG))


def maybe_flag(number: int) -> bool | None:
    """Declare a truth value that may be absent."""
    return dataclasses.field(default=None, metadata=_of(number, _FLAG, is_maybe=True))


def choice(number: int, members: type[E]) -> E:
    """Declare a member of an enumeration; the one of value 0 when it is not given."""
    return dataclasses.field(default=members(0), metadata=_of(number, _choice(members)))


def maybe_choice(number: int, members: type[E]) -> E | None:
    """Declare a member of an enumeration that may be absent."""
    metadata = _of(number, _choice(members), is_maybe=True)
    return dataclasses.field(default=None, metadata=metadata)


def choices(number: int, members: type[E]) -> list[E]:
    """Declare a list of members of an enumeration."""
    metadata = _of(number, _choice(members), is_list=True)
    return dataclasses.field(default_factory=list, metadata=metadata)


def one(number: int, kind: type[M]) -> M | None:
    """Declare a message that may be absent."""
    return dataclasses.field(default=None, metadata=_of(number, _message(kind), is_maybe=True))


def many(number: int, kind: type[M]) -> list[M]:
    """Declare a list of messages."""
    metadata = _of(number, _message(kind), is_list=True)
    return dataclasses.field(default_factory=list, metadata=metadata)


def texts_by_name(number: int) -> dict[str, str]:
    """Declare a table of texts."""
    metadata = _of(number, _message(_Entry), is_map=True)
    return dataclasses.field(default_factory=dict, metadata=metadata)


def millis(number: int) -> int | None:
    """Declare a time (since 1970) or a duration in ms that may be absent."""
    kind = _Kind(DELIMITED, _encode_millis, _decode_millis)
    return dataclasses.field(default=None, metadata=_of(number, kind, is_maybe=True))


def all_millis(number: int) -> list[int]:
    """Declare a list of durations in ms."""
    kind = _Kind(DELIMITED, _encode_millis, _decode_millis)
    return dataclasses.field(default_factory=list, metadata=_of(number, kind, is_list=True))


def _of(
    number: int,
    kind: _Kind,
    *,
    is_list: bool = False,
    is_map: bool = False,
    is_maybe: bool = False,
) -> dict[str, _Field]:
    tag = _varint(number << 3 | kind.wire)
    return {"field": _Field(number, kind, tag, is_list, is_map, is_maybe)}


_DECLARED: Final[dict[type, dict[int, tuple[str, _Field]]]] = {}


def _declared(cls: type[WireMessage]) -> dict[int, tuple[str, _Field]]:
    """Return name and declaration of each field of a class by its number."""
    known = _DECLARED.get(cls)
    if known is None:
        known = _DECLARED[cls] = _read_declared(cls)
    return known


def _read_declared(cls: type[WireMessage]) -> dict[int, tuple[str, _Field]]:
    found = ((each.name, each.metadata["field"]) for each in dataclasses.fields(cls))
    return {field.number: (name, field) for name, field in found}


def _varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= _MASK
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    try:
        if (byte := data[at]) < 0x80:
            return byte, at + 1
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _MASK, at
            shift += 7
            if shift >= 70:
                raise BadMessage(f"the number at byte {at} has more than 10 bytes")
    except IndexError:
        raise BadMessage(f"the message ends in a number, at byte {at}") from None


def _varints(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _read_varint(data, at)
        yield value


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield number, wire type and raw value of each field."""
    at, end = 0, len(data)
    while at < end:
        tag, at = _read_varint(data, at)
        wire, start = tag & 7, at
        raw: int | bytes
        if wire == VARINT:
            raw, at = _read_varint(data, at)
        elif wire in _SIZED:
            size = _SIZED[wire]
            if wire == DELIMITED:
                size, start = _read_varint(data, at)
            at = start + size
            if at > end:
                raise BadMessage(f"field {tag >> 3} has {size} bytes, {end - start} are left")
            raw = data[start:at]
        else:
            raise BadMessage(f"field {tag >> 3} has the unknown wire type {wire}")
        yield tag >> 3, wire, raw


def _wrong(cls: type, number: int, wire: int) -> str:
    return f"field {number} of {cls.__name__} has the wire type {wire}"


def _encode_real(value: float) -> bytes:
    return _FLOAT.pack(value)


def _decode_real(raw: bytes) -> float:
    found: float = _FLOAT.unpack(raw)[0]
    return found


def _signed(raw: int) -> int:
    return raw if raw <= _NUMBER_MAX else raw - (1 << 64)


def _encode_millis(value: int) -> bytes:
    seconds, rest = divmod(value, 1000)
    return _sized(_Instant(seconds=seconds, nanos=rest * _MS).encode())


def _decode_millis(raw: bytes) -> int:
    found = _Instant.decode(raw)
    return found.seconds * 1000 + found.nanos // _MS


def _decode_text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadMessage(f"a text is not UTF-8: {error.reason} at byte {error.start}") from None


def _choice(members: type[IntEnum]) -> _Kind:
    def read(raw: int) -> IntEnum:
        try:
            return members(_signed(raw))
        except ValueError:
            return members(0)

    return _Kind(VARINT, _varint, read)


def _message(kind: type[WireMessage]) -> _Kind:
    return _Kind(DELIMITED, lambda value: _sized(value.encode()), kind.decode)


_TEXT: Final = _Kind(DELIMITED, lambda value: _sized(value.encode()), _decode_text)
_BYTES: Final = _Kind(DELIMITED, _sized, bytes)
_NUMBER: Final = _Kind(VARINT, _varint, _signed)
_FLAG: Final = _Kind(VARINT, _varint, bool)
_REAL: Final = _Kind(FIXED32, _encode_real, _decode_real)


@dataclass(slots=True, kw_only=True)
class _Entry(WireMessage):
    """One name and value of a table."""

    key: str = text(1)
    value: str = text(2)


@dataclass(slots=True, kw_only=True)
class _Instant(WireMessage):
    """A time or a duration as it is written."""

    seconds: int = number(1)
    nanos: int = number(2)
