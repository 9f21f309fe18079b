"""The base of every typed header: the codec follows from the fields of one dataclass.

A header travels as ``extFields``, a map of text to text. A declaration such as

    @dataclass(frozen=True, slots=True, kw_only=True)
    class UpdateConsumerOffset(Header):
        consumer_group: str
        queue_id: Int32
        broker_name: str | None = field(default=None, metadata=key("bname"))

gives the Java key (camelCase of the attribute, or ``key(...)``), the width that is checked,
and whether the field must be there (no default means required).

Rule: an optional field that is None is not written. A missing or wrong field raises
``BadHeader``; unknown fields are ignored, as Java ignores them.

Source: remoting/protocol/RemotingCommand.java#decodeCommandCustomHeader, #makeCustomHeaderToNet.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Final, NamedTuple, Self

from remoting.errors import BadCall, BadHeader
from storefmt.names import camel_case


class Width(NamedTuple):
    """The bits of a Java integer."""

    bits: int


Int32 = Annotated[int, Width(32)]
"""A Java int: -2**31 to 2**31 - 1."""

Int64 = Annotated[int, Width(64)]
"""A Java long: -2**63 to 2**63 - 1."""

_DIGITS_MAX: Final = 20


def key(wire: str) -> dict[str, object]:
    """Return field metadata with a Java key that is not the camelCase name of the attribute."""
    return {"key": wire}


def limits(*, low: int) -> dict[str, object]:
    """Return field metadata with the lowest legal number."""
    return {"low": low}


class HeaderField(NamedTuple):
    """One field of a header class, as declared."""

    name: str
    key: str
    kind: type
    """str, int or bool."""
    low: int
    high: int
    required: bool
    default: object
    optional: bool
    """True when the value may be None."""


def _kind_of(hint: object) -> tuple[type, int, bool]:
    """Return (plain type, bits, may be None) of an annotation."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        inner = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if len(inner) == 1:
            kind, bits, _ = _kind_of(inner[0])
            return kind, bits, True
    if typing.get_origin(hint) is Annotated:
        plain, *marks = typing.get_args(hint)
        for mark in marks:
            if isinstance(mark, Width) and plain is int:
                return int, mark.bits, False
    if hint is str or hint is bool:
        return typing.cast(type, hint), 0, False
    raise TypeError(f"a header field cannot be {hint!r}: use str, bool, Int32 or Int64")


_DECLARED: Final[dict[type, tuple[HeaderField, ...]]] = {}


def fields_of(cls: "type[Header]") -> tuple[HeaderField, ...]:
    """Return the declared fields of a header class, in their order."""
    declared = _DECLARED.get(cls)
    if declared is None:
        declared = _DECLARED[cls] = _read_declaration(cls)
    return declared


def _read_declaration(cls: "type[Header]") -> tuple[HeaderField, ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    header_fields = []
    for declared in dataclasses.fields(cls):
        kind, bits, optional = _kind_of(hints[declared.name])
        meta = declared.metadata
        required = declared.default is dataclasses.MISSING
        header_fields.append(
            HeaderField(
                name=declared.name,
                key=meta.get("key") or camel_case(declared.name),
                kind=kind,
                low=meta.get("low", -(1 << max(bits - 1, 0))),
                high=(1 << max(bits - 1, 0)) - 1,
                required=required,
                default=None if required else declared.default,
                optional=optional,
            )
        )
    return tuple(header_fields)


def _encode_value(cls: type, declared: HeaderField, value: object) -> str:
    if isinstance(value, bool):
        if declared.kind is bool:
            return "true" if value else "false"
    elif isinstance(value, str):
        if declared.kind is str:
            return value
    elif isinstance(value, int) and declared.kind is int:
        if declared.low <= value <= declared.high:
            return str(value)
        raise BadCall(
            f"{cls.__name__}.{declared.name} is {value}, outside {declared.low} to {declared.high}"
        )
    raise BadCall(
        f"{cls.__name__}.{declared.name} is {type(value).__name__} {value!r}, "
        f"expected {declared.kind.__name__}"
    )


def parse_int(text: str) -> int:
    """Return the number in ``text`` by Java's rules: sign and ASCII digits, nothing else.

    Raises:
        ValueError: the text is anything else, or the number is too long for 64 bits.
    """
    if len(text) <= _DIGITS_MAX and text.isascii():
        digits = text if text.isdigit() else text[1:]
        if digits.isdigit() and (digits is text or text[0] in "+-"):
            return int(text)
    raise ValueError(f"{text[:40]!r} is not a decimal number")


def _decode_value(cls: type, declared: HeaderField, text: str) -> int:
    if declared.kind is bool:
        return text.lower() == "true"
    try:
        number = parse_int(text)
    except ValueError as error:
        raise BadHeader(
            f"{cls.__name__}.{declared.key}: {error}", header=cls.__name__, field=declared.key
        ) from None
    if declared.low <= number <= declared.high:
        return number
    raise BadHeader(
        f"{cls.__name__}.{declared.key} is {number}, outside {declared.low} to {declared.high}",
        header=cls.__name__,
        field=declared.key,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A typed header; subclasses are frozen keyword-only dataclasses in ``remoting.headers``."""

    def to_ext(self) -> dict[str, str]:
        """Return the wire map, keys in declared order, fields that are None left out.

        Raises:
            BadCall: a value has the wrong type or does not fit the Java type.
        """
        cls = type(self)
        out = {}
        for declared in fields_of(cls):
            name, key, kind, low, high, _, _, optional = declared
            value = getattr(self, name)
            # The first two cases cover nearly every value: this runs for each field of each
            # request.
            if kind is str and type(value) is str:
                out[key] = value
            elif kind is int and type(value) is int and low <= value <= high:
                out[key] = str(value)
            elif value is not None or not optional:
                out[key] = _encode_value(cls, declared, value)
        return out

    @classmethod
    def from_ext(cls, ext: Mapping[str, str]) -> Self:
        """Return the header in a wire map; keys that it does not know are ignored.

        Raises:
            BadHeader: a required field is missing, or a value is not a number or out of range.
        """
        values: dict[str, object] = {}
        for declared in fields_of(cls):
            text = ext.get(declared.key)
            if text is None:
                if declared.required:
                    raise BadHeader(
                        f"{cls.__name__} needs the field {declared.key}, which is missing",
                        header=cls.__name__,
                        field=declared.key,
                    )
            elif declared.kind is str:
                values[declared.name] = text
            else:
                values[declared.name] = _decode_value(cls, declared, text)
        build: Callable[..., Self] = cls
        return build(**values)
