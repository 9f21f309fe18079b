"""``--schema``: what it says about rows is what ``-o json`` prints."""

import json
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import pytest

from mqadmin.cli.command import Command
from mqadmin.cli.parse import everything
from mqadmin.output.columns import columns_of, record_of
from mqadmin.output.rows import EpochMs, Row, omitted
from mqadmin.output.schema import row_schema, schema_of
from tests.mqadmin.conftest import Run

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Inner(Row):
    """A part."""

    queue_id: int


@dataclass(frozen=True, slots=True)
class Sample(Row):
    """One of everything."""

    topic: str
    size: int | None
    rate: float
    ok: bool
    store_ms: EpochMs
    kind: Literal["a", "b"]
    colour: Colour
    parts: tuple[Inner, ...]
    properties: dict[str, str]
    body: str | None = omitted()


def test_each_kind_of_field_has_its_schema() -> None:
    made = row_schema(Sample)

    part = {
        "type": "object",
        "description": "A part.",
        "properties": {"queue_id": {"type": "integer"}},
        "required": ["queue_id"],
    }
    assert made["properties"] == {
        "topic": {"type": "string"},
        "size": {"type": ["integer", "null"]},
        "rate": {"type": "number"},
        "ok": {"type": "boolean"},
        "store_ms": {"type": "integer"},
        "store_time": {"type": ["string", "null"], "format": "date-time"},
        "kind": {"enum": ["a", "b"]},
        "colour": {"enum": ["red"]},
        "parts": {"type": "array", "items": part},
        "properties": {"type": "object", "additionalProperties": {"type": "string"}},
        "body": {"type": ["string", "null"]},
    }


def test_a_row_has_the_names_of_its_schema_and_only_what_is_required_always() -> None:
    row = Sample("t", None, 1.0, True, 5, "a", Colour.RED, (Inner(3),), {"k": "v"})
    made = row_schema(Sample)

    record = record_of(row, columns_of(Sample))

    assert set(record) == set(made["required"])
    assert set(made["properties"]) - set(record) == {"body"}


@pytest.mark.parametrize("made", everything(), ids=lambda made: str(made.name))
def test_every_command_says_what_its_rows_are(made: Command) -> None:
    schema = schema_of(made.name, made.summary, made.rows)

    assert schema["title"] == made.name
    if made.rows is None:
        assert schema["not"] == {}
        return
    row = row_schema(made.rows)
    properties = row["properties"]
    assert [column.name for column in columns_of(made.rows)] == list(properties)
    assert [name for name, said in properties.items() if not said and name != "value"] == []


def test_real_rows_are_as_the_schema_says(at: Run) -> None:
    at("topic", "create", "SCHEMA", "-q", "2")

    schema = json.loads(at("topic", "show", "--schema").out)
    rows = at.rows("topic", "show", "SCHEMA")

    row = schema["$defs"]["row"]
    assert rows
    for one in rows:
        assert list(one) == list(row["properties"])
        for name, value in one.items():
            said = row["properties"][name]["type"]
            names = said if isinstance(said, list) else [said]
            assert (value is None and "null" in names) or isinstance(
                value, tuple(TYPES[kind] for kind in names if kind != "null")
            )
