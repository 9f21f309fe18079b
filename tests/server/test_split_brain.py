"""An old master comes back although a slave has replaced it, in each order of restarts.

    name server, master and slave, each a process ── the master fails ── the slave is promoted
      ── the order of the test ── the old master takes nothing, the new one has the route
      ── `broker demote` ── the old master follows the new one, by itself

If the old master took messages before it heard of the promotion, its log diverges from that of the
new master. It follows only after `broker demote --cut-tail` has set the end of its log aside.
"""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from mqclient import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.config.tables import TopicConfig
from tests.ports import free_ports
from tests.programs import ran
from tests.server.broker.desk import send
from tests.waiting import wait

_T = TypeVar("_T")
TOPIC, NAME = "Split", "pair"
TAKEN = (ResponseCode.SUCCESS, ResponseCode.SLAVE_NOT_AVAILABLE)
"""Answers of a SYNC_MASTER that has stored a message."""


@dataclass
class Cluster:
    """A name server and two brokers of one name, each a process on ports of its own."""

    root: Path
    first_port: int = field(default_factory=lambda: free_ports(9))
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def namesrv(self) -> str:
        return f"127.0.0.1:{self.first_port}"

    def address(self, name: str) -> str:
        """Return the address of a broker, ``m`` or ``s``; the ports around it are its own."""
        return f"127.0.0.1:{self.first_port + {'m': 3, 's': 7}[name]}"

    def start(self, name: str) -> None:
        """Start a process on its existing files, and return when it serves."""
        conf, module = self.root / f"{name}.conf", "mqserver.broker.app"
        port = self.address(name).rpartition(":")[2] if name != "ns" else str(self.first_port)
        lines = [f"listenPort={port}", "bindAddress=127.0.0.1"]
        if name == "ns":
            module = "mqserver.namesrv.app"
            lines.append(f"kvConfigPath={self.root}/kv.json")
        else:
            role = "SYNC_MASTER\nbrokerId=0" if name == "m" else "SLAVE\nbrokerId=1"
            lines += [
                f"brokerName={NAME}\nbrokerRole={role}\nnamesrvAddr={self.namesrv}",
                f"storePathRootDir={self.root / name}\nslaveStartsAt=FIRST_FILE",
                "mappedFileSizeCommitLog=1048576\nmaxHashSlotNum=500\nmaxIndexNum=1000",
                "registerNameServerPeriod=300\nhaSendHeartbeatInterval=300",
                "haHousekeepingInterval=3000\nbrokerFastFailureEnable=false",
                "osPageCacheBusyTimeOutMills=60000\nslaveTimeout=60000",
            ]
        conf.write_text("\n".join(lines) + "\n")
        with (self.root / f"{name}.log").open("ab") as log:
            process = self.running[name] = subprocess.Popen(
                [sys.executable, "-m", module, "-c", str(conf)], stdout=subprocess.PIPE, stderr=log
            )
        assert b"boot success" in process.stdout.readline(), self.log(name)

    def kill(self, name: str) -> None:
        """Kill a process."""
        with self.running.pop(name) as process:
            process.kill()

    def log(self, name: str) -> str:
        return (self.root / f"{name}.log").read_text()

    def ask(self, act: Callable[[MQClient], Awaitable[_T]]) -> _T:
        """Call a function with a new client, and return its result."""

        async def run() -> _T:
            async with MQClient(self.namesrv, timeout_s=30) as client:
                return await act(client)

        return asyncio.run(run())

    def numbers(self, name: str) -> dict[str, str]:
        """Return the runtime information of a broker; empty while it does not answer."""

        async def act(client: MQClient) -> dict[str, str]:
            try:
                return await Admin(client).broker_runtime(self.address(name))
            except ClientError:
                return {}

        return self.ask(act)

    def send(self, name: str, body: bytes) -> Command:
        """Send to a broker directly, as a client with an old route does; return the answer."""

        async def act(client: MQClient) -> Command:
            remoting = RemotingClient()
            command = Command.request(RequestCode.SEND_MESSAGE_V2, send(topic=TOPIC), body=body)
            try:
                return await remoting.invoke(self.address(name), command, timeout_s=90)
            finally:
                await remoting.close()

        return self.ask(act)

    def master(self) -> str | None:
        """Return the address of the master that the name server tells."""

        async def act(client: MQClient) -> str | None:
            data = (await Admin(client).cluster_info()).broker_addr_table.get(NAME)
            return None if data is None else data.broker_addrs.get(0)

        return self.ask(act)

    def mqadmin(self, *words: str) -> tuple[int, list[dict[str, object]], str]:
        """Run a command; return its exit code, its rows and its stderr."""
        command = [sys.executable, "-m", "mqadmin", *words, "-o", "json"]
        if words[0] != "store":
            command += ["-n", self.namesrv]
        done = ran(*command, code=None, cwd=self.root)
        rows = json.loads(done.stdout or "[]")
        return done.returncode, rows if isinstance(rows, list) else [rows], done.stderr

    def await_in_step(self, master: str, slave: str) -> None:
        """Wait until a slave has all that its master has."""

        def follows() -> bool:
            here, there = self.numbers(slave), self.numbers(master)
            return (
                here.get("haState") == "RECEIVING"
                and here["haFlushedOffset"] == there["commitLogMaxOffset"]
            )

        wait(follows, what=f"{slave} follows {master}")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Cluster]:
    """Return a cluster whose slave has what its master acknowledged."""
    cluster = Cluster(tmp_path)
    try:
        for name in ("ns", "m"):
            cluster.start(name)

        async def topic(client: MQClient) -> None:
            await Admin(client).create_topic(cluster.address("m"), TopicConfig(TOPIC, 1, 1))

        cluster.ask(topic)
        cluster.start("s")
        cluster.await_in_step("m", "s")
        assert cluster.send("m", b"acknowledged").code == 0
        cluster.await_in_step("m", "s")
        yield cluster
    finally:
        for process in cluster.running.values():
            process.send_signal(signal.SIGCONT)
        for name in list(cluster.running):
            cluster.kill(name)


def order_to(cluster: Cluster, *words: str) -> dict[str, object]:
    """Give a broker an order, and return the row that says what it changed."""
    code, rows, err = cluster.mqadmin("broker", *words, "-y")
    assert (code, rows[0]["result"]) == (0, "changed"), (rows, err)
    return rows[0]


def promote(cluster: Cluster) -> None:
    wait(lambda: cluster.numbers("s").get("haState") == "CONNECTING", what="the master is lost")
    order_to(cluster, "promote", cluster.address("s"))


def old_first(cluster: Cluster) -> None:
    cluster.kill("s")
    cluster.start("m")
    cluster.start("s")


def new_first(cluster: Cluster) -> None:
    cluster.kill("s")
    cluster.start("s")
    cluster.start("m")


def old_first_and_name_server_empty(cluster: Cluster) -> None:
    for name in ("s", "ns"):
        cluster.kill(name)
    cluster.start("ns")
    cluster.start("m")
    # Nobody there knows of the promotion, so the old master serves, and its log diverges.
    assert cluster.send("m", b"of the old master alone").code in TAKEN
    cluster.start("s")


def new_first_and_name_server_empty(cluster: Cluster) -> None:
    for name in ("s", "ns"):
        cluster.kill(name)
    for name in ("ns", "s", "m"):
        cluster.start(name)


ORDERS = {
    "old master first": old_first,
    "new master first": new_first,
    "old master first, name server empty": old_first_and_name_server_empty,
    "new master first, name server empty": new_first_and_name_server_empty,
}
ALONE = "old master first, name server empty"
"""The order in which the old master takes a message."""


def assert_one_master(cluster: Cluster) -> None:
    """Assert that the old master is fenced and reported as such, and that the new one serves."""
    wait(lambda: cluster.numbers("m").get("haFence"), what="the old master hears of the promotion")
    wait(cluster.master, lambda found: found == cluster.address("s"), what="the route")
    assert cluster.send("s", b"of the new master").code in TAKEN
    refused = cluster.send("m", b"of nobody")
    assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert "is no longer the master of pair" in (refused.remark or "")
    wait(lambda: "haPeer_0" in cluster.numbers("s"), what="the new master knows the old one")
    _, rows, _ = cluster.mqadmin("ha", "status")
    found = {(row["address"], row["role"], row["state"]) for row in rows}
    assert found == {
        (cluster.address("s"), "SYNC_MASTER", ""),
        (cluster.address("m"), "SYNC_MASTER", "FENCED"),
    }
    code, findings, _ = cluster.mqadmin("doctor", "--check", "master")
    assert (code, len(findings)) == (1, 1)
    assert cluster.address("m") in str(findings[0]["subject"])
    assert "does not accept messages" in str(findings[0]["found"])
    assert "is no longer the master of pair" in cluster.log("m")
    assert cluster.master() == cluster.address("s")


@pytest.mark.parametrize("order", ORDERS)
def test_old_master_takes_nothing_and_rejoins_when_it_is_demoted(pair: Cluster, order: str) -> None:
    pair.kill("m")
    promote(pair)

    ORDERS[order](pair)

    assert_one_master(pair)
    order_to(pair, "demote", pair.address("m"))
    if order == ALONE:
        assert_tail_is_set_aside_by_order(pair)
    pair.await_in_step("s", "m")
    # It waits for a slave, as its master did, and has one.
    assert pair.send("s", b"of both").code == 0
    assert pair.mqadmin("doctor", "--check", "master", "--check", "slave")[:2] == (0, [])


def assert_tail_is_set_aside_by_order(cluster: Cluster) -> None:
    """Assert that a diverging log is kept until the order to cut it, which copies its end."""
    wait(lambda: cluster.numbers("m").get("haState") == "DIVERGED", what="the logs are compared")
    end = cluster.numbers("m")["commitLogMaxOffset"]
    _, rows, _ = cluster.mqadmin("ha", "status")
    assert [row["state"] for row in rows if row["address"] == cluster.address("m")] == ["DIVERGED"]
    assert not (cluster.root / "m" / "tails").exists()

    done = order_to(cluster, "demote", cluster.address("m"), "--cut-tail")

    assert done["log_end"] == int(end)
    cluster.await_in_step("s", "m")
    (tail,) = (cluster.root / "m" / "tails").iterdir()
    code, rows, _ = cluster.mqadmin("store", "log", str(tail))
    assert (code, [row["body"] for row in rows]) == (0, ["of the old master alone"])


def test_master_that_hung_takes_nothing_when_it_goes_on(pair: Cluster) -> None:
    pair.running["m"].send_signal(signal.SIGSTOP)
    promote(pair)

    pair.running["m"].send_signal(signal.SIGCONT)

    assert_one_master(pair)
