"""Queue selection: in turn, and away from a broker that failed."""

import pytest

from mqclient.errors import BadRequest
from mqclient.message import Message
from mqclient.producer.queue_selector import RoundRobin, by_function, by_hash
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


@pytest.mark.parametrize("chosen", [None, 1])
def test_a_function_that_chooses_no_queue_is_told_so(chosen: object) -> None:
    with pytest.raises(BadRequest, match="no queue of topic T"):
        by_function(QUEUES, Message("T", b"x"), select=lambda queues, message: chosen)  # type: ignore[arg-type, return-value]


def test_a_key_that_is_no_text_is_refused_because_java_hashes_it_otherwise() -> None:
    with pytest.raises(BadRequest, match="17 is no text"):
        by_hash(QUEUES, 17)  # type: ignore[arg-type]
