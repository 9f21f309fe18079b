"""The base of every JSON body: a dataclass declares the keys, and the codec is derived from it.

    @dataclass(slots=True, kw_only=True)
    class TopicList(Body):
        topic_list: list[str] = field(default_factory=list)
        broker_addr: str | None = None

reads and writes ``{"brokerAddr":"..","topicList":[..]}``. Keys are written in alphabetical order,
and a value that is None is left out. An enum is written by its name. Integer keys of a map are not
quoted, and a map whose keys are queues has a JSON object as each key.

Rule: reading follows fastjson. Unknown keys are ignored, and a missing key keeps its default. Case
and underscores of a key do not matter. A number may be a text, an enum may be its ordinal, and an
unknown name of an enum is read as None. A value that has no meaning raises ``BadBody`` and no other
error.

Source: remoting/protocol/RemotingSerializable.java; the rules were observed with fastjson 1.2.69.
"""

import dataclasses
import enum
import math
import types
import typing
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, Self, TypeVar, cast

from remoting.errors import BadBody
from remoting.header import parse_int
from remoting.serialize import java_text
from storefmt.config import fastjson
from storefmt.config.fastjson import Json, Key
from storefmt.config.fastjson_reader import to_object_key
from storefmt.errors import ConfigDamaged
from storefmt.names import camel_case

_E = TypeVar("_E", bound=enum.Enum)
_Read = Callable[[object], object]
_Write = Callable[[object], Json]


class _Wrong(Exception):
    """A value has the wrong kind; the body that catches this adds the key to the error."""


class _Item(NamedTuple):
    """One key of a body class."""

    name: str
    key: str
    read: _Read
    write: _Write
    required: bool
    nullable: bool


class JsonValue(Protocol):
    """A value that is read from a parsed object, and written as one: a body or a stored value."""

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the value that a parsed object contains."""
        ...

    def to_json(self) -> dict[Key, Json]:
        """Return the object with its keys in the order of Java."""
        ...


class Body:
    """A JSON body.

    Subclasses are dataclasses, and their attributes have the Java names in snake_case.
    """

    __slots__ = ()

    def encode(self) -> bytes:
        """Return the JSON text as fastjson writes it."""
        return fastjson.dumps(self.to_json()).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the body that a JSON text contains.

        Raises:
            BadBody: the text is not a JSON object, or the value of a key has the wrong kind.
        """
        try:
            plain = fastjson.loads(java_text(data))
        except ConfigDamaged as error:
            raise BadBody(f"{cls.__name__}: {error}", body=cls.__name__) from None
        return cls.from_json(plain)

    def to_json(self) -> dict[Key, Json]:
        """Return the object without values that are None, and with its keys in fastjson's order."""
        out = {item.key: item.write(getattr(self, item.name)) for item in items_of(type(self))}
        out.update(self.derived())
        return {key: out[key] for key in sorted(out) if out[key] is not None}

    def derived(self) -> dict[str, Json]:
        """Return the keys that Java writes for getters without a field; they are not read back."""
        return {}

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the body that a parsed object contains.

        Raises:
            BadBody: this is not an object, or the value of a key is missing or has the wrong kind.
        """
        if not isinstance(value, dict):
            raise BadBody(
                f"{cls.__name__} is a {type(value).__name__}, expected an object",
                body=cls.__name__,
            )
        values: dict[str, object] = {}
        folded: dict[str, Json] | None = None
        for item in items_of(cls):
            item_json = value.get(item.key)
            if item_json is None and item.key not in value:
                if folded is None:
                    folded = {_fold(key): item_value for key, item_value in value.items()}
                item_json = folded.get(_fold(item.key))
            read = None if item_json is None else cls._read(item, item_json)
            if read is not None or (item_json is not None and item.nullable):
                values[item.name] = read
            elif item.required:
                raise BadBody(
                    f"{cls.__name__} needs the key {item.key}, which is missing",
                    body=cls.__name__,
                    field=item.key,
                )
        build: Callable[..., Self] = cls
        return build(**values)

    @classmethod
    def _read(cls, item: _Item, item_json: Json) -> object:
        try:
            return item.read(item_json)
        except (_Wrong, ConfigDamaged) as error:
            raise BadBody(
                f"{cls.__name__}.{item.key}: {error}", body=cls.__name__, field=item.key
            ) from None


_ITEMS: Final[dict[type, tuple[_Item, ...]]] = {}


def items_of(cls: type[Body]) -> tuple[_Item, ...]:
    """Return the keys of a body class, in the order in which they are declared."""
    items = _ITEMS.get(cls)
    if items is None:
        hints = typing.get_type_hints(cls)
        declared = cast("dict[str, dataclasses.Field[object]]", vars(cls)["__dataclass_fields__"])
        items = _ITEMS[cls] = tuple(
            _item_of(item, hints[item.name]) for item in declared.values() if item.name in hints
        )
    return items


def _item_of(declared: "dataclasses.Field[object]", hint: object) -> _Item:
    read, write = _codec(hint)
    return _Item(
        name=declared.name,
        key=declared.metadata.get("key") or camel_case(declared.name),
        read=read,
        write=write,
        required=declared.default is dataclasses.MISSING
        and declared.default_factory is dataclasses.MISSING,
        nullable=types.NoneType in typing.get_args(hint),
    )


def _fold(key: object) -> str:
    return str(key).replace("_", "").lower()


def _read_str(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict | list):
        # Java keeps the JSON text where it declares a String.
        return fastjson.dumps(cast(Json, value))
    raise _Wrong(f"{type(value).__name__}, expected text")


def _read_int(value: object) -> int:
    if isinstance(value, str):
        try:
            value = parse_int(value)
        except ValueError as error:
            raise _Wrong(str(error)) from None
    elif isinstance(value, float) and math.isfinite(value):
        value = int(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    raise _Wrong(f"{str(value)[:40]!r}, expected a 64 bit number")


def _read_float(value: object) -> float:
    try:
        if isinstance(value, str | int | float):
            return float(value)
    except (ValueError, OverflowError) as error:
        raise _Wrong(f"{str(value)[:40]!r}, expected a number") from error
    raise _Wrong(f"{type(value).__name__}, expected a number")


def _read_bool(value: object) -> bool:
    if isinstance(value, str):
        value = {"true": 1, "1": 1, "false": 0, "0": 0}.get(value.lower())
    if isinstance(value, bool | int):
        return value == 1
    raise _Wrong(f"{str(value)[:40]!r}, expected true or false")


def _write_float(value: object) -> Json:
    number = cast(float, value)
    return number if math.isfinite(number) else None


def _write_same(value: object) -> Json:
    return cast(Json, value)


_SCALARS: Final[dict[object, tuple[_Read, _Write]]] = {
    str: (_read_str, _write_same),
    int: (_read_int, _write_same),
    float: (_read_float, _write_float),
    bool: (_read_bool, _write_same),
}


def _codec(hint: object) -> tuple[_Read, _Write]:
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [arg for arg in args if arg is not types.NoneType]
        if len(inner) == 1:
            read, write = _codec(inner[0])
            return read, lambda value: None if value is None else write(value)
    if origin is list:
        return _list_codec(args[0])
    if origin is dict:
        return _dict_codec(args[0], args[1])
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum_codec(hint)
    if isinstance(hint, type) and hasattr(hint, "from_json"):
        # This is a body, or a value of ``storefmt.config.tables`` that a store also contains.
        kind = cast("type[JsonValue]", hint)
        return (
            lambda value: kind.from_json(cast(Json, value)),
            lambda value: cast(JsonValue, value).to_json(),
        )
    raise TypeError(f"a body key cannot be {hint!r}")


def _enum_codec(kind: type[_E]) -> tuple[_Read, _Write]:
    members = list(kind)

    def read(value: object) -> _E | None:
        if isinstance(value, str):
            return kind.__members__.get(value)
        if isinstance(value, int) and 0 <= value < len(members):
            return members[value]
        return None

    return read, lambda value: cast(enum.Enum, value).name


def _list_codec(hint: object) -> tuple[_Read, _Write]:
    read, write = _codec(hint)

    def read_list(value: object) -> list[object]:
        if not isinstance(value, list):
            raise _Wrong(f"{type(value).__name__}, expected a list")
        return [read(item) for item in value if item is not None]

    return read_list, lambda value: [write(item) for item in cast(list[object], value)]


def _dict_codec(key_hint: object, value_hint: object) -> tuple[_Read, _Write]:
    read_key, write_key = _key_codec(key_hint)
    read, write = _codec(value_hint)

    def read_dict(value: object) -> dict[object, object]:
        if not isinstance(value, dict):
            raise _Wrong(f"{type(value).__name__}, expected an object")
        return {read_key(key): read(item) for key, item in value.items() if item is not None}

    def write_dict(value: object) -> Json:
        table = cast(dict[object, object], value)
        return cast(Json, {write_key(key): write(item) for key, item in table.items()})

    return read_dict, write_dict


def _key_codec(hint: object) -> tuple[_Read, Callable[[object], object]]:
    if hint is str or hint is int:
        return _SCALARS[hint]
    if isinstance(hint, type) and issubclass(hint, Body):
        body: type[Body] = hint

        def read(key: object) -> object:
            try:
                return body.from_json(dict(fastjson.object_key(cast(Key, key))))
            except ConfigDamaged as error:
                raise _Wrong(str(error)) from None

        def write(key: object) -> object:
            return to_object_key(cast(Body, key).to_json())

        return read, write
    raise TypeError(f"a map key cannot be {hint!r}")
