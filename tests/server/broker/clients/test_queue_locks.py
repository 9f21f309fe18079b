"""Queue locks with a clock moved by hand."""

import itertools

import pytest

from remoting.bodies import MessageQueue
from server.broker.clients.queue_locks import LOCK_LIFE_MS, NEXT, HeldLock, LockTable, Seen, Wish

A = MessageQueue(topic="T", broker_name="b", queue_id=0)
B = MessageQueue(topic="T", broker_name="b", queue_id=1)


def test_lock_lives_sixty_seconds_after_its_last_renewal() -> None:
    locks = LockTable()
    locks.lock("G", "c1", queues=[A], now_ms=0)
    locks.lock("G", "c1", queues=[A], now_ms=30_000)

    at_limit = locks.lock("G", "c2", queues=[A], now_ms=30_000 + LOCK_LIFE_MS)
    after = locks.lock("G", "c2", queues=[A, B], now_ms=30_001 + LOCK_LIFE_MS)

    assert at_limit == []
    assert after == [A, B]
    assert locks.lock("G", "c1", queues=[A], now_ms=30_002 + LOCK_LIFE_MS) == []


def test_a_queue_that_is_named_twice_is_listed_once() -> None:
    assert LockTable().lock("G", "c1", queues=[A, B, A], now_ms=0) == [A, B]


def test_groups_do_not_share_locks() -> None:
    locks = LockTable()

    first = locks.lock("G", "c1", queues=[A], now_ms=0)
    second = locks.lock("H", "c2", queues=[A], now_ms=0)

    assert first == second == [A]


def test_only_the_holder_unlocks() -> None:
    locks = LockTable()
    locks.lock("G", "c1", queues=[A, B], now_ms=0)

    locks.unlock("G", "c2", queues=[A, B], now_ms=0)
    locks.unlock("G", "c1", queues=[A], now_ms=0)
    locks.unlock("X", "c1", queues=[A], now_ms=0)

    assert locks.lock("G", "c2", queues=[A, B], now_ms=1) == [A]


def test_table_lists_what_is_held_and_forgets_what_is_long_over() -> None:
    locks = LockTable()
    locks.lock("H", "c1", queues=[B, A], now_ms=0)
    locks.lock("G", "c2", queues=[A], now_ms=50_000)

    everything = locks.held(1)
    later = locks.held(LOCK_LIFE_MS + 1)
    locks.drop_expired(100 * LOCK_LIFE_MS)

    assert everything == [
        HeldLock("G", A, "c2", 50_000),
        HeldLock("H", A, "c1", 0),
        HeldLock("H", B, "c1", 0),
    ]
    assert [lock.group for lock in later] == ["G"]
    assert locks._groups == {}


@pytest.mark.parametrize(("seen", "wish"), list(itertools.product(Seen, Wish)))
def test_every_wish_does_what_the_table_says(seen: Seen, wish: Wish) -> None:
    locks, now_ms = LockTable(), 2 * LOCK_LIFE_MS
    if seen is not Seen.FREE:
        renewed_ms = 0 if seen is Seen.OVER else now_ms - 1
        locks.lock("G", "me" if seen is Seen.OWN else "other", queues=[A], now_ms=renewed_ms)

    if wish is Wish.LOCK:
        got = locks.lock("G", "me", queues=[A], now_ms=now_ms)
    else:
        locks.unlock("G", "me", queues=[A], now_ms=now_ms)
        got = []

    after = NEXT[seen, wish]
    holders = [lock.client_id for lock in locks.held(0)]
    assert holders == {Seen.FREE: [], Seen.OWN: ["me"]}.get(after, ["other"])
    assert got == ([A] if after is Seen.OWN else [])
