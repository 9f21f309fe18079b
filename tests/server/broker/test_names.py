"""Which names a broker takes."""

import pytest

from server.broker.names import dlq_topic, group_fault, retry_topic, see_faq, topic_fault


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


def test_group_topics_and_the_faq_line() -> None:
    assert retry_topic("G") == "%RETRY%G"
    assert dlq_topic("G") == "%DLQ%G"
    assert see_faq("x").startswith("x\nSee http://")
