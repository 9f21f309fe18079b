"""Who of several brokers becomes the master."""

import pytest

from mqserver.controller.elections import elect, longest_log
from tests.server.controller.examples import alive, live_broker


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        ({"epoch": 4, "max_offset": 9}, {"epoch": 5, "max_offset": 1}, 2),
        ({"max_offset": 1}, {"max_offset": (1 << 31) + 2}, 2),
        ({"max_offset": (1 << 40)}, {"max_offset": 0}, 1),
        ({"priority": 2}, {"priority": 1}, 2),
        ({}, {}, 1),
    ],
    ids=["epoch first", "differs by 2 GiB", "longer", "lower priority number", "lower id"],
)
def test_the_longest_log_of_the_highest_epoch_wins(
    first: dict[str, int], second: dict[str, int], winner: int
) -> None:
    assert longest_log({1: live_broker(1, **first), 2: live_broker(2, **second)}) == winner


def test_without_candidates_there_is_no_winner() -> None:
    assert longest_log({}) is None


@pytest.mark.parametrize(
    ("living", "in_sync_set", "old_master_id", "elected"),
    [
        ((1, 2), {1, 2}, 2, 2),
        ((1, 3), {1, 2}, 2, 1),
        ((3,), {1, 2}, 2, None),
        ((2, 3), {1}, 2, None),
        ((1, 2), {1, 2}, None, 1),
    ],
    ids=["old master lives", "it is dead", "set is dead", "old master left the set", "no master"],
)
def test_only_living_brokers_of_the_in_sync_set_are_elected(
    living: tuple[int, ...], in_sync_set: set[int], old_master_id: int | None, elected: int | None
) -> None:
    winner = elect(alive(*living), in_sync_set=frozenset(in_sync_set), old_master_id=old_master_id)

    assert winner == elected
