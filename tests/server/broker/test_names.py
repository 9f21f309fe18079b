"""Which names a broker takes."""

import pytest

from mqserver.broker.names import (
    check_group,
    check_topic,
    dlq_topic,
    group_fault,
    retry_topic,
    see_faq,
    topic_fault,
)
from mqserver.runtime.request import RequestRefused
from remoting.codes import ResponseCode


@pytest.mark.parametrize("name", ["T", "a-b_c|%9", "%RETRY%G", "t" * 127])
def test_good_names_have_no_fault(name: str) -> None:
    assert topic_fault(name) is None
    assert group_fault(name) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (None, "blank"),
        ("", "blank"),
        (" \t", "blank"),
        ("a b", "illegal characters"),
        ("../x", "illegal characters"),
        ("a/b", "illegal characters"),
        ("a\0", "illegal characters"),
        ("Zürich", "illegal characters"),
        ("a.b", "illegal characters"),
        ("t" * 128, "longer than topic max length"),
        ("/" * 128, "illegal characters"),
    ],
)
def test_bad_topics_are_named_in_javas_words(name: str | None, text: str) -> None:
    assert text in (topic_fault(name) or "")


@pytest.mark.parametrize(
    ("name", "text"),
    [(None, "blank"), ("", "blank"), ("a/b", "illegal characters"), ("g" * 256, "longer than")],
)
def test_bad_groups_are_named(name: str | None, text: str) -> None:
    assert text in (group_fault(name) or "")


def test_a_request_with_a_bad_name_is_refused_with_the_remark() -> None:
    check_topic("T")
    check_group("G")

    with pytest.raises(RequestRefused, match=r"specified topic .* illegal") as topic:
        check_topic("a/b")
    with pytest.raises(RequestRefused, match="specified group is blank"):
        check_group(None)
    assert topic.value.code == ResponseCode.SYSTEM_ERROR


def test_group_topics_and_the_faq_line() -> None:
    assert retry_topic("G") == "%RETRY%G"
    assert dlq_topic("G") == "%DLQ%G"
    assert see_faq("x").startswith("x\nSee http://")
