"""A group of one broker of ours and one of RocketMQ 5, through switches between the two.

namesrv, controller (ours, or both Java's) ── broker of ours, broker of Java, one group

    elect   an operator names the other one; the former master follows in its process
    kill    the master is killed, the other one is elected, and the killed one starts again
"""

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendStatus
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import BrokerReplicasInfo, EpochEntryCache, ReplicasInfo
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers import ElectMaster
from tests.interop.kit.java_build import jars_of, need_java
from tests.interop.kit.our_clients import read_topic
from tests.interop.kit.servers import Broker, Controller, JavaSide, Namesrv, OurSide, Side
from tests.ports import free_ports
from tests.waiting import eventually

TOPIC, GROUP, WAIT_S = "Mixed", "g", 180
SWITCHES = ("elect", "kill", "elect", "kill", "elect")


@dataclass
class MixedGroup:
    """A running group; the first broker is ours."""

    namesrv: str
    controller: str
    brokers: list[Broker]

    @property
    def addresses(self) -> list[str]:
        return [broker.address for broker in self.brokers]

    async def ask(self, address: str, command: Command) -> Command | None:
        """Return the answer to a request, None where none came."""
        client = RemotingClient()
        try:
            return await client.invoke(address, command, timeout_s=10)
        except RemotingError:
            return None
        finally:
            await client.close()

    async def info(self) -> ReplicasInfo | None:
        """Return what the controller knows of the group."""
        command = Command.request(LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["g"]')
        answer = await self.ask(self.controller, command)
        if answer is None or not answer.body:
            return None
        return BrokerReplicasInfo.decode(answer.body).replicas_info_table.get(GROUP)

    async def whole(self) -> ReplicasInfo:
        """Wait until both brokers are in the in-sync set, and return the group."""
        info = await eventually(
            self.info,
            lambda info: (
                info is not None
                and len(info.in_sync_replicas) == 2
                and info.master_address in self.addresses
            ),
            timeout_s=WAIT_S,
        )
        assert info is not None
        return info

    async def led_by(self, address: str) -> None:
        """Wait until the controller names a master."""
        await eventually(
            self.info,
            lambda info: info is not None and info.master_address == address,
            timeout_s=WAIT_S,
        )


def settings_of(controller: str) -> dict[str, str]:
    return {
        "brokerName": GROUP,
        "enableControllerMode": "true",
        "controllerAddr": controller,
        "allAckInSyncStateSet": "true",
        "controllerHeartBeatTimeoutMills": "10000",
        "syncBrokerMetadataPeriod": "1000",
    }


@contextlib.contextmanager
def running_group(
    controller_side: Side, java: JavaSide, our_side: OurSide, directory: Path
) -> Iterator[MixedGroup]:
    """Run a group whose controller is of one side."""
    with ExitStack() as stack:
        if isinstance(controller_side, OurSide):
            namesrv = stack.enter_context(Namesrv(our_side))
            running = stack.enter_context(Controller(our_side, directory=directory / "controller"))
            controller = running.address
        else:
            controller = f"127.0.0.1:{free_ports(1)}"
            keys = {
                "enableControllerInNamesrv": "true",
                "controllerDLegerGroup": "group1",
                "controllerDLegerPeers": f"n0-{controller}",
                "controllerDLegerSelfId": "n0",
                "controllerStorePath": str(directory / "controller"),
            }
            namesrv = stack.enter_context(Namesrv(java, settings=keys))
        brokers = [
            Broker(
                side, store=directory / f"store-{side.name}", namesrv=namesrv.address,
                settings=settings_of(controller),
            )
            for side in (our_side, java)
        ]  # fmt: skip
        group = MixedGroup(namesrv.address, controller, brokers)
        stack.callback(lambda: [broker.kill() for broker in group.brokers])
        for broker in brokers:
            broker.await_ready()
        yield group


async def send(client: MQClient, name: str, count: int) -> list[bytes]:
    """Send until so many messages are acknowledged, and return their bodies."""
    producer, bodies = Producer(client), list[bytes]()
    number = 0
    while len(bodies) < count:
        number += 1
        body = f"{name}-{number}".encode().ljust(300, b".")
        with contextlib.suppress(ClientError):
            result = await producer.send(Message(TOPIC, body), timeout_s=5)
            if result.status is SendStatus.SEND_OK:
                bodies.append(body)
    return bodies


async def switch(group: MixedGroup, how: str) -> None:
    """Make the other broker the master."""
    info = await group.whole()
    old, other = sorted(group.brokers, key=lambda one: one.address != info.master_address)
    number = group.brokers.index(old)
    if how == "kill":
        old.kill()
    else:
        heir = next(one for one in info.in_sync_replicas if one.broker_address == other.address)
        header = ElectMaster(
            cluster_name="TestCluster", broker_name=GROUP, broker_id=heir.broker_id or 0,
            designate_elect=True,
        )  # fmt: skip
        await group.ask(
            group.controller, Command.request(LaterCode.CONTROLLER_ELECT_MASTER, header)
        )
    await group.led_by(other.address)
    if how == "kill":
        group.brokers[number] = await asyncio.to_thread(restarted, old, group)


def restarted(broker: Broker, group: MixedGroup) -> Broker:
    port = int(broker.address.rpartition(":")[2])
    settings = settings_of(group.controller)
    again = Broker(
        broker.side, store=broker.store, namesrv=group.namesrv, settings=settings, port=port
    )
    return again.await_ready()


async def log_ends(group: MixedGroup) -> list[int]:
    """Return where the log of each broker ends; differing numbers while one does not answer."""
    try:
        async with MQClient(group.namesrv, timeout_s=10) as client:
            numbers = [await Admin(client).broker_runtime(one) for one in group.addresses]
    except ClientError:
        return [-1, -2]
    return [int(one["commitLogMaxOffset"]) for one in numbers]


def log_bytes(store: Path, end: int) -> bytes:
    files = sorted((store / "commitlog").iterdir())
    assert int(files[0].name) == 0
    return b"".join(file.read_bytes() for file in files)[:end]


@pytest.fixture(params=["5.4.0", pytest.param("5.3.3", marks=pytest.mark.soak)])
def java(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> JavaSide:
    """Return how servers of one version of RocketMQ 5 are run."""
    version: str = request.param
    if version == "5.4.0":
        five: JavaSide = request.getfixturevalue("five")
        return five
    need_java()
    return JavaSide(tmp_path_factory.mktemp("java"), jars_of(version))


@pytest.mark.parametrize("controller", ["our controller", "controller of Java"])
def test_logs_are_equal_after_five_switches_between_ours_and_java(
    controller: str, java: JavaSide, our_side: OurSide, tmp_path: Path
) -> None:
    async def play(group: MixedGroup) -> tuple[set[bytes], set[bytes], list[int], list[list[int]]]:
        acknowledged: list[bytes] = []
        await group.whole()
        async with MQClient(group.namesrv, timeout_s=10) as client:
            for number, how in enumerate(SWITCHES):
                acknowledged += await send(client, f"{number}", 20)
                await switch(group, how)
                acknowledged += await send(client, f"{number}-after", 20)
            await group.whole()
            ends = await eventually(
                lambda: log_ends(group), lambda ends: ends[0] == ends[1], timeout_s=WAIT_S
            )
            epochs = []
            for address in group.addresses:
                command = Command.request(LaterCode.GET_BROKER_EPOCH_CACHE)
                answer = await group.ask(address, command)
                assert answer is not None
                cache = EpochEntryCache.decode(answer.body)
                epochs.append([entry.start_offset for entry in cache.epoch_list])
            messages = await read_topic(client, TOPIC, len(acknowledged))
        return set(acknowledged), {one.body for one in messages}, ends, epochs

    side: Side = our_side if controller == "our controller" else java
    with running_group(side, java, our_side, tmp_path) as group:
        acknowledged, bodies, ends, epochs = asyncio.run(play(group))
        logs = [log_bytes(broker.store, ends[0]) for broker in group.brokers]

    assert bodies >= acknowledged
    assert logs[0] == logs[1]
    assert epochs[0] == epochs[1]
    assert len(epochs[0]) == 1 + len(SWITCHES)
