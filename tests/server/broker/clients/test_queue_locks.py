"""Queue locks with a clock moved by hand."""

import pytest

from mqserver.broker.clients.queue_locks import LOCK_LIFE_MS, HeldLock, LockTable
from remoting.bodies import MessageQueue

A = MessageQueue(topic="T", broker_name="b", queue_id=0)
B = MessageQueue(topic="T", broker_name="b", queue_id=1)


def test_lock_lives_sixty_seconds_after_its_last_renewal() -> None:
    locks = LockTable()
    locks.lock("G", "c1", queues=[A], now_ms=0)
    locks.lock("G", "c1", queues=[A], now_ms=30_000)

    assert locks.lock("G", "c2", queues=[A], now_ms=30_000 + LOCK_LIFE_MS) == []
    assert locks.lock("G", "c2", queues=[A, B], now_ms=30_001 + LOCK_LIFE_MS) == [A, B]
    assert locks.lock("G", "c1", queues=[A], now_ms=30_002 + LOCK_LIFE_MS) == []


def test_a_queue_that_is_named_twice_is_listed_once() -> None:
    assert LockTable().lock("G", "c1", queues=[A, B, A], now_ms=0) == [A, B]


def test_groups_do_not_share_locks() -> None:
    locks = LockTable()

    assert locks.lock("G", "c1", queues=[A], now_ms=0) == [A]
    assert locks.lock("H", "c2", queues=[A], now_ms=0) == [A]


def test_only_the_holder_unlocks() -> None:
    locks = LockTable()
    locks.lock("G", "c1", queues=[A, B], now_ms=0)

    locks.unlock("G", "c2", queues=[A, B])
    locks.unlock("G", "c1", queues=[A])
    locks.unlock("X", "c1", queues=[A])

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


@pytest.mark.parametrize("is_expired", [False, True])
@pytest.mark.parametrize("holder", [None, "me", "other"])
def test_a_lock_is_taken_or_given_up_by_its_state(holder: str | None, *, is_expired: bool) -> None:
    now_ms = 2 * LOCK_LIFE_MS
    renewed_ms = 0 if is_expired else now_ms - 1
    locks, unlocked = LockTable(), LockTable()
    if holder is not None:
        for table in (locks, unlocked):
            table.lock("G", holder, queues=[A], now_ms=renewed_ms)

    got = locks.lock("G", "me", queues=[A], now_ms=now_ms)
    unlocked.unlock("G", "me", queues=[A])

    is_denied = holder == "other" and not is_expired
    assert got == ([] if is_denied else [A])
    assert [lock.client_id for lock in locks.held(0)] == ["other" if is_denied else "me"]
    assert [lock.client_id for lock in unlocked.held(0)] == (["other"] if holder == "other" else [])
