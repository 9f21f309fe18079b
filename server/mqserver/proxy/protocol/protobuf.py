"""The encoding of gRPC messages (Protocol Buffers, version 3) for dataclasses.

    class Address(WireMessage):          field 1, a text      0a 09 31 32 37 ...
        host: str = text(1)              field 2, a number    10 91 3f
        port: int = number(2)

A message is declared once, by the number and the kind of each field, and its class has both
directions. Times and durations are numbers of milliseconds here; on the wire they are messages
of seconds and nanoseconds.

Rule: a field without a value is not written, and a field that the class does not have is skipped
when it is read, as in every implementation of this encoding. ``protobuf_kernel`` does the same in C
where it was built. A ``maybe_`` field distinguishes an absent value (None) from 0, False or "". An
unknown member of an enumeration is read as the first one. Bytes that are not a message raise
BadMessage.

Source: protobuf.dev/programming-guides/encoding.
"""

import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar, cast

from storefmt.kernels import load

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
"""The first byte of a longer number, by its lowest seven bits."""
_MS: Final = 1_000_000
"""Nanoseconds in a millisecond."""

ITEMS_MAX: Final = 16_384
"""The limit on the fields of a request and of the messages in it, each list item counted.

A byte or two make an object each, so the bytes of a request bound neither its time nor its memory.
"""

M = TypeVar("M", bound="WireMessage")
E = TypeVar("E", bound=IntEnum)


class BadMessage(ValueError):
    """The bytes are not a message of the protocol."""


class Kind(NamedTuple):
    """How one value is written: its name, its wire type, and both directions.

    Attributes:
        name: the function that declares it, for the kernel.
        wire: its wire type.
        encode: returns the bytes of a value, without the size of a delimited one.
        decode: returns the value; None where the number, the bytes or the message is the value.
        message: the class of the message on the wire; None for other values.
        members: those of an enumeration by number.
    """

    name: str
    wire: int
    encode: Callable[[Any], bytes]
    decode: Callable[[Any], Any] | None
    message: "type[WireMessage] | None" = None
    members: dict[int, IntEnum] | None = None


class Field(NamedTuple):
    """One declared field."""

    number: int
    kind: Kind
    is_list: bool = False
    is_map: bool = False
    is_maybe: bool = False


class Codec(Protocol):
    """Both directions of one class."""

    def decode(self, data: bytes, items_max: int) -> tuple[Any, int]:
        """Return the message in ``data`` and its items, see ``WireMessage.decode_counted``."""

    def encode(self, message: Any) -> bytes:
        """Return the bytes of a message."""


class _Reader(NamedTuple):
    """What is done with the value after one tag."""

    name: str
    kind: Kind
    codec: "PlainCodec | None"
    add: Callable[[dict[str, Any], str, Any], None] | None
    """Adds the value to a list or a table; None for a field with one value."""
    is_packed: bool = False
    """Whether the value is numbers of a list that lie together."""


class _Writer(NamedTuple):
    """How the value of one attribute is written."""

    name: str
    is_maybe: bool
    encode: Callable[[Any], bytes]
    """Returns the bytes of the whole field."""


@dataclass(slots=True, kw_only=True)
class WireMessage:
    """Base of every message; its subclasses are dataclasses of declared fields."""

    @classmethod
    def decode(cls, data: bytes, *, items_max: int = ITEMS_MAX) -> Self:
        """Return the message in ``data``.

        Args:
            data: the bytes.
            items_max: the most fields of it and of the messages in it, items of lists included.

        Raises:
            BadMessage: the bytes end in a field, a field has another kind of value, or there are
                too many of them.
        """
        return cls.decode_counted(data, items_max=items_max)[0]

    @classmethod
    def decode_counted(cls, data: bytes, *, items_max: int = ITEMS_MAX) -> tuple[Self, int]:
        """Return the message in ``data``, and how many items it has; see ``decode``."""
        return cast(tuple[Self, int], codec_of(cls).decode(data, items_max))

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        return codec_of(type(self)).encode(self)


class PlainCodec:
    """Both directions of one class, in plain Python.

    Args:
        cls: the class.
    """

    def __init__(self, cls: type[WireMessage]) -> None:
        self._cls = cls
        self._readers: dict[int, _Reader] = {}
        """By tag: the number of a field and its wire type, as one number."""
        self._writers: list[_Writer] = []
        for each in dataclasses.fields(cls):
            name, field = each.name, each.metadata["field"]
            tag, kind = field.number << 3 | field.kind.wire, field.kind
            codec = None if kind.message is None else PlainCodec(kind.message)
            encode = _with_tag(varint(tag), kind)
            add: Callable[[dict[str, Any], str, Any], None] | None = None
            if field.is_list:
                add, encode = _append, _each(encode)
                if kind.wire == VARINT:
                    packed = _Reader(name, kind, None, _extend, is_packed=True)
                    self._readers[field.number << 3 | DELIMITED] = packed
            elif field.is_map:
                add, encode = _put, _each_entry(encode)
            self._readers[tag] = _Reader(name, kind, codec, add)
            self._writers.append(_Writer(name, field.is_maybe, encode))

    def decode(self, data: bytes, items_max: int = ITEMS_MAX) -> tuple[Any, int]:
        """Return the message in ``data`` and its items, see ``WireMessage.decode_counted``."""
        allowance = _Allowance(items_max)
        return self._read(data, allowance), allowance.spent

    def encode(self, message: Any) -> bytes:
        """Return the bytes of a message."""
        parts = []
        for name, is_maybe, encode in self._writers:
            value = getattr(message, name)
            if value or (is_maybe and value is not None):
                parts.append(encode(value))
        return b"".join(parts)

    def _read(self, data: bytes, allowance: "_Allowance") -> Any:
        readers = self._readers
        values: dict[str, Any] = {}
        pos, end = 0, len(data)
        value: Any
        try:
            while pos < end:
                allowance.spend()
                tag, pos = _read_varint(data, pos)
                if tag & 7 == VARINT:
                    value, pos = _read_varint(data, pos)
                    value = _signed(value)
                else:
                    if tag & 7 == DELIMITED:
                        size, pos = _read_varint(data, pos)
                    else:
                        size = _size_of(tag)
                    start, pos = pos, pos + size
                    if pos > end:
                        text = f"field {tag >> 3} has {size} bytes, {end - start} are left"
                        raise BadMessage(text)
                    value = data[start:pos]
                reader = readers.get(tag)
                if reader is None:
                    self._check_unknown(tag)
                    continue
                name, kind, codec, add, is_packed = reader
                if is_packed:
                    value = _read_packed(value, kind, allowance)
                else:
                    if codec is not None:
                        value = codec._read(value, allowance)
                    if kind.decode is not None:
                        value = kind.decode(value)
                if add is None:
                    values[name] = value
                else:
                    add(values, name, value)
        except UnicodeDecodeError as error:
            text = f"a text is not UTF-8: {error.reason} at byte {error.start}"
            raise BadMessage(text) from None
        return self._cls(**values)

    def _check_unknown(self, tag: int) -> None:
        """Refuse a field that the class declares with another wire type."""
        if any(each >> 3 == tag >> 3 for each in self._readers):
            text = f"field {tag >> 3} of {self._cls.__name__} has the wire type {tag & 7}"
            raise BadMessage(text)


class _Allowance:
    """Counts the items of a message, the fields of inner messages included."""

    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self.spent = 0

    def spend(self) -> None:
        """Count one field or item."""
        self.spent += 1
        if self.spent > self._items_max:
            raise BadMessage(f"a request has more than {self._items_max} fields and items")


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
    return dataclasses.field(default=None, metadata=_of(number, _millis(), is_maybe=True))


def all_millis(number: int) -> list[int]:
    """Declare a list of durations in ms."""
    return dataclasses.field(default_factory=list, metadata=_of(number, _millis(), is_list=True))


def _of(
    number: int,
    kind: Kind,
    *,
    is_list: bool = False,
    is_map: bool = False,
    is_maybe: bool = False,
) -> dict[str, Field]:
    return {"field": Field(number, kind, is_list, is_map, is_maybe)}


# Reading.


def _append(values: dict[str, Any], name: str, value: object) -> None:
    values.setdefault(name, []).append(value)


def _extend(values: dict[str, Any], name: str, value: list[Any]) -> None:
    values.setdefault(name, []).extend(value)


def _put(values: dict[str, Any], name: str, entry: "_Entry") -> None:
    values.setdefault(name, {})[entry.key] = entry.value


def _read_packed(data: bytes, kind: Kind, allowance: _Allowance) -> list[Any]:
    """Return the numbers of a list that lie together."""
    numbers: list[Any] = []
    pos = 0
    while pos < len(data):
        allowance.spend()
        number, pos = _read_varint(data, pos)
        numbers.append(_signed(number))
    return numbers if kind.decode is None else [kind.decode(each) for each in numbers]


def _size_of(tag: int) -> int:
    size = _SIZES.get(tag & 7)
    if size is None:
        raise BadMessage(f"field {tag >> 3} has the unknown wire type {tag & 7}")
    return size


def _read_varint(data: bytes, pos: int) -> tuple[int, int]:
    value = shift = 0
    try:
        while True:
            byte = data[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _MASK, pos
            shift += 7
            if shift >= 70:
                raise BadMessage(f"the number at byte {pos} has more than 10 bytes")
    except IndexError:
        raise BadMessage(f"the message ends in a number, at byte {pos}") from None


def _signed(raw: int) -> int:
    return raw if raw <= _NUMBER_MAX else raw - (1 << 64)


# Writing.


def _with_tag(tag: bytes, kind: Kind) -> Callable[[Any], bytes]:
    """Return what writes a value after its tag."""
    encode = kind.encode
    if kind.wire != DELIMITED:
        return lambda value: tag + encode(value)

    def encode_sized(value: Any) -> bytes:
        data = encode(value)
        size = len(data)
        return tag + (_SHORT[size] if size <= _SHORT_MAX else varint(size)) + data

    return encode_sized


def _each(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda values: b"".join([encode(each) for each in values])


def _each_entry(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    return lambda values: b"".join(
        [encode(_Entry(key=key, value=value)) for key, value in values.items()]
    )


def varint(value: int) -> bytes:
    if 0 <= value <= _SHORT_MAX:
        return _SHORT[value]
    value &= _MASK
    out = b""
    while value > _SHORT_MAX:
        out += _MORE[value & 0x7F]
        value >>= 7
    return out + _SHORT[value]


_SECONDS: Final = b"\x08"
_NANOS: Final = (b"", *(b"\x10" + varint(rest * _MS) for rest in range(1, 1000)))
"""Tag and nanoseconds of a time or a duration, by its milliseconds beside whole seconds."""


# Kinds of values.


def _encode_real(value: float) -> bytes:
    return _FLOAT.pack(value)


def _decode_real(raw: bytes) -> float:
    number: float = _FLOAT.unpack(raw)[0]
    return number


def _encode_millis(value: int) -> bytes:
    # Written as a message of its own it would take four times as long.
    seconds, rest = divmod(value, 1000)
    return _SECONDS + varint(seconds) + _NANOS[rest] if seconds else _NANOS[rest]


def _decode_millis(instant: "_Instant") -> int:
    return instant.seconds * 1000 + instant.nanos // _MS


def _choice(members: type[IntEnum]) -> Kind:
    encoded = {member: varint(member) for member in members}
    by_number, first = {int(member): member for member in members}, members(0)

    def decode(raw: int) -> IntEnum:
        return by_number.get(raw, first)

    return Kind("choice", VARINT, encoded.__getitem__, decode, members=by_number)


def _message(kind: type[WireMessage]) -> Kind:
    return Kind("message", DELIMITED, kind.encode, None, message=kind)


def _millis() -> Kind:
    return Kind("millis", DELIMITED, _encode_millis, _decode_millis, message=_Instant)


_TEXT: Final = Kind("text", DELIMITED, str.encode, bytes.decode)
_BYTES: Final = Kind("binary", DELIMITED, bytes, None)
_NUMBER: Final = Kind("number", VARINT, varint, None)
_FLAG: Final = Kind("flag", VARINT, varint, bool)
_REAL: Final = Kind("real", FIXED32, _encode_real, _decode_real)


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


_new_codec: Final[Callable[[type[WireMessage]], Codec]] = load(
    "mqserver.proxy.protocol.protobuf_kernel", "CompiledCodec", pure=PlainCodec
)
_CODECS: Final[dict[type, Codec]] = {}


def codec_of(cls: type[WireMessage]) -> Codec:
    """Return the codec of a class; it is made when it is needed first."""
    codec = _CODECS.get(cls)
    if codec is None:
        codec = _CODECS[cls] = _new_codec(cls)
    return codec
