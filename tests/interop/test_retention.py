"""One store, deleted from by the real broker and by ours: the same goes, the same stays.

        ┌─ real ── deletes ── ours:  reads, continues ── real: reads
filled ─┤   same files, same min offsets, same keys
        └─ ours ── deletes ── real:  reads, continues ── ours: reads
"""

import asyncio
import os
import random
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.message import Message
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from storefmt.config.tables import TopicConfig
from storefmt.formats.message import Record
from storefmt.offline import StoreDir
from storefmt.offline.verify.store import verify
from tests.interop.kit.our_clients import run
from tests.interop.kit.servers import Broker, JavaSide, Namesrv, OurSide, Side
from tests.waiting import eventually

_T = TypeVar("_T")
TOPIC, OLD = "Kept", "Gone"
SETTINGS = {
    "fileReservedTime": "0",
    # Far from now: in that hour files go by themselves, at any moment.
    "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02d}",
    "deleteCommitLogFilesInterval": "1",
    "deleteConsumeQueueFilesInterval": "1",
    # 20 entries a queue file, 30 messages an index file: some of them go, too.
    "mappedFileSizeConsumeQueue": "400",
    "maxHashSlotNum": "50",
    "maxIndexNum": "60",
}
COUNT = 130
"""65 a queue: the real broker cannot clean a queue whose last file is full."""
SETTLED_S = 2.0


async def send(client: MQClient, broker: Broker, topic: str, count: int) -> None:
    producer, chooser = Producer(client), random.Random(7)
    for number in range(count):
        queue = MessageQueue(topic, broker.name, number % 2)
        message = Message(topic, chooser.randbytes(15_000), keys=f"k{number}")
        await producer.send(message, queue=queue)


async def read_all(client: MQClient, broker: Broker, topic: str) -> dict[int, list[Record]]:
    """Return every record that is served, by queue, and check that the row has no gap."""
    admin, consumer = Admin(client), PullConsumer(client, "RETENTION_READER")
    found: dict[int, list[Record]] = {}
    for queue_id in (0, 1):
        queue = MessageQueue(topic, broker.name, queue_id)
        low, high = await admin.min_offset(queue), await admin.max_offset(queue)
        records: list[Record] = []
        async with asyncio.timeout(60):
            while (at := low + len(records)) < high:
                result = await consumer.pull(queue, queue_offset=at, suspend_ms=1_000)
                records += [message.record for message in result.messages]
        assert [record.queue_offset for record in records] == list(range(low, high))
        found[queue_id] = records
    return found


@dataclass(frozen=True)
class StoreContents:
    """What a deletion left of a store."""

    files: set[str]
    """Of log and queues; a file that is made ahead has nothing in it and does not count."""
    index_count: int
    records: dict[int, list[Record]]
    old: dict[int, list[Record]]
    keys: dict[str, set[int]]
    """Log offsets under some keys."""


async def fill(client: MQClient, broker: Broker) -> None:
    admin = Admin(client)
    for topic in (OLD, TOPIC):
        await admin.create_topic(broker.address, TopicConfig(topic, 2, 2))
        await send(client, broker, topic, COUNT)


async def delete(client: MQClient, broker: Broker) -> StoreContents:
    """Let a broker delete by hand all that is expired, and tell what it left."""
    admin = Admin(client)
    await admin.delete_expired_log(broker.address)

    async def first_files() -> list[str]:
        return log_files(broker.store)

    # The real broker looks for the first time a minute after its start.
    kept = await eventually(first_files, lambda names: len(names) == 1, timeout_s=200)
    for queue_id in (0, 1):
        queue = MessageQueue(TOPIC, broker.name, queue_id)
        await eventually(partial(admin.min_offset, queue), lambda low: low > 0)
    # The real broker goes through all queues, and then through the index.
    await eventually(partial(expired_indexes, broker.store, int(kept[0])), lambda left: not left)
    await settled(broker.store)
    await admin.clean_expired_queues(broker.address)
    await eventually(partial(paths_of, broker.store, f"consumequeue/{OLD}"), lambda left: not left)
    await settled(broker.store)
    keys = {}
    for key in ("k0", "k60", f"k{COUNT - 2}", f"k{COUNT - 1}"):
        found = await admin.query_message(TOPIC, key, count_max=32)
        keys[key] = {message.log_offset for message in found}
    index = broker.store / "index"
    return StoreContents(
        {*kept, *await paths_of(broker.store, "consumequeue")},
        len(list(index.iterdir())),
        await read_all(client, broker, TOPIC),
        await read_all(client, broker, OLD),
        keys,
    )


async def expired_indexes(store: Path, log_min: int) -> list[str]:
    """Return the index files, but for the newest, that only have records below a log offset."""
    paths = sorted((store / "index").iterdir())[:-1]
    # Bytes 24 to 32 are the log offset of the last record.
    return [
        path.name for path in paths if int.from_bytes(path.read_bytes()[24:32], "big") < log_min
    ]


async def settled(store: Path) -> None:
    """Return when queues and index have lost no file for a while."""
    before: set[str] = set()
    async with asyncio.timeout(60):
        while (now := await paths_of(store, ".")) != before:
            before = now
            await asyncio.sleep(SETTLED_S)


def log_files(store: Path) -> list[str]:
    """Return the names of the log files that have anything in them."""
    return sorted(path.name for path in (store / "commitlog").iterdir() if is_begun(path))


def is_begun(path: Path) -> bool:
    """Return whether a log file has anything in it; not one that its broker deletes meanwhile."""
    try:
        return path.stat().st_blocks > 0 and path.read_bytes()[:8].strip(b"\0") != b""
    except FileNotFoundError:
        return False


async def paths_of(store: Path, folder: str) -> set[str]:
    """Return every file below a folder of a store, also while its broker deletes there."""
    return {
        str(Path(directory, name).relative_to(store))
        for directory, _, names in os.walk(store / folder)
        for name in names
    }


async def go_on(client: MQClient, broker: Broker) -> dict[int, list[Record]]:
    """Read what the other broker left, and continue it."""
    before = await read_all(client, broker, TOPIC)
    await send(client, broker, TOPIC, 20)
    await send(client, broker, OLD, 4)
    after = await read_all(client, broker, TOPIC)
    assert all(after[queue_id][: len(before[queue_id])] == before[queue_id] for queue_id in after)
    assert [len(records) - len(before[queue_id]) for queue_id, records in after.items()] == [10, 10]
    assert [len(one) for one in (await read_all(client, broker, OLD)).values()] == [2, 2]
    return before


def test_both_delete_the_same_and_continue_what_the_other_left(
    java_side: JavaSide, our_side: OurSide, tmp_path: Path
) -> None:
    namesrvs = {side: Namesrv(our_side).await_ready() for side in (java_side, our_side)}
    stores = {side: tmp_path / name for side, name in ((java_side, "java"), (our_side, "ours"))}
    brokers: list[Broker] = []

    def start(side: Side, store: Path) -> Broker:
        address = namesrvs[side].address
        broker = Broker(side, store=store, namesrv=address, settings=SETTINGS)
        brokers.append(broker)
        return broker.await_ready()

    def on(side: Side, store: Path, act: Callable[[MQClient, Broker], Awaitable[_T]]) -> _T:
        """Run a broker on a store, do something with it, and stop it."""
        broker = start(side, store)
        found = run(namesrvs[side].address, lambda client: act(client, broker))
        assert broker.stop() in (0, 143)
        return found

    try:
        on(our_side, stores[our_side], fill)
        assert len(log_files(stores[our_side])) > 2
        shutil.copytree(stores[our_side], stores[java_side])
        left = {side: on(side, stores[side], delete) for side in (java_side, our_side)}

        assert left[our_side] == left[java_side]
        assert left[our_side].old == {0: [], 1: []}
        assert [bool(found) for found in left[our_side].keys.values()] == [False, False, True, True]
        # What our broker leaves when it is killed before a removed queue is off the disk.
        doomed = stores[our_side] / "consumequeue" / OLD / "0.7.deleted"
        shutil.copytree(stores[our_side] / "consumequeue" / TOPIC / "0", doomed)
        for store in stores.values():
            report = verify(StoreDir.open(store))
            assert report.ok, report.findings
        for side, other in ((java_side, our_side), (our_side, java_side)):
            assert on(other, stores[side], go_on) == left[side].records
        assert doomed.is_dir()
        for side, store in stores.items():
            again = on(side, store, lambda client, broker: read_all(client, broker, TOPIC))
            for queue_id, records in left[side].records.items():
                assert again[queue_id][: len(records)] == records
                assert len(again[queue_id]) == len(records) + 10
        assert not doomed.exists()
    finally:
        for broker in brokers:
            broker.kill()
        for namesrv in namesrvs.values():
            namesrv.stop()
