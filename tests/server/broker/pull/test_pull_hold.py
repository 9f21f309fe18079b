"""Waiting pulls with a clock moved by hand."""

from collections.abc import Callable, Mapping

import pytest

from mqserver.broker.pull.pull_hold import (
    ANSWER_WORK,
    NEWS_COUNT_MAX,
    OWNED_COUNT_MAX,
    HeldPull,
    HeldPulls,
)


def held(
    name: str,
    *,
    queue_offset: int = 0,
    deadline_ms: int = 100,
    codes: frozenset[int] | None = None,
    owner: str = "conn",
    queue_id: int = 0,
    topic: str = "T",
) -> HeldPull[str]:
    return HeldPull(
        topic=topic,
        queue_id=queue_id,
        queue_offset=queue_offset,
        codes=codes,
        deadline_ms=deadline_ms,
        owner=owner,
        pull=name,
    )


def holding(*pulls: HeldPull[str]) -> HeldPulls[str]:
    hold: HeldPulls[str] = HeldPulls()
    for one in pulls:
        hold.add(one)
    return hold


def names(pulls: list[HeldPull[str]]) -> list[str]:
    return [one.pull for one in pulls]


def arrived(hold: HeldPulls[str], queue_offset: int, *, tags_code: int = 0) -> list[str]:
    hold.arrived("T", 0, queue_offset=queue_offset, tags_code=tags_code)
    return names(hold.wake())


def test_message_wakes_those_it_suits_and_leaves_the_others() -> None:
    hold = holding(
        held("all"),
        held("tag 7", codes=frozenset({7})),
        held("later", queue_offset=5),
        held("elsewhere", queue_id=1),
    )

    assert arrived(hold, 4, tags_code=9) == ["all"]
    assert arrived(hold, 5, tags_code=7) == ["tag 7", "later"]
    assert arrived(hold, 6) == []
    assert len(hold) == 1


def test_deadline_answers_what_still_waits_exactly_then() -> None:
    hold = holding(
        held("late", deadline_ms=200),
        held("woken", deadline_ms=50, queue_id=1),
        held("early", deadline_ms=100),
    )
    hold.arrived("T", 1, queue_offset=0, tags_code=0)
    hold.wake()

    assert hold.next_deadline_ms() == 100
    assert names(hold.expired(99)) == []
    assert names(hold.expired(100)) == ["early"]
    assert names(hold.expired(1_000)) == ["late"]
    assert hold.next_deadline_ms() is None


def test_closed_connection_takes_its_pulls_along() -> None:
    hold = holding(
        held("mine", owner="a"), held("mine too", owner="a", queue_id=1), held("other", owner="b")
    )

    hold.drop_owner("a")
    hold.drop_owner("a")

    assert len(hold) == 1
    assert not hold.is_waited_for("T", 1)
    assert arrived(hold, 0) == ["other"]
    assert names(hold.expired(1_000)) == []


def test_deleted_topic_lets_its_pulls_go() -> None:
    hold = holding(held("a"), held("b", queue_id=3), held("c", topic="U"))

    hold.drop_topic("T")

    assert sorted(names(hold.wake())) == ["a", "b"]
    assert len(hold) == 1


def test_answered_pulls_do_not_pile_up_behind_far_deadlines() -> None:
    hold: HeldPulls[str] = HeldPulls()
    for number in range(5_000):
        hold.add(held(str(number), deadline_ms=10_000_000))
        arrived(hold, 0)

    assert len(hold._deadlines) == 1


def topic_deleted(hold: HeldPulls[str]) -> list[str]:
    hold.drop_topic("T")
    return names(hold.wake())


def connection_closed(hold: HeldPulls[str]) -> list[str]:
    hold.drop_owner("conn")
    return []


EVENTS: dict[str, tuple[Callable[[HeldPulls[str]], list[str]], bool]] = {
    "suited": (lambda hold: arrived(hold, 0, tags_code=7), False),
    "not suited": (lambda hold: arrived(hold, 0, tags_code=8), True),
    "time over": (lambda hold: names(hold.expired(100)), False),
    "topic deleted": (topic_deleted, False),
    "connection closed": (connection_closed, False),
}
"""What can happen while a pull waits, and whether it still waits after that."""


@pytest.mark.parametrize("second", EVENTS)
@pytest.mark.parametrize("first", EVENTS)
def test_waiting_pull_is_answered_once(first: str, second: str) -> None:
    pull = held("it", codes=frozenset({7}))
    hold = holding(pull)

    for event in (first, second):
        was_waiting = pull.is_waiting
        happen, still_waits = EVENTS[event]

        answered = happen(hold)

        assert pull.is_waiting == len(hold) == (was_waiting and still_waits)
        is_answered = was_waiting and not still_waits and event != "connection closed"
        assert answered == (["it"] if is_answered else [])


def test_many_pulls_are_woken_in_slices_and_in_order() -> None:
    hold = holding(*(held(str(number)) for number in range(25)))

    hold.arrived("T", 0, queue_offset=0, tags_code=0)
    hold.add(held("came later", queue_offset=1))
    hold.arrived("T", 0, queue_offset=1, tags_code=0)
    slices = []
    while hold.has_news:
        slices.append(names(hold.wake(work_max=10 * ANSWER_WORK)))

    assert max(map(len, slices)) == 10
    assert [name for part in slices for name in part] == [*map(str, range(25)), "came later"]


def test_pulls_that_a_message_does_not_suit_cost_work_too() -> None:
    hold: HeldPulls[str] = HeldPulls()
    asked = []

    def refuses(properties: Mapping[str, str]) -> bool:
        asked.append(properties)
        return False

    for number in range(100):
        pull = held(str(number))
        pull.wants, pull.wants_work = refuses, 49
        hold.add(pull)
    hold.arrived("T", 0, queue_offset=0, tags_code=0)

    assert hold.wake(work_max=500) == []

    assert (len(asked), hold.has_news) == (10, True)


def test_pull_that_is_gone_before_its_slice_is_not_answered() -> None:
    hold = holding(*(held(str(number), owner=str(number)) for number in range(3)))
    hold.arrived("T", 0, queue_offset=0, tags_code=0)

    first = names(hold.wake(work_max=1))
    hold.drop_owner("1")

    assert (first, names(hold.wake()), len(hold)) == (["0"], ["2"], 0)


def test_more_messages_than_can_be_looked_at_wake_everybody_once() -> None:
    hold = holding(
        held("tag 7", codes=frozenset({7})),
        held("behind", codes=frozenset({7}), queue_offset=NEWS_COUNT_MAX + 10),
    )

    for queue_offset in range(NEWS_COUNT_MAX + 10):
        hold.arrived("T", 0, queue_offset=queue_offset, tags_code=8)
    count = len(hold._news)
    woken = []
    while hold.has_news:
        woken += names(hold.wake())

    assert count == NEWS_COUNT_MAX + 1
    assert woken == ["tag 7"]


def test_deadlines_of_many_pulls_are_answered_in_slices() -> None:
    hold = holding(*(held(str(number), deadline_ms=100 + number % 2) for number in range(25)))

    first = names(hold.expired(1_000, work_max=10 * ANSWER_WORK))
    due_ms = hold.next_deadline_ms()
    rest = names(hold.expired(1_000))

    assert first == [str(number) for number in range(0, 20, 2)]
    assert due_ms == 100
    assert rest == ["20", "22", "24", *map(str, range(1, 25, 2))]
    assert hold.next_deadline_ms() is None


def test_pulls_are_bounded_in_all() -> None:
    hold: HeldPulls[str] = HeldPulls(count_max=4)
    for owner in "abcd":
        assert hold.has_room(owner)
        hold.add(held(owner, owner=owner))

    assert not hold.has_room("e")
    hold.drop_owner("a")
    assert hold.has_room("e")


def test_one_connection_leaves_as_much_room_as_it_takes() -> None:
    hold: HeldPulls[str] = HeldPulls(count_max=100)
    counts = dict.fromkeys("abc", 0)

    for owner in counts:
        while hold.has_room(owner):
            hold.add(held(owner, owner=owner))
            counts[owner] += 1

    assert counts == {"a": 50, "b": 25, "c": 13}
    assert max(counts.values()) < OWNED_COUNT_MAX
