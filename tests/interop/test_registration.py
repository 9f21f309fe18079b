"""Brokers at name servers of the other side, and several name servers that know nothing of
each other."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from remoting.bodies import ClusterInfo
from remoting.codes import RequestCode
from remoting.command import Command
from storefmt.config.tables import TopicConfig
from tests.interop.kit.our_clients import invoke
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Side
from tests.interop.kit.toolbox import Toolbox
from tests.waiting import eventually


class MixedCluster(NamedTuple):
    """One broker at two name servers, one of each side."""

    broker: Broker
    java: Namesrv
    ours: Namesrv

    @property
    def both(self) -> str:
        """The addresses of both, as a client is given them."""
        return f"{self.java.address};{self.ours.address}"


@pytest.fixture
def mixed(
    side: Side, java_side: JavaSide, our_side: OurSide, tmp_path: Path
) -> Iterator[MixedCluster]:
    """Yield the real broker, then ours, registered at a name server of each side."""
    settings = {"brokerName": "mixed", "compressedRegister": "true"}
    with Namesrv(java_side) as java, Namesrv(our_side) as ours:
        both = f"{java.address};{ours.address}"
        with Broker(side, store=tmp_path / "store", namesrv=both, settings=settings) as broker:
            yield MixedCluster(broker, java, ours)


async def brokers(namesrv: Namesrv) -> set[str]:
    """Return the names of the brokers that a name server knows."""
    answer = await invoke(namesrv.address, Command.request(RequestCode.GET_BROKER_CLUSTER_INFO))
    return set(ClusterInfo.decode(answer.body).broker_addr_table)


async def route(namesrv: Namesrv, topic: str) -> bytes:
    """Return the route of a topic in standard JSON, empty where there is none."""
    asked = Command.request(RequestCode.GET_ROUTEINFO_BY_TOPIC)
    asked.ext = {"topic": topic}
    return (await invoke(namesrv.address, asked)).body


def test_a_broker_is_known_at_all_and_gone_from_all(mixed: MixedCluster) -> None:
    async def go() -> None:
        for namesrv in (mixed.java, mixed.ours):
            assert await eventually(lambda at=namesrv: brokers(at), lambda found: "mixed" in found)
        async with MQClient(mixed.ours.address, timeout_s=60) as client:
            config = TopicConfig("Everywhere", 3, 3)
            await Admin(client).create_topic(mixed.broker.address, config)
        routes = [
            await eventually(lambda at=namesrv: route(at, "Everywhere"), bool)
            for namesrv in (mixed.java, mixed.ours)
        ]
        assert routes[0] == routes[1]

    asyncio.run(go())
    assert mixed.broker.stop() in (0, 143)

    async def gone() -> None:
        for namesrv in (mixed.java, mixed.ours):
            await eventually(lambda at=namesrv: brokers(at), lambda found: "mixed" not in found)

    asyncio.run(gone())


def test_clients_fail_over_and_a_killed_broker_is_gone_at_once(
    mixed: MixedCluster, toolbox: Toolbox
) -> None:
    mixed.java.stop()
    spec = {
        "namesrv": mixed.both,
        "topic": "FailOver",
        "group": "FailOver",
        "mode": "sync",
        "messages": [{"body": "one"}],
        "timeoutMs": 120_000,
    }
    (sent,) = toolbox.run("Producer", spec)

    async def ours() -> list[str]:
        async with MQClient(mixed.both, timeout_s=60) as client:
            return list((await Admin(client).cluster_info()).broker_addr_table)

    async def gone() -> None:
        await eventually(lambda: brokers(mixed.ours), lambda found: not found)

    assert sent["event"] == "sent"
    assert asyncio.run(ours()) == ["mixed"]
    # Its connection closes with it, and nobody waits two minutes.
    mixed.broker.kill()
    asyncio.run(gone())
