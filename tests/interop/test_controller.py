"""A group of brokers of 5.4.0 that our controller leads.

namesrv (ours) ── controller (ours) ── two brokers of 5.4.0, one group
"""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendStatus
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import BrokerReplicasInfo, ReplicasInfo
from remoting.codes import LaterCode
from remoting.command import Command
from tests.interop.kit.our_clients import read_topic, run
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, Controller, JavaSide, Namesrv, OurSide
from tests.waiting import eventually, wait

TOPIC = "Switched"
TOOLS = "org.apache.rocketmq.tools.command"


class Group(NamedTuple):
    """A running group."""

    namesrv: Namesrv
    controller: Controller
    brokers: list[Broker]

    def broker_at(self, address: str) -> Broker:
        """Return the broker that listens at an address."""
        return next(broker for broker in self.brokers if broker.address == address)


@pytest.fixture(scope="module")
def group(
    five: JavaSide, our_side: OurSide, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Group]:
    tmp_path = tmp_path_factory.mktemp("group")
    with ExitStack() as stack:
        namesrv = stack.enter_context(Namesrv(our_side))
        controller = stack.enter_context(Controller(our_side, directory=tmp_path / "controller"))
        settings = {
            "brokerName": "g",
            "enableControllerMode": "true",
            "controllerAddr": controller.address,
            "allAckInSyncStateSet": "true",
            # A busy machine must not look like a dead master.
            "controllerHeartBeatTimeoutMills": "60000",
        }
        brokers = [
            Broker(
                five, store=tmp_path / f"store-{number}", namesrv=namesrv.address,
                settings=settings,
            )
            for number in (1, 2)
        ]  # fmt: skip
        for broker in brokers:
            stack.callback(broker.kill)
        for broker in brokers:
            broker.await_ready()
        yield Group(namesrv, controller, brokers)


async def group_of(group: Group) -> ReplicasInfo | None:
    request = Command.request(LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["g"]')
    client = RemotingClient()
    answer = await client.invoke(group.controller.address, request, timeout_s=30)
    await client.close()
    return BrokerReplicasInfo.decode(answer.body).replicas_info_table.get("g")


def in_sync_count(info: ReplicasInfo | None) -> int:
    return 0 if info is None else len(info.in_sync_replicas)


COMPARED = (
    "getControllerMetaData -a {controller}",
    "getSyncStateSet -a {controller} -b g",
    "getSyncStateSet -a {controller} -c TestCluster",
    "getBrokerEpoch -b g",
    "getBrokerEpoch -c TestCluster",
    "electMaster -a {controller} -b {slave} -bn g -c TestCluster",
    "updateControllerConfig -a {controller} -k notifyBrokerRoleChanged -v true",
    "cleanBrokerMetadata -a {controller} -bn none -c TestCluster",
)
"""Lines of Java's tool; those that change something leave the group as it is."""


@pytest.mark.parametrize("line", COMPARED)
def test_lines_of_javas_tool_print_the_same(
    five: JavaSide, group: Group, line: str, tmp_path: Path
) -> None:
    def settled() -> ReplicasInfo | None:
        return asyncio.run(group_of(group))

    info = wait(settled, lambda info: in_sync_count(info) == 2, timeout_s=180)
    assert info is not None
    slave = next(
        replica.broker_id
        for replica in info.in_sync_replicas
        if replica.broker_id != info.master_broker_id
    )
    words = line.format(controller=group.controller.address, slave=slave).split()
    is_refused = words[0] == "cleanBrokerMetadata"
    ours = OurMqadmin(group.namesrv.address, {"HOME": str(tmp_path)})
    printed = ours.text(*words, "--compat", "-y", exit_code=1 if is_refused else 0)
    command = five.java(f"{TOOLS}.MQAdminStartup", *words, "-n", group.namesrv.address)
    # The tool gives up after 3 s, which a busy machine may take for its first request.
    java = wait(
        lambda: subprocess.run(command, capture_output=True, text=True, check=False),
        lambda ended: ended.stdout or "CODE" in ended.stderr,
        timeout_s=180,
    )
    if words[0] == "electMaster":
        # Our line has made the slave the master, so Java's line changes nothing.
        assert "#MasterEpoch" in printed
        assert "is still alive" in java.stderr
    else:
        assert comparable(printed) == comparable(java.stdout)


def comparable(text: str) -> list[str]:
    """Return the lines of an output; brokers come in the order of a hash set there."""
    lines = text.splitlines()
    return sorted(lines) if "#brokerAddr" in text else lines


async def send(producer: Producer, body: bytes) -> list[bytes]:
    """Return the body in a list if it was acknowledged, else an empty list."""
    try:
        result = await producer.send(Message(TOPIC, body), timeout_s=3)
    except ClientError:
        return []
    return [body] if result.status is SendStatus.SEND_OK else []


def test_after_the_kill_of_its_master_a_group_goes_on_with_every_acknowledged_message(
    group: Group,
) -> None:
    async def play(client: MQClient) -> tuple[ReplicasInfo, ReplicasInfo, set[bytes], set[bytes]]:
        before = await eventually(
            lambda: group_of(group), lambda info: in_sync_count(info) == 2, timeout_s=120
        )
        assert before is not None
        epoch = before.master_epoch or 0
        producer = Producer(client)
        acknowledged: set[bytes] = set()
        while len(acknowledged) < 20:
            acknowledged.update(await send(producer, b"before %d" % len(acknowledged)))
        group.broker_at(str(before.master_address)).kill()
        after = await eventually(
            lambda: group_of(group),
            lambda info: info is not None and (info.master_epoch or 0) > epoch,
            timeout_s=60,
        )
        assert after is not None
        while len(acknowledged) < 40:
            acknowledged.update(await send(producer, b"after %d" % len(acknowledged)))
        messages = await read_topic(client, TOPIC, len(acknowledged))
        return before, after, acknowledged, {message.body for message in messages}

    before, after, acknowledged, bodies = run(group.namesrv.address, play)

    assert after.master_address != before.master_address
    assert [replica.broker_id for replica in after.in_sync_replicas] == [after.master_broker_id]
    assert bodies >= acknowledged
