"""How fast an empty slave catches up: the Java pair, our pair, and one of each.

    python -m benchmarks.replication --directory /var/tmp/bench --size-mb 400 --rounds 2

    one store of messages of about 1 KB, copied for each master ── slave, empty, from its start

A round has a run of each pair, in turn, so that a noisy machine is noisy for all of them. The
rate is that of the slave's log from the first bytes to the last ones, asked for 50 times a
second; a slave of ours counts what is on its disk, a Java slave what is in its page cache.
CPU seconds are those of both processes from the slave's start to then. Then one sender sends
for five seconds; the lag is the median of how far the slave is behind meanwhile.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.logs import make_backlog, put_message
from benchmarks.servers import cpu_s
from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqserver.store.results import PutMessage
from tests.interop.kit.java_build import class_path
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Side

TOPIC: Final = "Replicated"
QUEUES: Final = 8
BODY: Final = os.urandom(900)
LIVE_S: Final = 5.0
WAIT_S: Final = 300.0


class Run(NamedTuple):
    """What one pair did."""

    pair: str
    mb_a_second: float
    cpu_s: float
    lag_kb: float


def build(root: Path, size: int) -> None:
    """Make a store of about ``size`` bytes, as after a stop in order."""
    now_ms = time.time_ns() // 1_000_000

    def message(number: int) -> PutMessage:
        unique = f"AC110001234518B4AAC2{number:012X}"
        properties = f"KEYS\x01k{number}\x02TAGS\x01a\x02UNIQ_KEY\x01{unique}".encode()
        keys, queue_id = (unique, f"k{number}"), number % QUEUES
        return put_message(
            TOPIC, queue_id, BODY, now_ms=now_ms, properties=properties, code=97, keys=keys
        )

    messages = map(message, range(size // 1_050))
    make_backlog(root, TOPIC, messages, queue_count=QUEUES, now_ms=now_ms)


async def log_end(admin: Admin, address: str) -> int:
    try:
        return int((await admin.broker_runtime(address))["commitLogMaxOffset"])
    except ClientError:
        return 0


async def measure(namesrv: Namesrv, master: Broker, slave: Broker, name: str) -> Run:
    """Wait until the slave has it all; then send for a while and look how far it is behind."""
    used = cpu_s(master.pid)
    async with MQClient(namesrv.address, timeout_s=20) as client:
        admin = Admin(client)
        while not (end := await log_end(admin, master.address)):
            await asyncio.sleep(0.02)
        first: tuple[float, int] | None = None
        async with asyncio.timeout(WAIT_S):
            while (have := await log_end(admin, slave.address)) < end:
                if first is None and have:
                    first = time.perf_counter(), have
                await asyncio.sleep(0.02)
        now = time.perf_counter()
        began, had = first or (now - 0.02, 0)
        spent = cpu_s(master.pid) - used + cpu_s(slave.pid)
        lags: list[int] = []
        producer = Producer(client)
        until = now + LIVE_S
        while time.perf_counter() < until:
            await asyncio.gather(*(producer.send(Message(TOPIC, BODY)) for _ in range(50)))
            ours = await log_end(admin, slave.address)
            lags.append(max(0, await log_end(admin, master.address) - ours))
        return Run(name, (end - had) / (now - began) / 1e6, spent, statistics.median(lags) / 1e3)


def one_run(
    directory: Path, source: Path, namesrv: Namesrv, sides: Sequence[tuple[str, Side]]
) -> Run:
    """Start a pair on a copy of the store and let the slave catch up."""
    name = "-".join(side for side, _ in sides)
    root = directory / "run"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(source, root / "master")
    big = {
        "brokerName": name,
        "mappedFileSizeCommitLog": str(1 << 30),
        "mappedFileSizeConsumeQueue": "6000000",
        "maxHashSlotNum": "5000000",
        "maxIndexNum": "20000000",
        "fileReservedTime": "720",
    }
    master = Broker(sides[0][1], store=root / "master", namesrv=namesrv.address, settings=big)
    master.await_ready()
    slave = Broker(
        sides[1][1],
        store=root / "slave",
        namesrv=namesrv.address,
        settings={**big, "brokerRole": "SLAVE", "brokerId": "1"},
    )
    try:
        slave.await_ready()
        return asyncio.run(measure(namesrv, master, slave, name))
    finally:
        slave.kill()
        master.kill()


def main() -> None:
    """Run all pairs and print a line for each, and what ours is to Java's."""
    parser = argparse.ArgumentParser(description="How fast an empty slave catches up.")
    parser.add_argument("--directory", type=Path, required=True, help="scratch, on a disk")
    parser.add_argument("--size-mb", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    directory: Path = arguments.directory
    source = directory / "source"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    build(source, arguments.size_mb << 20)
    java: tuple[str, Side] = ("java", JavaSide(directory / "java", class_path()))
    ours: tuple[str, Side] = ("ours", OurSide(directory / "ours"))
    namesrv = Namesrv(ours[1]).await_ready()
    runs: list[Run] = []
    try:
        for _ in range(arguments.rounds):
            for sides in ((java, java), (ours, ours), (java, ours), (ours, java)):
                run = one_run(directory, source, namesrv, sides)
                runs.append(run)
                load = os.getloadavg()[0]
                print(
                    f"{run.pair:12} {run.mb_a_second:8.1f} MB/s  {run.cpu_s:6.1f} CPU s  "
                    f"lag {run.lag_kb:7.1f} KB  load {load:.1f}",
                    flush=True,
                )
    finally:
        namesrv.stop()
        shutil.rmtree(directory, ignore_errors=True)
    rates = {
        pair: statistics.median(run.mb_a_second for run in runs if run.pair == pair)
        for pair in dict.fromkeys(run.pair for run in runs)
    }
    print(f"ours-ours is {rates['ours-ours'] / rates['java-java']:.2f} of java-java")


if __name__ == "__main__":
    main()
