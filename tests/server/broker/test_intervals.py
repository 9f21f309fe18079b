"""How often the periodic work of a broker is done."""

from types import SimpleNamespace
from typing import cast

from mqserver.broker.intervals import (
    IDLE_FACTOR,
    UNUSED_MS,
    while_unsettled,
    while_used,
    while_written,
)
from mqserver.store.store import MessageStore


def test_deliveries_are_seldom_until_their_topic_has_a_message() -> None:
    topics: set[str] = set()
    store = cast(MessageStore, SimpleNamespace(has=topics.__contains__))
    interval, slow = while_used(store, 50, "T"), while_used(store, 9_000, "T")

    assert (interval(), slow()) == (UNUSED_MS, 9_000)
    topics.add("T")
    assert (interval(), slow()) == (50, 9_000)


def test_interval_is_longer_while_the_log_does_not_grow() -> None:
    raw = SimpleNamespace(end=0)
    interval = while_written(cast(MessageStore, SimpleNamespace(raw=raw)), 200)

    assert [interval(), interval()] == [200, 200 * IDLE_FACTOR]
    raw.end = 10
    assert [interval(), interval()] == [200, 200 * IDLE_FACTOR]


def test_interval_is_short_until_what_was_begun_is_finished() -> None:
    store = SimpleNamespace(raw=SimpleNamespace(end=0), is_settled=False)
    interval = while_unsettled(cast(MessageStore, store), 200)

    assert [interval(), interval()] == [200, 200]
    store.is_settled = True
    assert [interval(), interval()] == [200, 200 * IDLE_FACTOR]
