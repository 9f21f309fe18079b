"""Values to JSON bodies and back, for each kind of type, and what is refused."""

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel

from mqclient.errors import UnexpectedBody
from mqclient.json_body import from_json, to_json
from mqclient.message import MessageExt
from storefmt.formats.message import decode_record
from tests.mqclient.fake import record
from tests.programs import python


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Item:
    name: str
    price: Decimal


@dataclass(frozen=True)
class Order:
    number: int
    items: list[Item]
    colour: Colour | None = None
    tags: dict[str, int] = field(default_factory=dict)
    made: datetime | None = None
    total: float = 0.0
    label: str = field(default="", init=False)


class Model(BaseModel):
    number: int
    item: Item | None = None


ORDER = Order(
    7,
    [Item("tea", Decimal("1.50"))],
    Colour.RED,
    {"a": 1},
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    2.5,
)
ID = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"\x00\xff", bytes),
        ("tea ☕", str),
        (None, type(None)),
        (True, bool),
        (7, int),
        (1.5, float),
        ([1, 2], list[int]),
        ([1, "a"], list),
        ({"a": [1]}, dict[str, list[int]]),
        ({"a": 1}, Mapping[str, int]),
        ({"a": 1}, dict),
        ((1, "a"), tuple[int, str]),
        ((1, 2, 3), tuple[int, ...]),
        ({"x"}, set[str]),
        (None, int | None),
        (7, str | int),
        (7, Annotated[int, "unit"]),
        ("b", str),
        (Colour.RED, Colour),
        (date(2026, 1, 2), date),
        (ID, UUID),
        (ORDER, Order),
        ([ORDER], list[Order]),
        (Model(number=7, item=Item("tea", Decimal(1))), Model),
        ([Model(number=7)], list[Model]),
        ({"any": [1, None]}, Any),
    ],
)
def test_a_value_comes_back_as_it_was(value: object, kind: Any) -> None:
    body = sorted(value) if isinstance(value, set) else value

    assert from_json(to_json(body), kind) == value


def test_a_whole_number_is_a_float_and_a_literal_is_compared() -> None:
    assert type(from_json(b"1", float)) is float
    assert from_json(b'"a"', Literal["a", "b"]) == "a"  # type: ignore[arg-type]


def test_unknown_names_are_ignored_and_defaults_fill_missing_ones() -> None:
    assert from_json(b'{"number": 1, "items": [], "new": 1}', Order) == Order(1, [])


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"{", Order, "not a Order"),
        (b"\xff", str, "not a str"),
        (b"[]", Order, "body is \\[\\], expected dict"),
        (b'{"items": []}', Order, "body.number is missing"),
        (b'{"number": "7", "items": []}', Order, "body.number is '7', expected int"),
        (b'{"number": true, "items": []}', Order, "body.number is True, expected int"),
        (b'{"number": 7, "items": [{"name": 1, "price": "1"}]}', Order, r"items\[0\].name is 1"),
        (b'{"number": 7, "items": [], "colour": "blue"}', Order, "blue"),
        (b'{"number": 7, "items": [], "tags": {"a": "b"}}', Order, r"tags\['a'\] is 'b'"),
        (b'{"number": "x"}', Model, "not a Model"),
        (b"[1]", tuple[int, str], "1 elements, expected 2"),
        (b'"c"', Literal["a", "b"], "expected one of"),
        (b'"x"', UUID, "not a UUID"),
    ],
)
def test_a_body_of_another_type_is_refused_with_its_place(
    body: bytes, kind: Any, text: str
) -> None:
    with pytest.raises(UnexpectedBody, match=text):
        from_json(body, kind)


@pytest.mark.parametrize("value", [object(), {"a": object()}, {1, 2}, Order])
def test_a_value_without_a_form_in_json_is_refused(value: object) -> None:
    with pytest.raises(UnexpectedBody, match="no form in JSON"):
        to_json(value)


def test_models_inside_of_plain_values_are_written_as_their_own() -> None:
    body = to_json({"models": [Model(number=1)], "bytes": ORDER})

    assert json.loads(body)["models"] == [{"number": 1, "item": None}]


def test_a_message_gives_its_body_as_a_value() -> None:
    message = MessageExt(decode_record(record("T", b'{"name": "tea", "price": "1"}')), "b")

    assert message.body_as(Item) == Item("tea", Decimal(1))


MSGSPEC = """
import sys, types

class Struct: __struct_fields__ = ("number",)
fake = types.ModuleType("msgspec")
fake.json = types.SimpleNamespace(
    encode=lambda value: b"encoded", decode=lambda body, type: ("decoded", body, type)
)
fake.convert = lambda found, kind: ("converted", found)
fake.to_builtins = lambda value: "built in"
from mqclient import from_json, to_json
assert not {"msgspec", "pydantic"} & set(sys.modules)
sys.modules["msgspec"] = fake
print(to_json(Struct()), to_json([Struct()]))
print(from_json(b"1", Struct)[0], from_json(b"[1]", list[Struct]))
"""


def test_libraries_of_models_are_not_imported_and_structs_use_their_own() -> None:
    shown = python("-c", MSGSPEC)

    assert shown.stderr == ""
    assert shown.stdout.splitlines() == [
        "b'encoded' b'[\"built in\"]'",
        "decoded [('converted', 1)]",
    ]
