"""SIGKILL under load with sync flush: what was acknowledged is there afterwards.

The checker is the total-queue one: every send ends acknowledged or unknown; a message that
was acknowledged and is not read is lost, one that is read and was never sent is unexpected,
one that is read twice is a ghost. Queue offsets have no gap, and what one sender sent to a
queue lies there in its order. One store goes through all kills; after every twenty of them
it is read whole, stopped in order and verified byte for byte.
A SIGKILL leaves the page cache, so this proves recovery, not the disk; the simulated disk of
``tests/server/store`` takes the cache away too.
"""

import asyncio
import contextlib
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.pull import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import ClientError
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_result import SendStatus
from storefmt.offline import StoreDir
from storefmt.offline.verify import verify
from tests.ports import free_ports
from tests.waiting import eventually, until, wait

KILLS_A_ROUND = 20
SENDERS = 16
SEED = 20261121
TOPIC = "kill_test"


def launch(module: str, conf: Path, port: int) -> subprocess.Popen[bytes]:
    with conf.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", module, "-c", str(conf)], stdout=log, stderr=log
        )

    def serves() -> bool:
        assert process.poll() is None, conf.with_suffix(".log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait(serves, what=f"{module} serves")
    except AssertionError:
        process.kill()
        process.wait()
        raise
    return process


@contextlib.contextmanager
def name_server(directory: Path) -> Iterator[str]:
    port = free_ports(1)
    conf = directory / "namesrv.conf"
    conf.write_text(f"listenPort={port}\nkvConfigPath={directory / 'kv.json'}\n")
    process = launch("server.namesrv.app", conf, port)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        code = process.wait(60)
    assert code == 0


def broker_conf(directory: Path, namesrv: str) -> tuple[Path, int]:
    # Two below is the port for the impatient, the next one is where slaves connect.
    port = free_ports(4) + 2
    conf = directory / "broker.conf"
    conf.write_text(
        f"brokerName=killed\nbrokerIP1=127.0.0.1\nlistenPort={port}\nnamesrvAddr={namesrv}\n"
        f"storePathRootDir={directory / 'store'}\nflushDiskType=SYNC_FLUSH\n"
        "mappedFileSizeCommitLog=1048576\nmappedFileSizeConsumeQueue=20000\n"
        "maxHashSlotNum=5000\nmaxIndexNum=20000\n"
    )
    return conf, port


class Load:
    """Senders that note what they sent and what was acknowledged."""

    def __init__(self, namesrv: str) -> None:
        self._namesrv = namesrv
        self.sent: set[bytes] = set()
        self.acknowledged: dict[bytes, tuple[int, int]] = {}

    async def run(self, number: int, run_s: float, broker: subprocess.Popen[bytes]) -> None:
        # A disk that hangs for seconds ends no sender; a broker that is killed ends all at once.
        async with MQClient(self._namesrv, timeout_s=60) as client:
            producer = Producer(client)
            senders = [
                asyncio.create_task(self._send(producer, f"{number}-{sender}"))
                for sender in range(SENDERS)
            ]
            before = len(self.acknowledged)
            # However slow the machine is, the kill comes amid messages that are acknowledged.
            await until(lambda: len(self.acknowledged) > before + SENDERS)
            await asyncio.sleep(run_s)
            broker.send_signal(signal.SIGKILL)
            broker.wait()
            await asyncio.wait(senders, timeout=10)
            for sender in senders:
                sender.cancel()

    async def _send(self, producer: Producer, name: str) -> None:
        for count in range(1_000_000):
            body = f"{name}-{count}".encode().ljust(200 + 37 * (count % 50), b".")
            self.sent.add(body)
            try:
                result = await producer.send(Message(TOPIC, body, keys=f"{name}-{count}"))
            except ClientError:
                return
            if result.status is SendStatus.SEND_OK:
                self.acknowledged[body] = (result.queue.queue_id, result.queue_offset)

    async def stored(self) -> dict[bytes, tuple[int, int]]:
        """Return every message that can be read, with its queue and queue offset."""
        found: dict[bytes, tuple[int, int]] = {}
        async with MQClient(self._namesrv, timeout_s=60) as client:
            consumer = PullConsumer(client, "checker")
            for queue in await consumer.queues(TOPIC):
                next_offset = 0
                while True:
                    pulled = await consumer.pull(queue, queue_offset=next_offset)
                    if pulled.status is not PullStatus.FOUND:
                        break
                    for message in pulled.messages:
                        assert message.queue_offset == next_offset
                        assert message.body not in found
                        found[message.body] = (queue.queue_id, next_offset)
                        next_offset += 1
                assert next_offset == pulled.max_offset
        return found


async def registered(namesrv: str, broker: subprocess.Popen[bytes]) -> None:
    async with MQClient(namesrv, timeout_s=60) as client:

        async def has_route() -> bool:
            assert broker.poll() is None, "the broker ended by itself"
            with contextlib.suppress(ClientError):
                return bool((await client.route("TBW102")).broker_datas)
            return False

        await eventually(has_route, lambda found: found, pause_s=0.02)


@pytest.mark.parametrize("rounds", [1, pytest.param(10, marks=pytest.mark.soak)])
def test_every_acknowledged_message_is_there_after_kills(tmp_path: Path, rounds: int) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)

    with name_server(tmp_path) as namesrv:
        conf, port = broker_conf(tmp_path, namesrv)
        load = Load(namesrv)
        for number in range(1, rounds * KILLS_A_ROUND + 1):
            broker = launch("server.broker.app", conf, port)
            asyncio.run(registered(namesrv, broker))
            asyncio.run(load.run(number, chance.uniform(0.05, 0.4), broker))
            if number % KILLS_A_ROUND == 0:
                broker = launch("server.broker.app", conf, port)
                asyncio.run(registered(namesrv, broker))
                stored = asyncio.run(load.stored())
                broker.terminate()
                assert broker.wait(60) == 0
                check(load, stored, tmp_path / "store")
                print(f"{number} kills, {len(load.acknowledged)} acknowledged, {len(stored)} read")
        assert len(load.acknowledged) > number * SENDERS


def check(load: Load, stored: dict[bytes, tuple[int, int]], store: Path) -> None:
    """Assert that what is read is what was sent, and that the store is whole."""
    lost = {body for body in load.acknowledged if stored.get(body) != load.acknowledged[body]}
    assert lost == set()
    assert stored.keys() - load.sent == set()
    last: dict[tuple[bytes, int], int] = {}
    for body, (queue_id, _) in sorted(stored.items(), key=lambda one: one[1]):
        sender, _, count = body.rstrip(b".").rpartition(b"-")
        assert int(count) > last.get((sender, queue_id), -1), body
        last[sender, queue_id] = int(count)
    report = verify(StoreDir.open(store))
    assert report.ok, report.findings
