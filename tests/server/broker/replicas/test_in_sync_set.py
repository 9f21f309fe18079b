"""Which replicas a message waits for, through every change of the set."""

import itertools
import random

import pytest

from mqserver.broker.replicas.in_sync_set import (
    ABSENT_MS,
    GONE_MS,
    NEAR_MS,
    Committed,
    InSyncSet,
)

LAG_MS = 15_000


def led_by_1(*members: int, epoch_start: int = 0, log_end: int = 100) -> InSyncSet:
    """Return the set of master 1 whose slaves have everything up to ``log_end``."""
    in_sync = InSyncSet(1, epoch_start, Committed(frozenset({1, *members}), 7), LAG_MS)
    in_sync.advance(log_end, 0)
    for member in members:
        in_sync.connected(member, log_end, 0)
    return in_sync


def ack(in_sync: InSyncSet, broker_id: int, offset: int, now_ms: int = 0) -> bool:
    return in_sync.acknowledged(broker_id, offset, sent_end=in_sync.log_end, now_ms=now_ms)


def grant(in_sync: InSyncSet) -> None:
    assert in_sync.proposed is not None
    in_sync.show(Committed(in_sync.proposed, in_sync.committed.epoch + 1))


def test_alone_a_master_confirms_what_it_has() -> None:
    in_sync = led_by_1()

    assert in_sync.advance(200, 0)
    assert in_sync.confirm_offset == in_sync.answer_offset == 200
    in_sync.look(0)
    assert in_sync.proposed is None


def test_a_message_waits_for_every_member() -> None:
    in_sync = led_by_1(2, 3)
    in_sync.advance(200, 0)
    assert not ack(in_sync, 2, 200)
    assert ack(in_sync, 3, 160)

    assert in_sync.confirm_offset == 160
    assert ack(in_sync, 3, 200)
    assert in_sync.confirm_offset == 200


def test_only_what_was_sent_on_this_connection_is_believed() -> None:
    in_sync = led_by_1(2)
    in_sync.advance(200, 0)
    in_sync.acknowledged(2, 900, sent_end=150, now_ms=0)
    assert in_sync.confirm_offset == 150

    in_sync.disconnected(2, 0)
    in_sync.acknowledged(2, 200, sent_end=200, now_ms=0)
    assert in_sync.confirm_offset == 150
    in_sync.connected(2, 120, 0)
    assert in_sync.confirm_offset == 150
    ack(in_sync, 2, 180)
    assert in_sync.confirm_offset == 180


def test_a_replica_holds_the_confirm_offset_from_when_it_joins() -> None:
    in_sync = led_by_1()
    in_sync.connected(2, 100, 0)
    in_sync.advance(150, 1)
    assert in_sync.confirm_offset == 150
    in_sync.look(2)

    assert in_sync.required == {1, 2}
    assert in_sync.proposed is None
    in_sync.advance(200, 3)
    assert in_sync.confirm_offset == 150
    ack(in_sync, 2, 160, 4)
    in_sync.look(4)
    assert in_sync.proposed == {1, 2}
    assert in_sync.confirm_offset == 160


def test_under_a_steady_load_a_replica_joins_though_it_never_has_all() -> None:
    in_sync = led_by_1(log_end=0)
    in_sync.connected(2, 0, 0)

    for now_ms in range(1, 100):
        in_sync.advance(now_ms * 10, now_ms)
        ack(in_sync, 2, (now_ms - 2) * 10, now_ms)
        in_sync.look(now_ms)

    assert in_sync.proposed == {1, 2}
    assert in_sync.confirm_offset == 970


def test_a_replica_that_copies_an_old_log_holds_up_nothing() -> None:
    in_sync = led_by_1(log_end=1_000)
    in_sync.connected(2, 0, 0)
    for now_ms in range(0, 3_000, 100):
        in_sync.advance(1_000 + now_ms, now_ms)
        ack(in_sync, 2, now_ms // 4, now_ms)
        in_sync.look(now_ms)
        assert in_sync.required == ({1, 2} if now_ms <= NEAR_MS else {1})
    assert in_sync.confirm_offset == in_sync.log_end


def test_a_replica_that_copied_for_long_joins_though_no_more_messages_come() -> None:
    in_sync = led_by_1()
    in_sync.connected(2, 0, 0)
    ack(in_sync, 2, 100, 10 * NEAR_MS)

    in_sync.look(11 * NEAR_MS)

    assert in_sync.proposed == {1, 2}


def test_a_replica_that_stalls_while_it_joins_is_let_go() -> None:
    in_sync = led_by_1()
    in_sync.connected(2, 100, 0)
    in_sync.advance(150, 0)
    in_sync.look(0)
    in_sync.advance(200, 1)
    assert in_sync.confirm_offset == 150

    assert in_sync.look(NEAR_MS + 1)

    assert in_sync.confirm_offset == 200


def test_while_a_replica_leaves_it_still_has_to_acknowledge() -> None:
    in_sync = led_by_1(2)
    in_sync.disconnected(2, 0)
    in_sync.look(GONE_MS - 1)
    assert in_sync.proposed is None
    in_sync.look(GONE_MS)

    assert in_sync.proposed == {1}
    assert not in_sync.advance(150, GONE_MS)
    grant(in_sync)
    assert in_sync.confirm_offset == 150


def test_a_closed_connection_alone_changes_no_set() -> None:
    in_sync = led_by_1(2)
    in_sync.disconnected(2, 0)

    assert in_sync.committed.members == {1, 2}
    assert not in_sync.advance(150, 0)


def test_a_silent_member_leaves_when_it_lacks_bytes_for_too_long() -> None:
    in_sync = led_by_1(2)
    in_sync.look(10 * LAG_MS)
    assert in_sync.proposed is None, "nothing was written, so it lacks nothing"
    in_sync.advance(200, 10 * LAG_MS)
    in_sync.look(11 * LAG_MS)
    assert in_sync.proposed is None

    in_sync.look(11 * LAG_MS + 1)

    assert in_sync.proposed == {1}


def test_a_member_that_is_always_some_bytes_behind_stays() -> None:
    in_sync = led_by_1(2)
    for now_ms in range(0, 5 * LAG_MS, 1_000):
        in_sync.advance(200 + now_ms, now_ms)
        ack(in_sync, 2, 200 + now_ms - 1_000, now_ms)
        in_sync.look(now_ms)
        assert in_sync.proposed is None


def test_to_connect_again_is_not_to_catch_up() -> None:
    in_sync = led_by_1(2)
    in_sync.advance(200, 0)
    for now_ms in range(0, LAG_MS + 2_000, 1_000):
        in_sync.connected(2, 100, now_ms)
        in_sync.look(now_ms)

    assert in_sync.proposed == {1}


def test_a_refused_proposal_is_dropped_unless_an_attempt_is_in_doubt() -> None:
    in_sync = led_by_1(2)
    in_sync.disconnected(2, 0)
    in_sync.look(GONE_MS)
    assert in_sync.refused()
    assert in_sync.proposed is None

    in_sync.look(GONE_MS)
    in_sync.unanswered()
    assert not in_sync.refused()
    assert in_sync.required == {1, 2}


def test_a_proposal_in_doubt_stays_until_a_newer_set_is_shown() -> None:
    in_sync = led_by_1(2)
    in_sync.disconnected(2, 0)
    in_sync.look(GONE_MS)
    in_sync.unanswered()
    in_sync.connected(2, 100, GONE_MS)
    in_sync.look(GONE_MS)
    in_sync.show(Committed(frozenset({1, 2}), 7))
    assert in_sync.proposed == {1}

    in_sync.show(Committed(frozenset({1}), 8))

    assert in_sync.proposed is None
    assert not in_sync.is_in_doubt


def test_an_older_set_is_passed_over() -> None:
    in_sync = led_by_1(2)

    assert not in_sync.show(Committed(frozenset({1}), 6))
    assert in_sync.committed.members == {1, 2}


@pytest.mark.parametrize("acked", [99, 100])
def test_a_replica_joins_only_in_the_present_epoch(acked: int) -> None:
    in_sync = led_by_1(epoch_start=100)
    in_sync.connected(2, acked, 0)
    in_sync.look(0)

    assert (in_sync.proposed is not None) is (acked == 100)


def test_a_learner_never_joins() -> None:
    in_sync = led_by_1()
    in_sync.connected(2, 100, 0, is_learner=True)
    in_sync.look(0)

    assert in_sync.required == {1}


@pytest.mark.parametrize(
    ("count", "answered"), [(1, 300), (2, 250), (3, 200), (4, 0)], ids=lambda number: str(number)
)
def test_without_all_acks_a_number_of_replicas_is_enough(count: int, answered: int) -> None:
    in_sync = InSyncSet(
        1, 0, Committed(frozenset({1, 2, 3}), 7), LAG_MS, all_ack=False, ack_count=count
    )
    in_sync.advance(300, 0)
    in_sync.connected(2, 250, 0)
    in_sync.connected(3, 200, 0)

    assert in_sync.answer_offset == answered
    assert in_sync.confirm_offset == 300


def test_a_master_lacks_members_that_are_gone_or_slow() -> None:
    in_sync = led_by_1(2)
    in_sync.advance(200, 0)
    assert not in_sync.lacks_member(ABSENT_MS)
    assert in_sync.lacks_member(ABSENT_MS + 1)
    ack(in_sync, 2, 200, ABSENT_MS + 2)
    assert not in_sync.lacks_member(ABSENT_MS + 2)

    in_sync.disconnected(2, ABSENT_MS + 3)

    assert in_sync.lacks_member(ABSENT_MS + 3)
    assert not led_by_1().lacks_member(10 * LAG_MS)
    assert InSyncSet(1, 0, Committed(frozenset({1, 2}), 7), LAG_MS).lacks_member(0)


@pytest.mark.parametrize("seed", range(30))
def test_the_confirm_offset_never_goes_back_and_every_member_has_it(seed: int) -> None:
    chance = random.Random(seed)
    in_sync = led_by_1(log_end=0)
    has = dict.fromkeys((2, 3), 0)
    log_end, now_ms, epochs = 0, 0, itertools.count(8)
    confirmed = 0
    controller = in_sync.committed
    delayed: list[tuple[frozenset[int], int]] = []
    """Attempts that were not answered and may be carried out at any time."""
    for _ in range(600):
        now_ms += chance.randrange(400)
        replica = chance.choice((2, 3))
        match chance.randrange(8):
            case 0 | 1:
                log_end += chance.randrange(100)
                in_sync.advance(log_end, now_ms)
            case 2 | 3:
                has[replica] = chance.randint(has[replica], log_end)
                in_sync.acknowledged(replica, has[replica], sent_end=log_end, now_ms=now_ms)
            case 4:
                in_sync.connected(replica, has[replica], now_ms)
            case 5:
                in_sync.disconnected(replica, now_ms)
            case 6:
                in_sync.look(now_ms)
                if in_sync.proposed is not None:
                    attempt = (in_sync.proposed, in_sync.committed.epoch)
                    if chance.random() < 0.5:
                        in_sync.unanswered()
                        delayed.append(attempt)
                    elif attempt[1] == controller.epoch:
                        controller = Committed(attempt[0], next(epochs))
                        in_sync.show(controller)
            case 7:
                if delayed and chance.random() < 0.5:
                    members, epoch = delayed.pop(chance.randrange(len(delayed)))
                    if epoch == controller.epoch:
                        controller = Committed(members, next(epochs))
                if chance.random() < 0.3:
                    in_sync.show(controller)

        assert in_sync.confirm_offset >= confirmed, f"seed {seed}"
        confirmed = in_sync.confirm_offset
        for members in (in_sync.committed.members, controller.members):
            assert all(has[member] >= confirmed for member in members - {1}), f"seed {seed}"
