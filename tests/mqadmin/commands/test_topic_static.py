"""A change of a static topic that brokers do not take, or take in part, is not called done.

``tests/interop/test_static_topics_five.py`` has what real brokers do.
"""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.static_topics import detail_of
from mqadmin.commands.topic.static import StaticTopicWork, _carry_out
from mqadmin.output.rows import Outcome
from mqclient.errors import BrokerRefused
from remoting.bodies import TopicConfigAndQueueMapping

NODES = {name: ServerNode("c", name, 0, f"{name}:1") for name in ("a", "b")}


class Brokers:
    """Two brokers; one may refuse what it is sent, or lose a queue of it."""

    def __init__(self, *, refuses: str = "", loses: str = "") -> None:
        self.refuses = refuses
        self.loses = loses
        self.held: dict[str, TopicConfigAndQueueMapping] = {}

    async def update_static_topic(self, address: str, config: TopicConfigAndQueueMapping) -> None:
        if address == self.refuses:
            raise BrokerRefused("small epoch", address=address)
        if address == self.loses:
            config = TopicConfigAndQueueMapping.decode(config.encode())
            detail_of(config).hosted_queues.clear()
        self.held[address] = config

    async def topic_mapping(self, address: str, _: str) -> TopicConfigAndQueueMapping | None:
        return self.held.get(address)


async def grow(brokers: Brokers, *, dry_run: bool = False) -> Outcome:
    call = cast(Any, SimpleNamespace(dry_run=dry_run, now_ms=lambda: 1))
    work = StaticTopicWork(call, cast(Any, brokers), "T", NODES, ["a", "b"], {})
    plan = work.growth(2)
    return await _carry_out(work, plan, (), lambda: work.send(plan, sorted(plan.configs)))


@pytest.mark.parametrize(
    ("brokers", "exit_code", "result", "remark"),
    [
        (Brokers(), 0, "changed", None),
        (Brokers(refuses="b:1"), 1, "refused", "brokers before it have the new mapping"),
        (Brokers(loses="b:1"), 1, "refused", "2 logical queues, but"),
    ],
)
def test_the_result_is_what_the_brokers_have(
    brokers: Brokers, exit_code: int, result: str, remark: str | None
) -> None:
    outcome = asyncio.run(grow(brokers))

    rows: list[Any] = list(cast(Any, outcome.rows))
    assert (outcome.exit_code, {row.result for row in rows}) == (exit_code, {result})
    assert all((remark or "") in (row.remark or "") for row in rows)


def test_a_dry_run_sends_nothing() -> None:
    brokers = Brokers()

    outcome = asyncio.run(grow(brokers, dry_run=True))

    rows: list[Any] = list(cast(Any, outcome.rows))
    assert ({row.result for row in rows}, brokers.held) == ({"would change"}, {})
