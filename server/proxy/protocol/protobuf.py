"""The encoding of gRPC messages (Protocol Buffers, version 3) for dataclasses.

    class Address(WireMessage):          field 1, a text      0a 09 31 32 37 ...
        host: str = text(1)              field 2, a number    10 91 3f
        port: int = number(2)

A message is declared once, by the number and the kind of each field, and its class has both
directions. Times and durations are numbers of milliseconds here; on the wire they are messages
of seconds and nanoseconds.

Rule: a field without a value is not written, and a field that the class does not have is skipped
when it is read, as in every implementation of this encoding. A ``maybe_`` field distinguishes a
value that was not given (None) from 0, False or "". A member of an enumeration that is not known is
read as its first one. Bytes that are no message raise BadMessage.

Source: protobuf.dev/programming-guides/encoding.
"""

import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple, Self, TypeVar

VARINT: Final = 0
FIXED64: Final = 1
DELIMITED: Final = 2
FIXED32: Final = 5
_SIZES: Final = {FIXED32: 4, FIXED64: 8}
"""Bytes of a value by its wire type; a number and a delimited value hold their own size."""

_FLOAT: Final = struct.Struct("<f")
_MASK: Final = (1 << 64) - 1
_NUMBER_MAX: Final = (1 << 63) - 1
_SHORT_MAX: Final = 0x7F
_SHORT: Final = tuple(bytes((value,)) for value in range(_SHORT_MAX + 1))
"""The encoding of the numbers that take one byte, as most do."""
_MORE: Final = tuple(bytes((value | 0x80,)) for value in range(_SHORT_MAX + 1))
"""The byte for the lowest seven bits of a longer number."""
_MS: Final = 1_000_000
"""Nanoseconds in a millisecond."""

FIELDS_MAX: Final = 8_192
"""The fields of one message."""
ITEMS_MAX: Final = 16_384
"""The fields of a request with all messages in it, each item of a packed list counted.

A byte or two make an object each, so the bytes of a request bound neither its time nor its memory.
"""

M = TypeVar("M", bound="WireMessage")
E = TypeVar("E", bound=IntEnum)


class BadMessage(ValueError):
    """The bytes are not a message of the protocol."""


class _Kind(NamedTuple):
    """How one value is written: its wire type, and both directions."""

    wire: int
    encode: Callable[[Any], bytes]
    """Returns the bytes of a value, without the size of a delimited one."""
    decode: Callable[..., Any] | None
    """Returns the value; None where the number or the bytes are the value."""
    is_nested: bool = False
    """Whether ``decode`` also takes the items that are left, because it reads further ones."""


class _Field(NamedTuple):
    """One declared field."""

    number: int
    kind: _Kind
    is_list: bool = False
    is_map: bool = False
    is_maybe: bool = False


class _Reader(NamedTuple):
    """What is done with the value behind one tag."""

    name: str
    decode: Callable[..., Any] | None
    is_nested: bool
    add: Callable[[dict[str, Any], str, Any], None] | None
    """Adds the value to a list or a table; None for a field with one value."""


class _Writer(NamedTuple):
    """How the value of one attribute is written."""

    name: str
    is_maybe: bool
    encode: Callable[[Any], bytes]
    """Returns the bytes of the whole field."""


class _Codec(NamedTuple):
    """Both directions of one class."""

    readers: dict[int, _Reader]
    """By tag: the number of a field and its wire type, as one number."""
    writers: list[_Writer]


@dataclass(slots=True, kw_only=True)
class WireMessage:
    """Base of every message; its subclasses are dataclasses of declared fields."""

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the message in ``data``.

        Raises:
            BadMessage: the bytes end in a field, a field has another kind of value, or there are
                more than FIELDS_MAX fields in one message or ITEMS_MAX in all.
        """
        return cls._decode(data, [ITEMS_MAX])

    @classmethod
    def decode_counted(cls, data: bytes) -> tuple[Self, int]:
        """Return the message in ``data``, and how many items it has; see ``decode``."""
        left = [ITEMS_MAX]
        return cls._decode(data, left), ITEMS_MAX - left[0]

    @classmethod
    def _decode(cls, data: bytes, left: list[int]) -> Self:
        """Return a message, and take its items from those that are ``left`` (one number)."""
        # This runs for each message inside a message, and its loop for each of their fields, so
        # numbers of one byte are read in place: a call takes as long as the rest of a turn.
        readers = (_CODECS.get(cls) or _new_codec(cls)).readers
        values: dict[str, Any] = {}
        at, end, count = 0, len(data), 0
        value: Any
        try:
            for count in range(min(FIELDS_MAX, left[0])):  # noqa: B007
                if at >= end:
                    break
                tag = data[at]
                at += 1
                if tag > _SHORT_MAX:
                    tag, at = _read_varint(data, at - 1)
                wire = tag & 7
                if wire == VARINT:
                    value = data[at]
                    at += 1
                    if value > _SHORT_MAX:
                        value, at = _read_varint(data, at - 1)
                        value = _signed(value)
                else:
                    if wire == DELIMITED:
                        size = data[at]
                        at += 1
                        if size > _SHORT_MAX:
                            size, at = _read_varint(data, at - 1)
                    else:
                        size = _size_of(tag)
                    start, at = at, at + size
                    if at > end:
                        text = f"field {tag >> 3} has {size} bytes, {end - start} are left"
                        raise BadMessage(text)
                    value = data[start:at]
                reader = readers.get(tag)
                if reader is None:
                    _check_unknown(cls, tag)
                    continue
                name, decode, is_nested, add = reader
                if decode is not None:
                    value = decode(value, left) if is_nested else decode(value)
                if add is None:
                    values[name] = value
                else:
                    add(values, name, value)
            else:
                count += 1
                if at < end:
                    text = f"a message has more than {FIELDS_MAX} fields"
                    if left[0] < FIELDS_MAX:
                        text = f"a request has more than {ITEMS_MAX} fields and items"
                    raise BadMessage(text)
        except IndexError:
            raise BadMessage(f"the message ends in a number, at byte {end}") from None
        except UnicodeDecodeError as error:
            text = f"a text is not UTF-8: {error.reason} at byte {error.start}"
            raise BadMessage(text) from None
        left[0] -= count
        return cls(**values)

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        cls = type(self)
        parts = []
        for name, is_maybe, encode in (_CODECS.get(cls) or _new_codec(cls)).writers:
            value = getattr(self, name)
            if value or (is_maybe and value is not None):
                parts.append(encode(value))
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
    kind = _Kind(DELIMITED, _encode_millis, _decode_millis, is_nested=True)
    return dataclasses.field(default=None, metadata=_of(number, kind, is_maybe=True))


def all_millis(number: int) -> list[int]:
    """Declare a list of durations in ms."""
    kind = _Kind(DELIMITED, _encode_millis, _decode_millis, is_nested=True)
    return dataclasses.field(default_factory=list, metadata=_of(number, kind, is_list=True))


def _of(
    number: int,
    kind: _Kind,
    *,
    is_list: bool = False,
    is_map: bool = False,
    is_maybe: bool = False,
) -> dict[str, _Field]:
    return {"field": _Field(number, kind, is_list, is_map, is_maybe)}


_CODECS: Final[dict[type, _Codec]] = {}


def _new_codec(cls: type[WireMessage]) -> _Codec:
    """Return the codec of a class that had none yet, and keep it."""
    codec = _Codec({}, [])
    for each in dataclasses.fields(cls):
        name, field = each.name, each.metadata["field"]
        tag, kind = field.number << 3 | field.kind.wire, field.kind
        encode = _with_tag(_varint(tag), kind)
        add: Callable[[dict[str, Any], str, Any], None] | None = None
        if field.is_list:
            add, encode = _append, _each(encode)
            if kind.wire == VARINT:
                # Numbers of a list may lie together in one field.
                together = _Reader(name, _together(kind), True, _extend)
                codec.readers[field.number << 3 | DELIMITED] = together
        elif field.is_map:
            add, encode = _put, _each_entry(encode)
        codec.readers[tag] = _Reader(name, kind.decode, kind.is_nested, add)
        codec.writers.append(_Writer(name, field.is_maybe, encode))
    _CODECS[cls] = codec
    return codec


# Reading.


def _append(values: dict[str, Any], name: str, value: object) -> None:
    values.setdefault(name, []).append(value)


def _extend(values: dict[str, Any], name: str, value: list[Any]) -> None:
    values.setdefault(name, []).extend(value)


def _put(values: dict[str, Any], name: str, entry: "_Entry") -> None:
    values.setdefault(name, {})[entry.key] = entry.value


def _together(kind: _Kind) -> Callable[[bytes, list[int]], list[Any]]:
    def decode(raw: bytes, left: list[int]) -> list[Any]:
        numbers: list[int] = []
        at = 0
        while at < len(raw):
            if len(numbers) >= left[0]:
                raise BadMessage(f"a request has more than {ITEMS_MAX} fields and items")
            number, at = _read_varint(raw, at)
            numbers.append(_signed(number))
        left[0] -= len(numbers)
        return numbers if kind.decode is None else [kind.decode(each) for each in numbers]

    return decode


def _size_of(tag: int) -> int:
    size = _SIZES.get(tag & 7)
    if size is None:
        raise BadMessage(f"field {tag >> 3} has the unknown wire type {tag & 7}")
    return size


def _check_unknown(cls: type[WireMessage], tag: int) -> None:
    """Refuse a field that the class declares with another wire type."""
    if any(each >> 3 == tag >> 3 for each in _CODECS[cls].readers):
        text = f"field {tag >> 3} of {cls.__name__} has the wire type {tag & 7}"
        raise BadMessage(text)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    try:
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


def _signed(raw: int) -> int:
    return raw if raw <= _NUMBER_MAX else raw - (1 << 64)


# Writing.


def _with_tag(tag: bytes, kind: _Kind) -> Callable[[Any], bytes]:
    """Return what writes a value behind its tag."""
    encode = kind.encode
    if kind.wire != DELIMITED:
        return lambda value: tag + encode(value)

    def encode_sized(value: Any) -> bytes:
        data = encode(value)
        size = len(data)
        return tag + (_SHORT[size] if size <= _SHORT_MAX else _varint(size)) + data

    return encode_sized


def _each(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda values: b"".join([encode(each) for each in values])


def _each_entry(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda values: b"".join(
        [encode(_Entry(key=key, value=value)) for key, value in values.items()]
    )


def _varint(value: int) -> bytes:
    if 0 <= value <= _SHORT_MAX:
        return _SHORT[value]
    value &= _MASK
    out = b""
    while value > _SHORT_MAX:
        out += _MORE[value & 0x7F]
        value >>= 7
    return out + _SHORT[value]


_SECONDS: Final = b"\x08"
_NANOS: Final = (b"", *(b"\x10" + _varint(rest * _MS) for rest in range(1, 1000)))
"""Tag and nanoseconds of a time or a duration, by its milliseconds beside whole seconds."""


# Kinds of values.


def _encode_real(value: float) -> bytes:
    return _FLOAT.pack(value)


def _decode_real(raw: bytes) -> float:
    found: float = _FLOAT.unpack(raw)[0]
    return found


def _encode_millis(value: int) -> bytes:
    # Written as a message of its own it would take four times as long, and a received message has
    # two of them.
    seconds, rest = divmod(value, 1000)
    return _SECONDS + _varint(seconds) + _NANOS[rest] if seconds else _NANOS[rest]


def _decode_millis(raw: bytes, left: list[int]) -> int:
    found = _Instant._decode(raw, left)
    return found.seconds * 1000 + found.nanos // _MS


def _choice(members: type[IntEnum]) -> _Kind:
    encoded = {member: _varint(member) for member in members}
    known, first = {int(member): member for member in members}, members(0)

    def decode(raw: int) -> IntEnum:
        return known.get(raw, first)

    return _Kind(VARINT, encoded.__getitem__, decode)


def _message(kind: type[WireMessage]) -> _Kind:
    return _Kind(DELIMITED, kind.encode, kind._decode, is_nested=True)


_TEXT: Final = _Kind(DELIMITED, str.encode, bytes.decode)
_BYTES: Final = _Kind(DELIMITED, bytes, None)
_NUMBER: Final = _Kind(VARINT, _varint, None)
_FLAG: Final = _Kind(VARINT, _varint, bool)
_REAL: Final = _Kind(FIXED32, _encode_real, _decode_real)


@dataclass(slots=True, kw_only=True)
class _Entry(WireMessage):
    """One name and value of a table."""

    key: str = text(1)
    value: str = text(2)


@dataclass(slots=True, kw_only=True)
class _Instant(WireMessage):
    """A time or a duration as it is read."""

    seconds: int = number(1)
    nanos: int = number(2)
