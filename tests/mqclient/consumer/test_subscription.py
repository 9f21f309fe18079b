"""Subscriptions: their expressions, and the messages that they accept."""

import pytest

from mqclient.consumer.subscription import SQL92, Subscription
from mqclient.errors import BadRequest
from mqclient.message import read_messages
from tests.mqclient.fake import record


@pytest.mark.parametrize("expression", ["*", "", None])
def test_everything_is_wanted(expression: str | None) -> None:
    assert Subscription.parse(expression) == Subscription("*")


def test_tags_are_split_and_trimmed() -> None:
    wanted = Subscription.parse("A || B|| C ")

    assert (wanted.tags, wanted.expression) == ({"A", "B", "C"}, "A || B|| C ")


@pytest.mark.parametrize(("text", "kind"), [("||", "TAG"), ("a > 1", "XPATH"), ("", SQL92)])
def test_expression_without_meaning_is_refused(text: str, kind: str) -> None:
    with pytest.raises(BadRequest):
        Subscription.parse(text, kind=kind)


def test_tag_with_the_same_hash_is_taken_out_here() -> None:
    # "Aa" and "BB" have the same Java hash, so a broker lets both through.
    raw = record("T", b"1", properties="TAGS\x01Aa") + record("T", b"2", properties="TAGS\x01BB")
    messages = read_messages(raw, broker_name="", address="x:1")

    assert [m.body for m in Subscription.parse("Aa").filter(messages)] == [b"1"]
    assert [m.body for m in Subscription.parse("*").filter(messages)] == [b"1", b"2"]
    assert [m.body for m in Subscription.parse("a > 1", kind=SQL92).filter(messages)] == [
        b"1",
        b"2",
    ]
