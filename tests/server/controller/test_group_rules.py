"""What each request does to the record of a group; codes and remarks are those of 5.4.0."""

from dataclasses import replace

import pytest

from mqserver.controller.group_record import GroupRecord
from mqserver.controller.group_rules import (
    GRANTED,
    Ruling,
    rule_alter_in_sync_set,
    rule_apply_id,
    rule_clean,
    rule_elect,
    rule_register,
)
from tests.server.controller.examples import LED, PAIR, alive, live_broker


def apply_id(record: GroupRecord | None, broker_id: int, check_code: str) -> Ruling:
    return rule_apply_id(
        record, cluster_name="C", broker_name="g", broker_id=broker_id, check_code=check_code
    )


def test_the_first_broker_makes_the_group_and_the_next_one_joins_it() -> None:
    first = apply_id(None, 1, "h:1;17").record
    assert first is not None
    second = apply_id(first, 2, "h:2;18")

    assert second.record == PAIR


def test_the_same_check_code_may_take_its_id_again() -> None:
    assert apply_id(PAIR, 1, "h:1;17") == GRANTED


@pytest.mark.parametrize(
    ("record", "broker_id"),
    [
        (None, 2),
        (PAIR, 1),
        (PAIR, 0),
        (PAIR, 4),
        (replace(PAIR, replicas={2: PAIR.replicas[2]}), 1),
    ],
    ids=["not the first", "held", "zero", "gap", "removed broker"],
)
def test_an_id_that_is_not_the_next_one_is_refused(
    record: GroupRecord | None, broker_id: int
) -> None:
    ruling = apply_id(record, broker_id, "h:9;99")

    assert ruling.code == 2014
    assert ruling.record is None


def test_registration_needs_a_group_and_an_id() -> None:
    no_group = rule_register(None, broker_name="g", broker_id=1, address="h:1")
    no_id = rule_register(PAIR, broker_name="g", broker_id=3, address="h:3")

    assert no_group.code == 2010
    assert no_group.remark == "Broker-set: g hasn't been registered in controller"
    assert no_id.code == 2010
    assert no_id.remark == "BrokerId: 3 hasn't been registered in broker-set: g"


def test_registration_notes_a_new_address() -> None:
    ruling = rule_register(PAIR, broker_name="g", broker_id=2, address="h:22")

    assert ruling.record is not None
    assert ruling.record.address_of(2) == "h:22"
    assert rule_register(PAIR, broker_name="g", broker_id=2, address="h:2") == GRANTED


def test_a_master_that_starts_again_does_not_lead_any_more() -> None:
    ruling = rule_register(LED, broker_name="g", broker_id=1, address="h:1")

    assert ruling == Ruling(record=replace(LED, master_id=None))


ALTER = {
    "master_id": 1,
    "master_epoch": 4,
    "in_sync_set": frozenset({1}),
    "in_sync_set_epoch": 7,
    "alive": {1, 2},
}
"""A change that is granted."""


def test_the_in_sync_set_changes_and_its_epoch_grows() -> None:
    ruling = rule_alter_in_sync_set(LED, **ALTER)  # type: ignore[arg-type]

    assert ruling == Ruling(record=replace(LED, in_sync_set=frozenset({1}), in_sync_set_epoch=8))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"in_sync_set": frozenset({1, 2}), "master_id": 2}, 2013),
        ({"master_id": 2, "master_epoch": 3}, 2002),
        ({"master_epoch": 3, "in_sync_set_epoch": 6}, 2000),
        ({"in_sync_set_epoch": 6, "in_sync_set": frozenset({1, 3})}, 2001),
        ({"in_sync_set": frozenset({1, 2, 3})}, 2003),
        ({"in_sync_set": frozenset({1}), "alive": {2}}, 2006),
        ({"in_sync_set": frozenset({2})}, 2013),
        ({"in_sync_set": frozenset()}, 2013),
    ],
    ids=[
        "equal before other faults", "not the master", "old master epoch", "old set epoch",
        "unknown broker", "dead broker", "without its master", "empty",
    ],
)  # fmt: skip
def test_the_first_check_that_fails_decides_the_code(changes: dict[str, object], code: int) -> None:
    ruling = rule_alter_in_sync_set(LED, **{**ALTER, **changes})  # type: ignore[arg-type]

    assert ruling.code == code
    assert ruling.record is None


def test_without_a_master_the_set_cannot_change() -> None:
    record = replace(LED, master_id=None)

    ruling = rule_alter_in_sync_set(record, **ALTER)  # type: ignore[arg-type]

    assert ruling.code == 2002
    assert "leader is:{null}, not {1}" in str(ruling.remark)
    assert rule_alter_in_sync_set(None, **ALTER).code == 2013  # type: ignore[arg-type]


def test_the_longest_log_wins_the_first_election_whoever_asks() -> None:
    brokers = {1: live_broker(1, max_offset=5), 2: live_broker(2, max_offset=9)}

    ruling = rule_elect(PAIR, alive=brokers, by_broker=1)

    assert ruling.record == replace(
        PAIR, master_id=2, master_epoch=1, in_sync_set=frozenset({2}), in_sync_set_epoch=1
    )


def test_a_new_master_stands_alone_in_its_in_sync_set() -> None:
    ruling = rule_elect(LED, alive=alive(2))

    assert ruling.record == replace(
        LED, master_id=2, master_epoch=5, in_sync_set=frozenset({2}), in_sync_set_epoch=8
    )


def test_a_master_that_lives_stays() -> None:
    ruling = rule_elect(LED, alive=alive(1, 2), by_broker=2)

    assert ruling.code == 2011
    assert ruling.record is None


def test_only_the_in_sync_set_is_elected() -> None:
    record = replace(LED, in_sync_set=frozenset({1}))

    by_controller = rule_elect(record, alive=alive(2))
    by_broker = rule_elect(record, alive=alive(2), by_broker=2)
    by_operator = rule_elect(record, alive=alive(2), designated=2)

    assert by_controller == Ruling(
        2004,
        "Old master has down and failed to elect a new broker master",
        replace(record, master_id=None, master_epoch=5),
    )
    assert by_broker == Ruling(2012, "Failed to elect a new master")
    assert by_operator == Ruling(2012, "Failed to elect a new master")


def test_an_operator_chooses_a_broker_of_the_set_or_accepts_the_loss() -> None:
    chosen = rule_elect(LED, alive=alive(1, 2), designated=2)
    outside = replace(LED, in_sync_set=frozenset({1}))
    unclean = rule_elect(outside, alive=alive(2), designated=2, is_unclean=True)

    assert chosen.record is not None
    assert chosen.record.master_id == 2
    assert unclean.record is not None
    assert unclean.record.in_sync_set == frozenset({2})
    assert rule_elect(LED, alive=alive(1), designated=2).code == 2012
    assert rule_elect(None, alive={}).code == 2010


@pytest.mark.parametrize(
    ("broker_ids", "cleans_living", "living", "code"),
    [
        (None, False, set(), 2009),
        (frozenset({2}), False, {2}, 2009),
        (frozenset({2}), False, set(), 0),
        (frozenset({2}), True, {2}, 0),
        (None, True, {1, 2}, 0),
    ],
    ids=["group with a master", "living broker", "dead broker", "forced", "forced group"],
)
def test_what_lives_is_only_removed_by_force(
    broker_ids: frozenset[int] | None, cleans_living: bool, living: set[int], code: int
) -> None:
    ruling = rule_clean(
        LED, broker_name="g", broker_ids=broker_ids, cleans_living=cleans_living, alive=living
    )

    assert ruling.code == code
    assert ruling.removes is (broker_ids is None and code == 0)


def test_a_removed_broker_leaves_the_in_sync_set_and_its_id_is_not_given_again() -> None:
    ruling = rule_clean(
        LED, broker_name="g", broker_ids=frozenset({2}), cleans_living=False, alive={1}
    )

    assert ruling.record is not None
    assert ruling.record.in_sync_set == frozenset({1})
    assert ruling.record.in_sync_set_epoch == 8
    assert ruling.record.next_broker_id == 3


def test_a_removed_master_leaves_the_group_without_one() -> None:
    ruling = rule_clean(
        LED, broker_name="g", broker_ids=frozenset({1}), cleans_living=True, alive={1, 2}
    )

    assert ruling.record is not None
    assert ruling.record.master_id is None
    assert ruling.record.in_sync_set == frozenset({2})


def test_the_last_broker_takes_the_group_with_it() -> None:
    ruling = rule_clean(
        LED, broker_name="g", broker_ids=frozenset({1, 2}), cleans_living=True, alive=()
    )
    unknown = rule_clean(None, broker_name="g", broker_ids=None, cleans_living=False, alive=())

    assert ruling.removes
    assert unknown.code == 2009
