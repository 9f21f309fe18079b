"""A group of brokers with a controller, of which the master fails again and again.

    name server, controller (records in a file), brokers 127.0.0.2, 127.0.0.3, ...
    senders ── all the time ──> master ─ fault ─> another one leads ─ the old one comes back

    python -m tests.server.group_failover DIRECTORY CYCLES BROKERS [FAULT ...]   one line of JSON

Faults: ``kill`` of the master (SIGKILL, started again when another one leads), ``hang`` (SIGSTOP
until another one leads), ``slave-kill`` and ``slave-hang`` (until the slave has left the in-sync
set), ``controller-kill`` (for 3 s). A cycle ends when every broker is in the in-sync set.

Rule: only sends that ended with SEND_OK count as acknowledged; all of them have to be read at the
end, at the queue offset that was answered.
"""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.failover import counted
from benchmarks.failover_load import QUEUES, TOPIC, Seen, read_all
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.send_result import SendStatus
from remoting.aio.client import RemotingClient
from remoting.bodies.controller import BrokerReplicasInfo, ReplicasInfo
from remoting.codes import LaterCode
from remoting.command import Command
from remoting.errors import RemotingError
from tests.ports import free_ports
from tests.server.failover import until

GROUP, SENDERS = "g", 8
ENOUGH = 200
"""Least number of messages that a cycle acknowledges before and after its fault."""


@dataclass
class Member:
    """One broker of the group."""

    number: int
    directory: Path
    settings: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    port: int = 0

    def __post_init__(self) -> None:
        self.port = self.port or free_ports(5) + 3

    @property
    def address(self) -> str:
        return f"127.0.0.{self.number + 1}:{self.port}"

    @property
    def store(self) -> Path:
        return self.directory / f"store-{self.number}"

    def start(self) -> None:
        """Start the broker on the existing store."""
        host = self.address.rpartition(":")[0]
        own = {
            "brokerName": GROUP, "brokerIP1": host, "brokerIP2": host, "bindAddress": host,
            "listenPort": str(self.port), "storePathRootDir": str(self.store),
            "enableControllerMode": "true", "mappedFileSizeCommitLog": "1048576",
            "mappedFileSizeConsumeQueue": "20000", "maxHashSlotNum": "5000",
            "maxIndexNum": "20000", "brokerFastFailureEnable": "false",
            "osPageCacheBusyTimeOutMills": "20000", "defaultTopicQueueNums": str(QUEUES),
        }  # fmt: skip
        conf = self.directory / f"broker-{self.number}.conf"
        lines = [f"{key}={value}\n" for key, value in {**own, **self.settings}.items()]
        conf.write_text("".join(lines))
        self.process = started("broker", conf, self.directory / f"broker-{self.number}.log")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; after SIGKILL, wait for the end."""
        if self.process is not None:
            self.process.send_signal(number)
            if number is signal.SIGKILL:
                self.process.wait()


def started(program: str, conf: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a program of ours with a configuration."""
    with log.open("ab") as file:
        command = [sys.executable, "-m", f"mqserver.{program}.app", "-c", str(conf)]
        return subprocess.Popen(command, stdout=file, stderr=file)


@dataclass
class BrokerGroup:
    """A running group with its name server and its controller."""

    directory: Path
    count: int
    settings: dict[str, str] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    others: list[subprocess.Popen[bytes]] = field(default_factory=list)
    namesrv: str = ""
    controller: str = ""

    def start(self) -> None:
        """Start everything."""
        ports = free_ports(2)
        self.namesrv, self.controller = f"127.0.0.1:{ports}", f"127.0.0.1:{ports + 1}"
        for program, text in (
            ("namesrv", f"listenPort={ports}\nkvConfigPath={self.directory / 'kv.json'}\n"
                        "brokerAddresses=127.0.0.*\n"),
            ("controller", f"controllerListenPort={ports + 1}\nbrokerAddresses=127.0.0.*\n"
                           f"controllerAddress={self.controller}\n"
                           f"controllerStorePath={self.directory / 'controller'}\n"),
        ):  # fmt: skip
            (self.directory / f"{program}.conf").write_text(text)
            self.start_program(program)
        own = {
            "namesrvAddr": self.namesrv, "controllerAddr": self.controller,
            "slaveAddresses": "127.0.0.*", "brokerAddresses": "", "adminAddresses": "127.0.0.*",
        }  # fmt: skip
        for number in range(1, self.count + 1):
            member = Member(number, self.directory, {**own, **self.settings})
            self.members.append(member)
            member.start()

    def start_program(self, program: str) -> None:
        """Start the name server or the controller."""
        conf = self.directory / f"{program}.conf"
        process = started(program, conf, self.directory / f"{program}.log")
        number = ("namesrv", "controller").index(program)
        self.others[number : number + 1] = [process]

    def stop(self) -> None:
        """Kill everything."""
        for member in self.members:
            member.signal(signal.SIGCONT)
            member.signal(signal.SIGKILL)
        for process in self.others:
            process.kill()
            process.wait()

    async def info(self) -> ReplicasInfo | None:
        """Return what the controller knows of the group."""
        request = Command.request(
            LaterCode.CONTROLLER_GET_SYNC_STATE_DATA, body=json.dumps([GROUP]).encode()
        )
        client = RemotingClient()
        try:
            answer = await client.invoke(self.controller, request, timeout_s=3)
            return BrokerReplicasInfo.decode(answer.body).replicas_info_table.get(GROUP)
        except RemotingError:
            return None
        finally:
            await client.close()

    async def master(self, *, besides: Member | None = None) -> Member:
        """Wait for a master, another one than ``besides``."""
        master: Member | None = None

        async def leads() -> bool:
            nonlocal master
            info = await self.info()
            address = None if info is None else info.master_address
            master = next((one for one in self.members if one.address == address), None)
            return master is not None and master is not besides

        await until(leads, "the group has a master")
        assert master is not None
        return master

    async def in_sync(self, count: int) -> None:
        """Wait until so many brokers are in the in-sync set."""

        async def are_in_sync() -> bool:
            info = await self.info()
            return info is not None and len(info.in_sync_replicas) == count

        await until(are_in_sync, f"{count} brokers are in the in-sync set")

    async def whole(self) -> None:
        """Wait until every broker is in the in-sync set."""
        await self.in_sync(self.count)


@dataclass
class GroupLoad(Seen):
    """What was sent, and acknowledged with its place."""

    problems: dict[str, int] = field(default_factory=dict)

    async def send(self, producer: Producer, name: str) -> None:
        """Send for ever."""
        for count in range(1_000_000_000):
            body = f"{name}-{count}".encode().ljust(200 + 37 * (count % 50), b".")
            self.sent.add(body)
            try:
                result = await producer.send(Message(TOPIC, body))
            except ClientError as error:
                text = str(error)[:60]
                self.problems[text] = self.problems.get(text, 0) + 1
                await asyncio.sleep(0.01)
                continue
            if result.status is SendStatus.SEND_OK:
                self.acknowledged[body] = result.queue.queue_id, result.queue_offset
                self.ok_s.append(time.monotonic())

    async def more(self, count: int) -> None:
        """Wait until so many more messages are acknowledged."""
        enough = len(self.acknowledged) + count

        async def have() -> bool:
            return len(self.acknowledged) >= enough

        await until(have, f"{count} more messages are acknowledged; {self.problems}")


async def fail(group: BrokerGroup, load: GroupLoad, fault: str) -> float:
    """Let something fail under load; return the seconds without accepted sends."""
    master = await group.master()
    await load.more(ENOUGH)
    began = time.monotonic()
    if fault == "controller-kill":
        group.others[1].kill()
        group.others[1].wait()
        # Longer than a master is taken for alive, and than its lease.
        await asyncio.sleep(3)
        await load.more(ENOUGH)
        gap_s = load.longest_gap(began, time.monotonic())
        group.start_program("controller")
        await group.whole()
        return gap_s
    victim = master
    if fault.startswith("slave-"):
        victim = next(member for member in group.members if member is not master)
    victim.signal(signal.SIGKILL if fault.endswith("kill") else signal.SIGSTOP)
    if victim is master:
        await group.master(besides=master)
    else:
        await group.in_sync(group.count - 1)
    await load.more(ENOUGH)
    gap_s = load.longest_gap(began, time.monotonic())
    if fault.endswith("kill"):
        victim.start()
    else:
        victim.signal(signal.SIGCONT)
    await group.whole()
    return gap_s


async def run(group: BrokerGroup, faults: list[str]) -> dict[str, object]:
    """Let the master fail by each fault in turn, and compare what was read with what was sent."""
    load, gaps = GroupLoad(), list[tuple[str, float]]()
    await group.master()
    await group.whole()
    async with MQClient(group.namesrv, timeout_s=5) as client:
        producer = Producer(client, settings=ProducerSettings(send_msg_timeout_ms=1_000))
        tasks = [asyncio.create_task(load.send(producer, f"{sender}")) for sender in range(SENDERS)]
        try:
            for fault in faults:
                gap_s = round(await fail(group, load, fault), 2)
                gaps.append((fault, gap_s))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    stored = await read_all(group.namesrv, GROUP)
    return {**counted(load, stored), "gaps_s": gaps, "problems": load.problems}


def main() -> None:
    """Start a group, run the cycles and print the result."""
    directory, cycles, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    faults = sys.argv[4:] or ["kill", "hang"]
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    group = BrokerGroup(directory, count)
    group.start()
    try:
        chosen = [faults[number % len(faults)] for number in range(cycles)]
        print(json.dumps(asyncio.run(run(group, chosen))))
    finally:
        group.stop()


if __name__ == "__main__":
    main()
