"""Two brokers on two networks, of which one takes over when the other fails.

    hub 10.77.0.1   name server, senders, the one who promotes
    a   10.77.0.2   master ─ fault ─> wiped, slave of the other one     and so on, in turn
    b   10.77.0.3   slave ──promoted──> master

    python -m tests.server.failover DIRECTORY CYCLES ROLE NETWORK     prints one line of JSON

Where there are network namespaces the faults are a kill, a partition from everybody and a
partition of the pair; run it in namespaces of its own (``unshare -n -m``): all of it is gone
with the process. NETWORK ``loopback`` has two addresses of this machine instead, and a master
that hangs in place of partitions.

Rule: only sends that ended with SEND_OK count as acknowledged. If the slave of an ASYNC_MASTER
refuses the promotion because it lacks bytes, it is forced: these bytes are what ASYNC_MASTER loses.
"""

import asyncio
import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import ClientError
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendStatus
from storefmt.config.tables import TopicConfig
from tests.ports import free_ports

TOPIC, SENDERS, SEED = "Failover", 8, 20261121
WAIT_S = 60.0
ENOUGH = 60
"""Least number of messages that a cycle acknowledges before its master fails."""


@dataclass(frozen=True)
class Network:
    """The addresses of all programs, and the faults that are possible."""

    hub: str
    hosts: dict[str, str]
    faults: tuple[str, ...]
    namesrv_port: int = 9876
    port: int = 10911
    separate: bool = True

    @property
    def namesrv(self) -> str:
        return f"{self.hub}:{self.namesrv_port}"

    def command(self, name: str, words: list[str]) -> list[str]:
        """Return the command line of a program on one machine."""
        return ["ip", "netns", "exec", name, *words] if self.separate else words


def namespaces() -> Network:
    """Create the hub, two namespaces and the links between them."""
    net = Network(
        "10.77.0.1",
        {"a": "10.77.0.2", "b": "10.77.0.3"},
        ("kill", "partition from all", "partition of the pair"),
    )
    sh("mount -t tmpfs tmpfs /run")
    sh("ip link set lo up")
    sh("ip link add br0 type bridge")
    sh(f"ip addr add {net.hub}/24 dev br0")
    sh("ip link set br0 up")
    for name, host in net.hosts.items():
        sh(f"ip netns add {name}")
        sh(f"ip link add to-{name} type veth peer name eth0 netns {name}")
        sh(f"ip link set to-{name} master br0 up")
        sh(f"ip -n {name} addr add {host}/24 dev eth0")
        sh(f"ip -n {name} link set eth0 up")
        sh(f"ip -n {name} link set lo up")
    return net


def loopback() -> Network:
    """Return two addresses of this machine."""
    port = free_ports(5)
    hosts = {"a": "127.0.0.2", "b": "127.0.0.3"}
    return Network("127.0.0.1", hosts, ("kill", "hang"), port, port + 3, separate=False)


def sh(line: str) -> None:
    subprocess.run(line.split(), check=True)


@dataclass
class Node:
    """One machine and its broker."""

    name: str
    directory: Path
    net: Network
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{self.net.hosts[self.name]}:{self.net.port}"

    def start(self, role: str) -> None:
        """Start a broker with this role on the existing store."""
        conf = self.directory / f"{self.name}.conf"
        net, host = self.net, self.net.hosts[self.name]
        conf.write_text(
            f"brokerName=pair\nbrokerRole={role}\nbrokerId={int(role == 'SLAVE')}\n"
            f"brokerIP1={host}\nbrokerIP2={host}\nbindAddress={host}\n"
            f"listenPort={net.port}\nnamesrvAddr={net.namesrv}\n"
            f"storePathRootDir={self.store}\nflushDiskType=SYNC_FLUSH\n"
            "mappedFileSizeCommitLog=1048576\nmappedFileSizeConsumeQueue=20000\n"
            "maxHashSlotNum=5000\nmaxIndexNum=20000\n"
            "haSendHeartbeatInterval=300\nhaHousekeepingInterval=2000\nslaveTimeout=10000\n"
            "slaveAddresses=10.77.0.*\nadminAddresses=10.77.0.*\nslaveStartsAt=FIRST_FILE\n"
            "registerNameServerPeriod=500\nbrokerFastFailureEnable=false\n"
            "osPageCacheBusyTimeOutMills=20000\n"
        )
        with (self.directory / f"{self.name}.log").open("ab") as log:
            command = [sys.executable, "-m", "mqserver.broker.app", "-c", str(conf)]
            self.process = subprocess.Popen(net.command(self.name, command), stdout=log, stderr=log)

    @property
    def store(self) -> Path:
        return self.directory / self.name

    def kill(self) -> None:
        """Kill the broker."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def wipe(self) -> None:
        """Delete the store."""
        shutil.rmtree(self.store)


@dataclass
class Load:
    """The messages that were sent, and where and when they were acknowledged."""

    sent: set[bytes] = field(default_factory=set)
    acknowledged: dict[bytes, tuple[int, int, float]] = field(default_factory=dict)

    takeovers: list["Takeover"] = field(default_factory=list)
    """The takeover of each cycle."""

    failing: bool = False
    """Whether the master of this cycle has failed; a sender that then fails stops."""

    async def send(self, producer: Producer, name: str) -> None:
        """Send until the master fails; only answers with SEND_OK count."""
        for count in range(1_000_000):
            body = f"{name}-{count}".encode().ljust(200 + 37 * (count % 50), b".")
            self.sent.add(body)
            try:
                result = await producer.send(Message(TOPIC, body))
            except ClientError:
                if self.failing:
                    return
                await asyncio.sleep(0.05)
                continue
            if result.status is SendStatus.SEND_OK:
                place = result.queue.queue_id, result.queue_offset, time.monotonic()
                self.acknowledged[body] = place


@dataclass(frozen=True)
class Takeover:
    """When one cycle's slave was ordered to be the master, and the old master ended."""

    fault: str
    ordered: float
    ended: float


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until a condition holds; while a client gets an error, it does not hold."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ClientError):
            if await holds():
                return
        await asyncio.sleep(0.05)
    raise AssertionError(f"not within {WAIT_S:g} s: {what}")


async def in_step(master: Node, slave: Node) -> None:
    """Wait until the slave has everything that the master has."""
    async with MQClient(slave.net.namesrv, timeout_s=3) as client:
        admin = Admin(client)

        async def equal() -> bool:
            ours = await admin.broker_runtime(slave.address)
            theirs = await admin.broker_runtime(master.address)
            return (
                ours.get("haState") == "RECEIVING"
                and ours["haFlushedOffset"] == theirs["commitLogMaxOffset"]
            )

        await until(equal, f"{slave.name} is in step with {master.name}")


def cut(fault: str, node: Node, *, other: Node, heal: bool = False) -> None:
    """Break the network of a node, or repair it."""
    if fault == "partition from all":
        sh(f"ip link set to-{node.name} {'up' if heal else 'down'}")
    elif fault == "partition of the pair":
        verb = "del" if heal else "add"
        sh(f"ip -n {node.name} route {verb} blackhole {node.net.hosts[other.name]}/32")
    elif fault == "hang" and node.process is not None and not heal:
        node.process.send_signal(signal.SIGSTOP)


async def promote(slave: Node, role: str) -> float:
    """Promote a slave; return when the promotion was ordered."""
    async with MQClient(slave.net.namesrv, timeout_s=3) as client:
        admin, force, ordered = Admin(client), False, 0.0

        async def promoted() -> bool:
            nonlocal force, ordered
            ordered = time.monotonic()
            try:
                await admin.promote_slave(slave.address, role=role, force=force)
            except ClientError as error:
                force = role == "ASYNC_MASTER" and "it lacks" in str(error)
                raise
            return True

        await until(promoted, f"{slave.name} is promoted")
        return ordered


async def cycle(number: int, load: Load, master: Node, slave: Node, role: str) -> None:
    """Let the master fail under load and the slave take over."""
    chance = random.Random(SEED + number)
    fault = master.net.faults[number % len(master.net.faults)]
    async with MQClient(master.net.namesrv, timeout_s=3) as client:
        settings = ProducerSettings(retry_times_when_send_failed=0)
        producer = Producer(client, settings=settings)
        names = [f"{number}-{sender}" for sender in range(SENDERS)]
        load.failing = False
        enough = len(load.acknowledged) + chance.randrange(ENOUGH, 5 * ENOUGH)
        tasks = [asyncio.create_task(load.send(producer, name)) for name in names]

        async def under_load() -> bool:
            return len(load.acknowledged) >= enough

        await until(under_load, "messages are acknowledged")
        load.failing = True
        cut(fault, master, other=slave)
        ended = time.monotonic()
        if fault == "kill":
            master.kill()
        else:
            # An isolated master serves for a while; what it acknowledges then has no copy.
            await asyncio.sleep(3)
        ordered = await promote(slave, role)
        if fault != "kill":
            ended = time.monotonic()
            master.kill()
        load.takeovers.append(Takeover(fault, ordered, ended))
        await asyncio.wait(tasks, timeout=10)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    cut(fault, master, other=slave, heal=True)
    master.wipe()
    master.start("SLAVE")
    await in_step(slave, master)


async def all_messages(namesrv: str, topic: str) -> AsyncIterator[MessageExt]:
    """Yield every message of a topic that can be read, queue by queue."""
    async with MQClient(namesrv, timeout_s=60) as client:
        consumer = PullConsumer(client, "checker")
        for queue in await consumer.queues(topic):
            pulled = await consumer.pull(queue, queue_offset=0)
            while pulled.status is PullStatus.FOUND:
                for message in pulled.messages:
                    yield message
                pulled = await consumer.pull(queue, queue_offset=pulled.next_offset)


async def stored(net: Network) -> dict[bytes, list[tuple[int, int]]]:
    """Return the places of every message that can be read."""
    found: dict[bytes, list[tuple[int, int]]] = {}
    async for message in all_messages(net.namesrv, TOPIC):
        place = message.record.queue_id, message.queue_offset
        found.setdefault(message.body, []).append(place)
    return found


async def run(directory: Path, cycles: int, role: str, net: Network) -> dict[str, object]:
    """Run all cycles and return the result."""
    nodes = {name: Node(name, directory, net) for name in net.hosts}
    master, slave = nodes["a"], nodes["b"]
    load = Load()
    try:
        master.start(role)

        async def topic_is_made() -> bool:
            async with MQClient(net.namesrv, timeout_s=3) as client:
                await Admin(client).create_topic(master.address, TopicConfig(TOPIC, 4, 4))
                return True

        await until(topic_is_made, "the master serves")
        slave.start("SLAVE")
        await in_step(master, slave)
        for number in range(cycles):
            await cycle(number, load, master, slave, role)
            master, slave = slave, master
        found = await stored(net)
    finally:
        for node in nodes.values():
            node.kill()
    return {"cycles": cycles, "role": role, **judged(load, found)}


def judged(load: Load, found: dict[bytes, list[tuple[int, int]]]) -> dict[str, object]:
    """Compare what was read with what was sent.

    ``holes`` are lost messages in front of one of the same master that is there; a window is the
    time from the first lost acknowledgement of a cycle to the end of its master.
    """
    lost = {body for body in load.acknowledged if body not in found}
    moved = {
        body
        for body, (queue_id, queue_offset, _) in load.acknowledged.items()
        if body in found and (queue_id, queue_offset) not in found[body]
    }
    kept: dict[tuple[int, int], int] = {}
    for body, (queue_id, queue_offset, at) in load.acknowledged.items():
        number = cycle_of(body)
        if body in found and at < load.takeovers[number].ordered:
            place = number, queue_id
            kept[place] = max(queue_offset, kept.get(place, -1))
    holes, windows = 0, {takeover.fault: 0 for takeover in load.takeovers}
    for body in lost:
        queue_id, queue_offset, at = load.acknowledged[body]
        takeover = load.takeovers[cycle_of(body)]
        holes += queue_offset < kept.get((cycle_of(body), queue_id), -1)
        window_ms = round((takeover.ended - at) * 1000)
        windows[takeover.fault] = max(window_ms, windows[takeover.fault])
    return {
        "sent": len(load.sent),
        "acknowledged": len(load.acknowledged),
        "read": len(found),
        "lost": len(lost),
        "moved": len(moved),
        "unexpected": len(found.keys() - load.sent),
        "duplicated": sum(len(places) - 1 for places in found.values()),
        "holes": holes,
        "loss_windows_ms": windows,
    }


def cycle_of(body: bytes) -> int:
    """Return the cycle in which a message was sent."""
    return int(body.partition(b"-")[0])


def main() -> None:
    """Build the network, start a name server, run the cycles and print what was found."""
    directory, cycles, role = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    net = loopback() if sys.argv[4] == "loopback" else namespaces()
    conf = directory / "namesrv.conf"
    kv_path = directory / "kv.json"
    conf.write_text(
        f"listenPort={net.namesrv_port}\nkvConfigPath={kv_path}\nbrokerAddresses=10.77.0.*\n"
    )
    with (directory / "namesrv.log").open("ab") as log:
        command = [sys.executable, "-m", "mqserver.namesrv.app", "-c", str(conf)]
        namesrv = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        print(json.dumps(asyncio.run(run(directory, cycles, role, net))))
    finally:
        namesrv.kill()
        namesrv.wait()


if __name__ == "__main__":
    main()
