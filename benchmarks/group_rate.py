"""How many sends a second a group answers when every replica of the set has to have them.

    python -m benchmarks.group_rate --rounds 3

    client in C, 64 senders ── one send each, 1 KB ──> master ══ log ══> slave

Name server, controller and both brokers are of one side: ours, or 5.4.0. Both have
``allAckInSyncStateSet=true`` and ASYNC_FLUSH, as by default. The sides take turns in each round, so
that a noisy machine is noisy for both; quote the ratio of one run. CPU time is of both brokers.
"""

import argparse
import asyncio
import contextlib
import os
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.peers import SOURCE, Load, Peer, run
from benchmarks.replay import TOPIC, Frames
from benchmarks.servers import cpu_s
from benchmarks.telling import markdown, tell
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from storefmt.config.tables import TopicConfig
from tests.interop.kit.java_build import JAVA_FIVE, class_path
from tests.interop.kit.servers import Broker, Controller, JavaSide, Namesrv, OurSide, Side
from tests.ports import free_ports

GROUP: Final = "g"
QUEUES: Final = 8
BODY_SIZE: Final = 1_024
SENDERS: Final = 64
WAIT_S: Final = 180
WARM_S: Final = 8.0
SIDES: Final = ("ours", "java")


class GroupRate(NamedTuple):
    """What one run showed; ``cpu_us`` is the time of both brokers for each message."""

    rate: float
    cpu_us: float
    p50_us: float
    p99_us: float
    load: float


@contextlib.contextmanager
def running_group(side: Side, directory: Path) -> Iterator[tuple[str, str, list[Broker]]]:
    """Run a group of two; yield the addresses of name server and controller, and the brokers."""
    with ExitStack() as stack:
        if isinstance(side, OurSide):
            namesrv = stack.enter_context(Namesrv(side))
            controller = stack.enter_context(
                Controller(side, directory=directory / "controller")
            ).address
        else:
            controller = f"127.0.0.1:{free_ports(1)}"
            keys = {
                "enableControllerInNamesrv": "true",
                "controllerDLegerGroup": "group1",
                "controllerDLegerPeers": f"n0-{controller}",
                "controllerDLegerSelfId": "n0",
                "controllerStorePath": str(directory / "controller"),
            }
            namesrv = stack.enter_context(Namesrv(side, settings=keys))
        settings = {
            "brokerName": GROUP,
            "enableControllerMode": "true",
            "controllerAddr": controller,
            "allAckInSyncStateSet": "true",
            # On a busy machine the Java broker refuses what waited for 200 ms.
            "waitTimeMillsInSendQueue": "60000",
        }
        brokers = [
            Broker(side, store=directory / name, namesrv=namesrv.address, settings=settings)
            for name in ("one", "two")
        ]
        stack.callback(lambda: [broker.kill() for broker in brokers])
        for broker in brokers:
            broker.await_ready()
        yield namesrv.address, controller, brokers


async def ready_master(namesrv: str, controller: str) -> str:
    """Wait until both brokers are in the set and the topic exists; return the master's address.

    Raises:
        TimeoutError: that did not happen in time.
    """
    async with asyncio.timeout(WAIT_S), MQClient(namesrv, timeout_s=5) as client:
        admin = Admin(client)
        while True:
            with contextlib.suppress(ClientError):
                info = (await admin.sync_state_data(controller, [GROUP])).get(GROUP)
                if info is not None and len(info.in_sync_replicas) == 2 and info.master_address:
                    topic = TopicConfig(TOPIC, QUEUES, QUEUES)
                    await admin.create_topic(info.master_address, topic)
                    return info.master_address
            await asyncio.sleep(0.1)


def measure(side: Side, client: Path, directory: Path, seconds: float) -> GroupRate:
    """Return the rate of one run of one side."""
    with running_group(side, directory) as (namesrv, controller, brokers):
        address = asyncio.run(ready_master(namesrv, controller))
        (slave,) = (broker for broker in brokers if broker.address != address)
        (master,) = (broker for broker in brokers if broker is not slave)
        frame = Frames(BODY_SIZE, QUEUES).plain()
        port = int(address.rpartition(":")[2])
        peer = Peer("rocketmq", port, master.pid, frame, frame, 1)
        # The first seconds of a JVM say little about it.
        run(client, peer, Load("", 1, 1, SENDERS), directory / "request", WARM_S)
        used_s = cpu_s(slave.pid)
        result = run(client, peer, Load("", 1, 1, SENDERS), directory / "request", seconds)
        slave_us = (cpu_s(slave.pid) - used_s) / (result.rate * seconds) * 1e6
    load = round(os.getloadavg()[0], 1)
    return GroupRate(result.rate, result.cpu_us + slave_us, result.p50_us, result.p99_us, load)


def table(runs: dict[str, list[GroupRate]]) -> str:
    """Return the medians, and the ratio of the rates."""
    medians = {
        name: GroupRate(*(statistics.median(values) for values in zip(*rates, strict=True)))
        for name, rates in runs.items()
    }
    rows = [
        [name, f"{one.rate:,.0f}", f"{one.p50_us:,.0f} / {one.p99_us:,.0f}", f"{one.cpu_us:.1f}",
         f"{one.load:g}"]
        for name, one in medians.items()
    ]  # fmt: skip
    ratios = [ours.rate / java.rate for ours, java in zip(runs["ours"], runs["java"], strict=True)]
    heads = ("", "msg/s", "p50 / p99 us", "CPU us a message", "load")
    ratio = ", ".join(f"{one:.2f}x" for one in ratios)
    return f"{markdown(heads, rows)}\n\nrate, ours / java, by round: {ratio}\n"


def main() -> int:
    """Measure both sides in turn and print the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_rate", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    runs: dict[str, list[GroupRate]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        client = root / "light"
        subprocess.run(["cc", "-O2", "-o", client, SOURCE], check=True)
        for number in range(options.rounds):
            for name in SIDES:
                home = root / f"{name}-{number}"
                home.mkdir()
                side: Side = OurSide(home)
                if name == "java":
                    side = JavaSide(home, class_path(JAVA_FIVE))
                runs[name].append(measure(side, client, home, options.seconds))
                print(f"{name}: {runs[name][-1]}", flush=True)
    tell(table(runs), options.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
