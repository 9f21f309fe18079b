"""The budget of bytes in flight and the places of connections: who has to give way."""

import random

import pytest

from remoting.aio.resources import Budget, Places


class Peer:
    """A connection that holds what the test says."""

    def __init__(self, ip: str, budget: Budget) -> None:
        self.ip = ip
        self.held_size = 0
        self.is_closed = False
        self._budget = budget

    def hold(self, size: int) -> "Peer":
        self.held_size = size
        self._budget.charge(self, size)
        return self

    def give_way(self) -> None:
        self.held_size = 0
        self.is_closed = True


def test_a_budget_that_is_not_used_up_closes_nobody() -> None:
    budget = Budget(100)

    peers = [Peer("a", budget).hold(50), Peer("b", budget).hold(50)]

    assert budget.used_size == 100
    assert not any(peer.is_closed for peer in peers)


def test_the_largest_of_the_address_that_holds_most_gives_way() -> None:
    budget = Budget(100)
    small = [Peer("many", budget).hold(size) for size in (10, 20, 10)]
    alone = Peer("alone", budget).hold(35)

    newcomer = Peer("newcomer", budget).hold(30)

    assert [peer.is_closed for peer in small] == [False, True, False]
    assert not alone.is_closed
    assert not newcomer.is_closed
    assert budget.used_size == 85


def test_who_asks_for_too_much_gives_way_himself() -> None:
    budget = Budget(100)
    other = Peer("a", budget).hold(20)

    greedy = Peer("b", budget).hold(90)

    assert greedy.is_closed
    assert not other.is_closed
    assert budget.used_size == 20


def test_what_was_read_meanwhile_is_found_out_before_anybody_is_closed() -> None:
    budget = Budget(100)
    reader = Peer("a", budget).hold(90)
    reader.held_size = 0

    writer = Peer("b", budget).hold(60)

    assert not reader.is_closed
    assert not writer.is_closed
    assert budget.used_size == 60


def test_an_eighth_is_free_again_when_somebody_was_closed() -> None:
    budget = Budget(800)
    peers = [Peer("a", budget).hold(1) for _ in range(801)]

    closed = sum(peer.is_closed for peer in peers)

    assert closed == 101
    assert budget.used_size == 700


@pytest.mark.parametrize("seed", range(20))
def test_the_account_is_what_the_open_connections_hold(seed: int) -> None:
    chance = random.Random(seed)
    budget = Budget(1_000)
    peers = [Peer(chance.choice("abc"), budget) for _ in range(30)]

    for _ in range(500):
        peer = chance.choice([peer for peer in peers if not peer.is_closed] or peers)
        peer.hold(0 if peer.is_closed else chance.choice([0, 1, 30, 200, 900]))
        assert budget.used_size == sum(peer.held_size for peer in peers) <= budget.size_max

    for peer in peers:
        peer.hold(0)
    assert budget.used_size == 0


def test_places_are_taken_given_back_and_taken_again() -> None:
    places = Places(2)

    found = [places.reserve(), places.reserve(), places.reserve()]
    places.give_back()

    assert found == [True, True, False]
    assert places.reserve()
