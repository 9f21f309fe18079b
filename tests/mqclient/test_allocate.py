"""Every strategy gives what the Java class of that name gives."""

import json
from pathlib import Path

import pytest

from mqclient.allocate import Strategy, allocate, plan
from mqclient.errors import BadRequest
from remoting.bodies import MessageQueue

VECTORS = Path(__file__).with_name("allocate_vectors.jsonl")
"""Printed by tests/interop/java/src/AllocateVectors.java with seed 20260101, 60 cases."""


def queues_of(count: int, broker_name: str = "a") -> list[MessageQueue]:
    return [MessageQueue("T", broker_name, queue_id) for queue_id in range(count)]


@pytest.mark.parametrize("strategy", [s for s in Strategy if s is not Strategy.CONFIG])
def test_strategy_equals_the_java_class(strategy: Strategy) -> None:
    for line in VECTORS.read_text().splitlines():
        case = json.loads(line)
        queues = [MessageQueue(case["topic"], name, number) for name, number in case["queues"]]
        # The broker's list has any order: sorting is the client's business.
        shuffled = queues[1::2] + queues[::2]

        given = plan(
            strategy,
            "G",
            queues=shuffled,
            client_ids=case["clients"][::-1],
            rooms=case["rooms"],
        )

        numbers = {client: [queues.index(q) for q in mine] for client, mine in given.items()}
        assert numbers == case["given"][strategy], line


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


def test_config_gives_what_was_configured() -> None:
    configured = queues_of(4)[1:3]

    given = allocate(
        "CONFIG",
        "G",
        client_id="c",
        queues=queues_of(4),
        client_ids=["c"],
        configured=configured,
    )

    assert given == configured


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
