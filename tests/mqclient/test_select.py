"""Queue selection: in turn, and away from a broker that failed."""

import pytest

from mqclient.errors import BadRequest
from mqclient.select import RoundRobin
from remoting.bodies import MessageQueue

QUEUES = [MessageQueue("T", name, number) for name in ("a", "b") for number in (0, 1)]


def test_queues_come_in_turn() -> None:
    turns = RoundRobin(start=3)

    assert [turns.pick(QUEUES) for _ in range(5)] == [
        QUEUES[3],
        QUEUES[0],
        QUEUES[1],
        QUEUES[2],
        QUEUES[3],
    ]


def test_failed_broker_is_avoided_while_there_is_another() -> None:
    turns = RoundRobin()

    assert {turns.pick(QUEUES, avoid="a").broker_name for _ in range(6)} == {"b"}
    assert turns.pick(QUEUES[:2], avoid="a") in QUEUES[:2]


def test_no_queues_is_an_error() -> None:
    with pytest.raises(BadRequest):
        RoundRobin().pick([])
