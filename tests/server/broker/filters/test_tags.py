"""Tag expressions."""

import tracemalloc

import pytest

from mqserver.broker.filters import tags
from mqserver.broker.filters.tags import (
    codes_of_expression,
    codes_of_subscription,
    is_malformed,
    is_tag_type,
    tags_of,
)
from remoting.bodies import SubscriptionData
from storefmt.formats.javahash import string_hash


@pytest.mark.parametrize(
    ("expression", "tags"),
    [("*", ()), ("", ()), ("A", ("A",)), (" A ||B|| A", ("A", "B")), ("A || || B", ("A", "B"))],
)
def test_tags_are_split_and_trimmed(expression: str, tags: tuple[str, ...]) -> None:
    assert tags_of(expression) == tags


def test_expression_takes_its_tags_by_their_hash() -> None:
    assert codes_of_expression("*") is None
    assert codes_of_expression("A || B") == {string_hash("A"), string_hash("B")}


def test_tags_of_a_pull_leave_nothing_in_memory() -> None:
    tracemalloc.start()
    try:
        for number in range(50):
            codes_of_expression(" || ".join(map(str, range(number, number + 2_000))))
        left = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()

    # Other threads of the test's process may allocate, too.
    own = left.filter_traces([tracemalloc.Filter(inclusive=True, filename_pattern=tags.__file__)])
    assert sum(trace.size for trace in own.traces) < 100_000


def test_subscription_takes_what_the_client_computed() -> None:
    everything = SubscriptionData(topic="T", sub_string="*")
    some = SubscriptionData(topic="T", sub_string="A", code_set=[65])
    by_class = SubscriptionData(topic="T", sub_string="A", class_filter_mode=True)

    assert codes_of_subscription(everything) is None
    assert codes_of_subscription(by_class) is None
    assert codes_of_subscription(some) == {65}


@pytest.mark.parametrize(
    ("expression", "bad"), [(None, False), ("", False), ("A", False), ("||", True), ("||||", True)]
)
def test_separators_alone_are_malformed(expression: str | None, bad: bool) -> None:
    assert is_malformed(expression) is bad


@pytest.mark.parametrize(
    ("kind", "tag"), [(None, True), ("", True), ("TAG", True), ("SQL92", False), ("tag", False)]
)
def test_only_tags_are_understood(kind: str | None, tag: bool) -> None:
    assert is_tag_type(kind) is tag
