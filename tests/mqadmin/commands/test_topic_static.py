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
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import Outcome
from mqclient.errors import BrokerRefused
from remoting.bodies import BrokerData, ClusterInfo, TopicConfigAndQueueMapping

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


class Cluster:
    """A name server with the master of ``a``, and a slave of ``b`` alone."""

    has_namesrv = True

    async def cluster_info(self, address: str | None = None) -> ClusterInfo:
        brokers = {
            name: BrokerData(cluster="c", broker_name=name, broker_addrs={broker_id: f"{name}:1"})
            for name, broker_id in (("a", 0), ("b", 1))
        }
        return ClusterInfo(broker_addr_table=brokers, cluster_addr_table={"c": ["a", "b"]})


@pytest.mark.parametrize("broker", ["b", "10.0.0.9:10911"])
def test_a_broker_without_a_registered_master_is_refused_before_anything_is_sent(
    broker: str,
) -> None:
    async def admin() -> Cluster:
        return Cluster()

    call = cast(Any, SimpleNamespace(admin=admin))

    with pytest.raises(ItemNotFound, match=f"no master is registered of broker {broker}"):
        asyncio.run(StaticTopicWork.of(call, "T", ("a", broker), ()))


def test_a_dry_run_sends_nothing() -> None:
    brokers = Brokers()

    outcome = asyncio.run(grow(brokers, dry_run=True))

    rows: list[Any] = list(cast(Any, outcome.rows))
    assert ({row.result for row in rows}, brokers.held) == ({"would change"}, {})
