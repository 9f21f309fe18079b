"""Bodies that are JSON: what is at which path."""

import pytest

from mqadmin.messages.json_condition import parse_json_condition

BODY = '{"order": {"items": [{"id": 17}, {"id": "18"}], "paid": true, "note": null}, "é ": 1.0}'


@pytest.mark.parametrize(
    ("condition", "is_there"),
    [
        ("order.items[0].id=17", True),
        ("order.items[0].id=18", False),
        ("order.items[1].id=18", False),
        ('order.items[1].id="18"', True),
        ("order.items[2].id", False),
        ("order.items.id", False),
        ("order.paid=true", True),
        ("order.paid=1", False),
        ("order.note", True),
        ("order.note=null", True),
        ("order.none", False),
        ("order.items[0]={ 'id': 17 }", False),
        ('order.items[0]={ "id": 17 }', True),
        ("é =1.0", True),
        ("[0]", False),
    ],
)
def test_a_value_is_found_at_its_path_and_compared_as_json(condition: str, is_there: bool) -> None:
    assert parse_json_condition(condition).is_in(BODY) is is_there


def test_text_that_is_no_json_stands_for_itself() -> None:
    condition = parse_json_condition("[1].name=Ann Lee")

    assert condition.is_in('[0, {"name": "Ann Lee"}]')
    assert not condition.is_in('[0, {"name": "Ann"}]')


@pytest.mark.parametrize("body", ["", "m1", "{", "[" * 100_000, '{"a"', "NaN"])
def test_a_body_without_json_has_nothing(body: str) -> None:
    assert not parse_json_condition("a").is_in(body)


@pytest.mark.parametrize("text", ["", "=1", "a..b", ".a", "a.", "a[x]", "a[-1]", "[0]b", "a[0"])
def test_a_path_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        parse_json_condition(text)
