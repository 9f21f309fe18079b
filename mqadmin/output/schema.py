"""The JSON schema of a command's rows, for ``CMD --schema``.

    topic: str                   {"type": "string"}
    store_ms: EpochMs            {"type": "integer"}, and store_time, a date-time or null
    body: str | None = omitted() not in "required"
    queues: tuple[Row, ...]      an array of objects, with the schema of that row

Rule: the schema comes only from the row class, like every output; a test checks real rows against
it.

Source: https://json-schema.org/draft/2020-12.
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Annotated, Final, Literal, TypeAlias, Union, get_args, get_origin

from mqadmin.output.columns import columns_of, hints_of
from mqadmin.output.rows import OMIT, Row

Schema: TypeAlias = "dict[str, bool | str | list[str] | Schema | list[Schema]]"

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
TIME: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}
PLAIN: Final[dict[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def schema_of(name: str, summary: str, rows: type[Row] | None) -> Schema:
    """Return the schema of what ``-o json`` prints for a command.

    A command that returns one thing prints an object, others print an array. The schema allows
    both, because a few commands do either. A command without rows prints nothing.
    """
    head: Schema = {"$schema": DIALECT, "title": name, "description": summary}
    if rows is None:
        return {**head, "not": {}}
    row: Schema = {"$ref": "#/$defs/row"}
    several: Schema = {"type": "array", "items": row}
    return {**head, "anyOf": [several, row], "$defs": {"row": row_schema(rows)}}


def row_schema(row_class: type[Row]) -> Schema:
    """Return the schema of one row: its columns in order."""
    hints = hints_of(row_class)
    optional = {spot.name for spot in fields(row_class) if spot.metadata.get(OMIT)}
    names = [column.name for column in columns_of(row_class)]
    properties: Schema = {name: _of(hints[name]) if name in hints else dict(TIME) for name in names}
    return {
        "type": "object",
        "description": (row_class.__doc__ or "").strip().split("\n")[0],
        "properties": properties,
        "required": [name for name in names if name not in optional],
    }


def _of(annotation: object) -> Schema:
    """Return the schema of a field's type; an empty one if any value is allowed."""
    if get_origin(annotation) is Annotated:
        return _of(get_args(annotation)[0])
    if annotation in PLAIN:
        return {"type": PLAIN[annotation]}
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        return _union([_of(part) for part in parts])
    if origin is Literal:
        return {"enum": [str(part) for part in parts]}
    if origin in {tuple, list}:
        return {"type": "array", "items": _of(parts[0])} if parts else {"type": "array"}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(parts[1])}
    return _class(annotation) if isinstance(annotation, type) else {}


def _class(kind: type[object]) -> Schema:
    if issubclass(kind, Row):
        return row_schema(kind)
    if issubclass(kind, Enum):
        return {"enum": [str(member.value) for member in kind]}
    for plain, name in PLAIN.items():
        if isinstance(plain, type) and issubclass(kind, plain):
            return {"type": name}
    return {"type": "object"} if is_dataclass(kind) else {}


def _union(parts: list[Schema]) -> Schema:
    """Return one schema for several types: a list of type names if that is enough."""
    names = [part["type"] for part in parts if set(part) == {"type"}]
    if len(names) == len(parts) and all(isinstance(name, str) for name in names):
        return {"type": [str(name) for name in names]}
    return {"anyOf": parts}
