"""Documents of topics and groups: read, spread over brokers, and compared."""

from typing import Any

import pytest

from mqadmin.errors import Usage
from mqadmin.manifest.declared import (
    EVERY,
    GROUPS,
    TOPICS,
    Manifest,
    collapse,
    differences,
    expand,
    read_document,
    with_brokers,
)
from storefmt.config.tables import TopicConfig


def topics(**things: dict[str, dict[str, Any]]) -> Manifest:
    return {"topics": dict(things)}


def test_what_all_brokers_have_alike_is_said_once() -> None:
    alike = topics(T={"a": {"order": True}, "b": {"order": True}})
    other = topics(T={"a": {"order": True}, "b": {"order": False}}, U={"a": {"order": True}})

    assert collapse(alike, ["a", "b"]) == topics(T={EVERY: {"order": True}})
    assert collapse(other, ["a", "b"]) == other


def test_every_is_spelled_out_and_a_named_broker_goes_first() -> None:
    one = topics(T={EVERY: {"order": True, "read_queues": 4}, "b": {"order": False}})

    assert expand(one, ["a", "b"]) == topics(
        T={"a": {"order": True, "read_queues": 4}, "b": {"order": False, "read_queues": 4}}
    )


def test_differences_name_the_setting() -> None:
    left = topics(T={EVERY: {"order": True, "perm": "RW-"}}, OLD={EVERY: {}})
    right = topics(T={"a": {"order": True, "perm": "R--"}, "b": {"perm": "RW-"}}, NEW={"a": {}})

    found = [(d.name, d.broker, d.setting, d.left, d.right) for d in differences(left, right)]
    assert ("T", "a", "perm", "RW-", "R--") in found
    assert [one for one in found if one[0] == "T"] == [("T", "a", "perm", "RW-", "R--")]
    assert {one[0] for one in found} == {"T", "OLD", "NEW"}
    assert list(differences(right, right)) == []


def test_only_named_settings_change() -> None:
    old = TopicConfig("T", 4, 5, perm=6)

    new = TOPICS.apply_to(old, "T", {"read_queues": 9, "perm": "R--"})

    assert (new.read_queue_nums, new.write_queue_nums, new.perm) == (9, 5, 4)
    assert TOPICS.apply_to(None, "U", {}).topic_name == "U"
    assert TOPICS.describe(new)["perm"] == "R--"
    assert GROUPS.apply_to(None, "g", {"retry_max_times": 3}).retry_max_times == 3


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], "expected sections"),
        ({"topic": {}}, "unknown section 'topic'"),
        ({"topics": ["T"]}, "expected names"),
        ({"topics": {"T": 8}}, "expected brokers"),
        ({"topics": {"T": {"*": 8}}}, "expected settings"),
        ({"topics": {"T": {"*": {"read_queue": 8}}}}, "unknown setting 'read_queue'"),
        ({"topics": {"T": {"*": {"read_queues": "8"}}}}, "expected int"),
        ({"topics": {"T": {"*": {"read_queues": True}}}}, "expected int"),
        ({"topics": {"T": {"*": {"perm": "XYZ"}}}}, "is not a permission"),
    ],
)
def test_what_is_no_document_is_told(document: object, text: str) -> None:
    with pytest.raises(Usage) as caught:
        read_document(document, source="f.yaml")

    assert text in str(caught.value)
    assert str(caught.value).startswith("f.yaml: ")


def test_an_empty_section_is_one() -> None:
    assert read_document({"topics": None}, source="f") == {"topics": {}}


def test_brokers_of_a_document_get_other_names() -> None:
    document = {"topics": {"orders": {"a": {"perm": "RW-"}, "*": {"perm": "R--"}}}}

    mapped = with_brokers(document, {"a": "b"})

    assert mapped == {"topics": {"orders": {"b": {"perm": "RW-"}, "*": {"perm": "R--"}}}}
    with pytest.raises(Usage, match="two brokers map to the same broker"):
        with_brokers({"topics": {"orders": {"a": {}, "b": {}}}}, {"a": "b"})
