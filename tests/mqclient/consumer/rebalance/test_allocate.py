"""Each strategy returns the queues that the Java class of that name returns."""

import json
from pathlib import Path
from typing import Any

import pytest

from mqclient.consumer.rebalance.allocate import Strategy, allocate, plan
from mqclient.errors import BadRequest
from remoting.bodies import MessageQueue

VECTORS = Path(__file__).with_name("allocate_vectors.jsonl")
"""Printed by tests/interop/java/src/AllocateVectors.java: seed 20260101, 60 cases and two more."""


def queues_of(count: int, broker_name: str = "a") -> list[MessageQueue]:
    return [MessageQueue("T", broker_name, queue_id) for queue_id in range(count)]


CASES = [json.loads(line) for line in VECTORS.read_text().splitlines()]


def ours(case: dict[str, Any], strategy: Strategy, client_id: str) -> list[int] | str:
    """Return the numbers of the queues that a client gets, or that it is refused."""
    queues = [MessageQueue(case["topic"], name, number) for name, number in case["queues"]]
    try:
        given = allocate(
            strategy,
            "G",
            client_id=client_id,
            # The broker's lists have any order: sorting is the client's business.
            queues=queues[1::2] + queues[::2],
            client_ids=case["clients"][::-1],
            rooms=case["rooms"],
            configured=[queues[number] for number in case["configured"]],
        )
    except BadRequest:
        return "refused"
    return [queues.index(queue) for queue in given]


@pytest.mark.parametrize("strategy", Strategy)
def test_strategy_equals_the_java_class(strategy: Strategy) -> None:
    for case in CASES:
        java = case["given"][strategy]

        assert {client: ours(case, strategy, client) for client in case["clients"]} == java, case


def test_a_place_without_a_room_is_refused() -> None:
    refused = [case["given"][Strategy.MACHINE_ROOM_NEARBY] for case in CASES[-2:]]

    assert [set(given.values()) for given in refused] == [{"refused"}] * 2
    with pytest.raises(BadRequest, match="broker plain has no machine room"):
        allocate(
            Strategy.MACHINE_ROOM_NEARBY,
            "G",
            client_id="a",
            queues=queues_of(1, "plain"),
            client_ids=["a"],
            room_of=lambda name: "" if name == "plain" else name,
        )


@pytest.mark.parametrize(
    "strategy", [Strategy.AVG, Strategy.AVG_BY_CIRCLE, Strategy.CONSISTENT_HASH]
)
@pytest.mark.parametrize("queue_count", [1, 2, 5, 16])
@pytest.mark.parametrize("client_count", [1, 2, 3, 7])
def test_every_queue_is_given_once(strategy: Strategy, queue_count: int, client_count: int) -> None:
    queues = queues_of(queue_count)
    client_ids = [f"10.0.0.{number}@1" for number in range(client_count)]

    given = plan(strategy, "G", queues=queues, client_ids=client_ids)

    assert sorted(queue for mine in given.values() for queue in mine) == queues


def test_client_outside_the_group_gets_nothing() -> None:
    given = allocate("AVG", "G", client_id="x", queues=queues_of(4), client_ids=["a", "b"])

    assert given == []


@pytest.mark.parametrize(
    ("strategy", "client_ids", "text"),
    [
        ("NO_SUCH", ["a"], "no allocation strategy 'NO_SUCH'"),
        ("AVG", [], "cannot allocate for group G: 4 queues, 0 clients"),
    ],
)
def test_what_cannot_be_allocated_is_refused(
    strategy: str, client_ids: list[str], text: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        allocate(strategy, "G", client_id="a", queues=queues_of(4), client_ids=client_ids)

    assert text in str(refused.value)
