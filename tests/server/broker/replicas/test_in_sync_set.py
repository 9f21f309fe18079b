"""Which replicas a message waits for, through every change of the set."""

import itertools
import random

import pytest

from mqserver.broker.replicas.in_sync_set import Committed, InSyncSet

LAG_MS = 15_000


def led_by_1(*members: int, epoch_start: int = 0) -> InSyncSet:
    in_sync = InSyncSet(1, epoch_start, Committed(frozenset({1, *members}), 7), LAG_MS)
    for member in members:
        in_sync.connected(member, 0)
    return in_sync


def report(in_sync: InSyncSet, broker_id: int, offset: int, log_end: int, now_ms: int = 0) -> bool:
    return in_sync.acknowledged(broker_id, offset, sent_end=log_end, log_end=log_end, now_ms=now_ms)


def test_alone_a_master_confirms_what_it_has() -> None:
    in_sync = led_by_1()

    assert in_sync.advance(100)
    assert in_sync.confirm_offset == 100
    assert in_sync.propose(0) is None


def test_a_message_waits_for_every_member() -> None:
    in_sync = led_by_1(2, 3)
    assert not report(in_sync, 2, 100, 100)
    assert report(in_sync, 3, 60, 100)

    assert in_sync.confirm_offset == 60
    assert report(in_sync, 3, 100, 100)
    assert in_sync.confirm_offset == 100


def test_only_what_was_sent_on_this_connection_is_believed() -> None:
    in_sync = led_by_1(2)
    in_sync.acknowledged(2, 900, sent_end=50, log_end=100, now_ms=0)
    assert in_sync.confirm_offset == 50

    in_sync.disconnected(2)
    in_sync.acknowledged(2, 100, sent_end=100, log_end=100, now_ms=0)
    assert in_sync.confirm_offset == 50
    in_sync.connected(2, 0)
    in_sync.advance(100)
    assert in_sync.confirm_offset == 50


def test_while_a_replica_joins_both_sets_have_to_acknowledge() -> None:
    in_sync = led_by_1()
    in_sync.connected(2, 0)
    in_sync.advance(100)
    report(in_sync, 2, 100, 100)

    assert in_sync.propose(0) == {1, 2}
    assert in_sync.required == {1, 2}
    in_sync.advance(150)
    assert in_sync.confirm_offset == 100
    assert in_sync.answered(Committed(frozenset({1, 2}), 8), 150) is False
    assert report(in_sync, 2, 150, 150)


def test_while_a_replica_leaves_it_still_has_to_acknowledge() -> None:
    in_sync = led_by_1(2)
    report(in_sync, 2, 100, 100)
    in_sync.disconnected(2)

    assert in_sync.propose(LAG_MS) is None
    assert in_sync.propose(LAG_MS + 1) == {1}
    assert not in_sync.advance(150)
    assert in_sync.answered(Committed(frozenset({1}), 8), 150)
    assert in_sync.confirm_offset == 150


def test_a_closed_connection_alone_changes_no_set() -> None:
    in_sync = led_by_1(2)
    in_sync.disconnected(2)

    assert in_sync.committed.members == {1, 2}
    assert not in_sync.advance(150)


def test_a_proposal_is_repeated_unchanged_until_the_set_is_known() -> None:
    in_sync = led_by_1(2)
    report(in_sync, 2, 100, 100)
    assert in_sync.propose(LAG_MS + 1) == {1}
    report(in_sync, 2, 200, 200, now_ms=LAG_MS + 2)

    assert in_sync.propose(LAG_MS + 3) == {1}
    in_sync.answered(Committed(frozenset({1, 2}), 7), 200)
    assert in_sync.proposed is None
    assert in_sync.propose(LAG_MS + 3) is None


def test_an_older_answer_is_passed_over() -> None:
    in_sync = led_by_1(2)

    assert not in_sync.answered(Committed(frozenset({1}), 6), 100)
    assert in_sync.committed.members == {1, 2}


@pytest.mark.parametrize(
    ("acked", "epoch_start", "joins"),
    [(100, 0, True), (99, 0, False), (100, 101, False), (101, 101, True)],
    ids=["at the confirm offset", "below it", "not in the epoch yet", "in the epoch"],
)
def test_a_replica_joins_with_all_that_is_confirmed_and_the_present_epoch(
    acked: int, epoch_start: int, joins: bool
) -> None:
    in_sync = led_by_1(epoch_start=epoch_start)
    in_sync.advance(100)
    in_sync.connected(2, 0)
    in_sync.acknowledged(2, acked, sent_end=500, log_end=500, now_ms=0)
    in_sync.confirm_offset = 100

    assert (in_sync.propose(0) is not None) is joins


def test_a_silent_replica_leaves_and_does_not_join_again() -> None:
    in_sync = led_by_1(2)
    report(in_sync, 2, 100, 100)
    assert in_sync.propose(LAG_MS + 1) == {1}
    in_sync.answered(Committed(frozenset({1}), 8), 100)

    assert in_sync.propose(LAG_MS + 2) is None
    report(in_sync, 2, 100, 100, now_ms=LAG_MS + 3)
    assert in_sync.propose(LAG_MS + 4) == {1, 2}


def test_a_slow_replica_leaves_though_it_reports() -> None:
    in_sync = led_by_1(2)
    report(in_sync, 2, 100, 200, now_ms=LAG_MS)

    assert in_sync.propose(LAG_MS + 1) == {1}
    in_sync.answered(Committed(frozenset({1}), 8), 200)
    assert in_sync.propose(LAG_MS + 1) is None


def test_a_learner_never_joins() -> None:
    in_sync = led_by_1()
    in_sync.connected(2, 0, is_learner=True)
    report(in_sync, 2, 100, 100)

    assert in_sync.propose(0) is None


@pytest.mark.parametrize("seed", range(20))
def test_the_confirm_offset_never_goes_back_and_every_member_has_it(seed: int) -> None:
    chance = random.Random(seed)
    in_sync = led_by_1()
    has = dict.fromkeys((2, 3), 0)
    log_end, now_ms, epochs = 0, 0, itertools.count(8)
    confirmed = 0
    controller = in_sync.committed
    for _ in range(400):
        now_ms += chance.randrange(4_000)
        replica = chance.choice((2, 3))
        match chance.randrange(7):
            case 0 | 1:
                log_end += chance.randrange(100)
                in_sync.advance(log_end)
            case 2 | 3:
                has[replica] = chance.randint(has[replica], log_end)
                in_sync.acknowledged(
                    replica, has[replica], sent_end=log_end, log_end=log_end, now_ms=now_ms
                )
            case 4:
                in_sync.connected(replica, now_ms)
            case 5:
                in_sync.disconnected(replica)
            case 6:
                proposed = in_sync.propose(now_ms)
                if proposed is not None and chance.random() < 0.7:
                    controller = Committed(proposed, next(epochs))
                if chance.random() < 0.7:
                    in_sync.answered(controller, log_end)

        assert in_sync.confirm_offset >= confirmed, f"seed {seed}"
        confirmed = in_sync.confirm_offset
        for members in (in_sync.committed.members, controller.members):
            assert all(has[member] >= confirmed for member in members - {1}), f"seed {seed}"
