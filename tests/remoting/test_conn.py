"""Answers find their questions; what is late or lost is told."""

import random

from remoting.conn import PendingRequests


def test_an_answer_finds_its_question_once() -> None:
    pending: PendingRequests[str] = PendingRequests()
    first, second = pending.add("first", 100), pending.add("second", 100)

    assert pending.pop_waiter(second) == "second"
    assert pending.pop_waiter(second) is None
    assert pending.pop_waiter(first) == "first"
    assert pending.pop_waiter(12345) is None
    assert len(pending) == 0


def test_deadlines_expire_in_order_and_only_once() -> None:
    pending: PendingRequests[str] = PendingRequests()
    for name, deadline_ms in (("c", 30), ("a", 10), ("b", 20), ("answered", 5)):
        opaque = pending.add(name, deadline_ms)
    pending.pop_waiter(opaque)

    assert pending.next_deadline_ms() == 10
    assert pending.expired(9) == []
    assert pending.expired(20) == ["a", "b"]
    assert pending.expired(20) == []
    assert pending.next_deadline_ms() == 30


def test_a_lost_connection_gives_all_back() -> None:
    pending: PendingRequests[str] = PendingRequests()
    pending.add("a", 10)
    pending.add("b", 5)

    assert pending.drain() == ["a", "b"]
    assert pending.drain() == []
    assert pending.next_deadline_ms() is None
    assert pending.expired(99) == []


def test_opaque_wraps_and_skips_what_still_waits() -> None:
    pending: PendingRequests[str] = PendingRequests()
    assert pending.add("slow", 10) == 0
    pending._next = 0x7FFFFFFF

    assert pending.add("last", 10) == 0x7FFFFFFF
    assert pending.add("after", 10) == 1


def test_a_number_used_again_does_not_expire_by_its_old_deadline() -> None:
    pending: PendingRequests[str] = PendingRequests()
    pending.pop_waiter(pending.add("old", 10))
    pending._next = 0
    pending.add("new", 50)

    assert pending.expired(20) == []
    assert pending.next_deadline_ms() == 50


def test_answered_requests_do_not_pile_up() -> None:
    pending: PendingRequests[int] = PendingRequests()
    kept = pending.add(-1, 1_000_000)

    for number in range(10_000):
        pending.pop_waiter(pending.add(number, 5_000))

    assert len(pending._deadlines) < 1_000
    assert pending.pop_waiter(kept) == -1


def test_a_random_history_equals_a_plain_dict() -> None:
    rng = random.Random(3)
    pending: PendingRequests[int] = PendingRequests()
    model: dict[int, int] = {}
    now_ms = 0
    for number in range(3_000):
        step = rng.randrange(3)
        if step == 0:
            deadline_ms = now_ms + rng.randrange(1, 50)
            model[pending.add(number, deadline_ms)] = deadline_ms
        elif step == 1 and model:
            opaque = rng.choice(list(model))
            del model[opaque]
            assert pending.pop_waiter(opaque) is not None
        else:
            now_ms += rng.randrange(20)
            late = [opaque for opaque, deadline_ms in model.items() if deadline_ms <= now_ms]
            assert len(pending.expired(now_ms)) == len(late)
            for opaque in late:
                del model[opaque]
        assert pending.next_deadline_ms() == min(model.values(), default=None)
