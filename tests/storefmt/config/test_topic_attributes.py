"""Attributes of a topic: every result and text is what AttributeUtil of 5.4.0 gave."""

import pytest

from storefmt.config.tables import TopicConfig
from storefmt.config.topic_attributes import alter_attributes, changes_between
from storefmt.errors import BadCall

FIFO = {"message.type": "FIFO"}
TYPES = "[UNSPECIFIED, MIXED, TRANSACTION, PRIORITY, FIFO, DELAY, NORMAL]"


@pytest.mark.parametrize(
    ("current", "changes", "after"),
    [
        ({}, "+message.type=FIFO", FIFO),
        (FIFO, "+message.type=NORMAL", {"message.type": "NORMAL"}),
        (FIFO, "-message.type", {}),
        (FIFO, "", FIFO),
    ],
)
def test_what_a_request_says_is_done(
    current: dict[str, str], changes: str, after: dict[str, str]
) -> None:
    assert alter_attributes(current, changes, is_new=not current) == after


@pytest.mark.parametrize(
    ("current", "is_new", "changes", "text"),
    [
        ({}, False, "-message.type", "attempt to delete a nonexistent key: message.type"),
        (
            {},
            True,
            "-message.type",
            "only add attribute is supported while creating topic. key: message.type",
        ),
        ({}, True, "message.type=FIFO", "add/alter attribute format is wrong: message.type"),
        ({}, True, "+message.type", "delete attribute format is wrong: +message.type"),
        ({}, True, "+message.type=WRONG", f"value is not in set: {TYPES}"),
        ({}, True, "+message.type=fifo", f"value is not in set: {TYPES}"),
        ({}, True, "+other=1", "unsupported key: other"),
        ({}, True, "+a=b=c", "unsupported key: a"),
        (FIFO, False, "-other", "attempt to delete a nonexistent key: other"),
        ({}, True, "+=FIFO", "kv string format wrong."),
        (
            {},
            True,
            "+message.type=FIFO,+message.type=DELAY",
            "key duplication: +message.type",
        ),
        (
            FIFO,
            False,
            "+message.type=FIFO,-message.type",
            "alter duplication key. key: message.type",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_words_of_java(
    current: dict[str, str], is_new: bool, changes: str, text: str
) -> None:
    with pytest.raises(BadCall) as caught:
        alter_attributes(current, changes, is_new=is_new)

    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ({}, {}, ""),
        (FIFO, FIFO, ""),
        ({}, FIFO, "+message.type=FIFO"),
        (FIFO, {}, "-message.type"),
        (FIFO, {"message.type": "DELAY"}, "+message.type=DELAY"),
        ({"a": "1", "b": "2"}, {"b": "3", "c": "4"}, "+b=3,+c=4,-a"),
    ],
)
def test_a_request_names_only_what_differs(
    old: dict[str, str], new: dict[str, str], changes: str
) -> None:
    assert changes_between(old, new) == changes


def test_a_topic_has_its_attributes_where_java_writes_them() -> None:
    config = TopicConfig("T").with_attributes(FIFO)

    assert list(config.to_json())[:2] == ["attributes", "order"]
    assert TopicConfig.from_json(config.to_json()) == config
    assert config.attributes == FIFO
    assert (config.message_type, config.other_attributes) == ("FIFO", {})
    assert config.with_attributes({**FIFO, "x": "1"}).other_attributes == {"x": "1"}
    assert config.with_attributes({}) == TopicConfig("T")


def test_a_topic_without_attributes_is_for_normal_messages() -> None:
    assert TopicConfig("T").message_type == "NORMAL"
    assert TopicConfig("T", extra={"attributes": {}}).message_type == "NORMAL"
    assert TopicConfig("T", extra={"attributes": "nonsense"}).attributes == {}
