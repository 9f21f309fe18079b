"""Values of the application as the JSON body of a message, and back.

    bytes, str                        as they are; a str is UTF-8, without quotes
    pydantic models, msgspec structs  their own encoder and decoder
    everything else                   JSON: None, bool, int, float, list, tuple, dict, dataclass,
                                      enum, date, datetime, UUID, Decimal, and what these contain

``from_json`` takes the type that is wanted, as an annotation names it (``Order``, ``list[Order]``,
``Order | None``), and refuses a body of another type; it converts no number to a text.

Rule: this module imports no library of models. Whoever passes such a model has imported it.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from mqclient.errors import UnexpectedBody

_T = TypeVar("_T")

Serializer = Callable[[object], bytes]
"""Returns the body for a value."""
Deserializer = Callable[[bytes, Any], object]
"""Returns the value of a body; gets the body and the type that is wanted."""

_TEXTS: Final[Mapping[type, Callable[[str], object]]] = {
    date: date.fromisoformat,
    datetime: datetime.fromisoformat,
    UUID: UUID,
    Decimal: Decimal,
}
"""How the text of a value is read, by type."""


def to_json(value: object) -> bytes:
    """Return the body for a value.

    Raises:
        UnexpectedBody: the value, or a part of it, has no form in JSON.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str) and not isinstance(value, Enum):
        return value.encode()
    if _is_struct(type(value)):
        import msgspec

        return msgspec.json.encode(value)
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise UnexpectedBody(f"a {type(value).__name__} has no form in JSON: {error}") from error
    return text.encode()


def from_json(body: bytes, kind: type[_T]) -> _T:
    """Return the value of a body.

    Args:
        body: the body of a message.
        kind: the type of the value, as an annotation names it.

    Raises:
        UnexpectedBody: the body is not JSON, or the value is of another type.
    """
    annotation: Any = kind
    if annotation is bytes:
        return cast("_T", body)
    try:
        if annotation is str:
            return cast("_T", body.decode())
        if _is_model(annotation):
            return cast("_T", annotation.model_validate_json(body))
        if _is_struct(annotation):
            import msgspec

            return cast("_T", msgspec.json.decode(body, type=annotation))
        return cast("_T", _converted(json.loads(body), annotation, "body"))
    except UnexpectedBody:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        name = getattr(annotation, "__name__", repr(annotation))
        raise UnexpectedBody(f"the body is not a {name}: {error}") from error


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and hasattr(kind, "model_validate_json")


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__struct_fields__")


def _plain(value: object) -> object:
    """Return what ``json`` can write for a value that it does not know."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if _is_model(type(value)):
        return cast("Any", value).model_dump(mode="json")
    if _is_struct(type(value)):
        import msgspec

        return msgspec.to_builtins(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is unknown")


def _converted(json_value: Any, kind: Any, where: str) -> object:
    """Return a value that ``json`` has read as one of the expected type.

    Args:
        json_value: the value.
        kind: the expected type.
        where: the place of the value, for error texts.
    """
    if kind is Any or kind is object:
        return json_value
    if kind is None or kind is type(None):
        return _checked(json_value, type(None), where)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _converted(json_value, args[0], where)
    if origin is typing.Literal:
        if json_value not in args:
            raise UnexpectedBody(f"{where} is {json_value!r}, expected one of {list(args)}")
        return json_value
    if origin in (typing.Union, types.UnionType):
        return _one_of(json_value, args, where)
    if origin is not None:
        return _container(json_value, origin, args, where)
    if _is_model(kind):
        return kind.model_validate(json_value)
    if _is_struct(kind):
        import msgspec

        return cast("object", msgspec.convert(json_value, kind))
    if dataclasses.is_dataclass(kind):
        return _dataclass(json_value, kind, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(json_value)
    if kind in _TEXTS:
        return _TEXTS[kind](_checked(json_value, str, where))
    if kind in (tuple, set, frozenset):
        return kind(_checked(json_value, list, where))
    return _checked(json_value, kind, where)


def _checked(json_value: Any, kind: type, where: str) -> Any:
    # In JSON 1 may stand for 1.0, but true is not a number.
    fits = isinstance(json_value, kind) or (kind is float and isinstance(json_value, int))
    if not fits or (isinstance(json_value, bool) and kind is not bool):
        raise UnexpectedBody(f"{where} is {json_value!r}, expected {kind.__name__}")
    return float(json_value) if kind is float else json_value


def _one_of(json_value: Any, kinds: tuple[Any, ...], where: str) -> object:
    failures = []
    for kind in kinds:
        try:
            return _converted(json_value, kind, where)
        except (UnexpectedBody, TypeError, ValueError) as error:
            failures.append(str(error))
    raise UnexpectedBody("; or ".join(failures))


def _container(json_value: Any, origin: Any, args: tuple[Any, ...], where: str) -> object:
    if isinstance(origin, type) and issubclass(origin, Mapping):
        items = _checked(json_value, dict, where)
        return {
            key: _converted(value, args[1], f"{where}[{key!r}]") for key, value in items.items()
        }
    elements = _checked(json_value, list, where)
    if origin is tuple and args[-1:] != (...,):
        if len(elements) != len(args):
            raise UnexpectedBody(f"{where} has {len(elements)} elements, expected {len(args)}")
        kinds = list(args)
    else:
        kinds = [args[0]] * len(elements)
    values = [
        _converted(element, kind, f"{where}[{index}]")
        for index, (element, kind) in enumerate(zip(elements, kinds, strict=True))
    ]
    return origin(values) if origin in (tuple, set, frozenset) else values


def _dataclass(json_value: Any, kind: Any, where: str) -> object:
    """Return a dataclass; names that it does not have are ignored, so that senders may add some."""
    items = _checked(json_value, dict, where)
    hints = typing.get_type_hints(kind)
    values: dict[str, object] = {}
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        if field.name in items:
            values[field.name] = _converted(
                items[field.name], hints[field.name], f"{where}.{field.name}"
            )
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise UnexpectedBody(f"{where}.{field.name} is missing")
    return kind(**values)
