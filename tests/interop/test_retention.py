"""A store from which our broker deleted old files is opened and continued by the real one."""

import asyncio
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from mqclient.admin import Admin
from mqclient.instance import MQClient
from mqclient.message import Message
from mqclient.producer import Producer
from mqclient.pullconsumer import PullConsumer
from remoting.bodies import MessageQueue
from storefmt.configs import TopicConfig
from storefmt.message import Record
from storefmt.offline import StoreDir
from storefmt.offline.verify import verify
from tests.interop.rocketmq import Broker, JavaSide, Namesrv, OurSide
from tests.interop.waiting import eventually

pytestmark = pytest.mark.java

_T = TypeVar("_T")
TOPIC, OLD = "Kept", "Gone"
SETTINGS = {"fileReservedTime": "0", "deleteCommitLogFilesInterval": "1"}


def run(namesrv: Namesrv, act: Callable[[MQClient], Awaitable[_T]]) -> _T:
    async def go() -> _T:
        async with MQClient(namesrv.address, timeout_s=20.0) as client:
            return await act(client)

    return asyncio.run(go())


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
        while low + len(records) < high:
            result = await consumer.pull(queue, queue_offset=low + len(records), suspend_ms=1_000)
            records += [message.record for message in result.messages]
        assert [record.queue_offset for record in records] == list(range(low, high))
        found[queue_id] = records
    return found


def test_java_broker_serves_what_our_retention_left(
    java_side: JavaSide, our_side: OurSide, tmp_path: Path
) -> None:
    namesrv = Namesrv(our_side).await_ready()
    store = tmp_path / "store"
    broker = Broker(our_side, store=store, namesrv=namesrv.address, settings=SETTINGS).await_ready()

    async def delete(client: MQClient) -> dict[int, list[Record]]:
        admin = Admin(client)
        for topic in (OLD, TOPIC):
            await admin.create_topic(broker.address, TopicConfig(topic, 2, 2))
            await send(client, broker, topic, 120)
        queue = MessageQueue(TOPIC, broker.name, 0)
        await admin.delete_expired_log(broker.address)
        await eventually(lambda: admin.min_offset(queue), lambda low: low > 0)
        await admin.clean_expired_queues(broker.address)
        return await read_all(client, broker, TOPIC)

    async def go_on(client: MQClient) -> dict[int, list[Record]]:
        before = await read_all(client, broker, TOPIC)
        await send(client, broker, TOPIC, 20)
        await send(client, broker, OLD, 4)
        after = await read_all(client, broker, TOPIC)
        assert all(
            after[queue_id][: len(before[queue_id])] == before[queue_id] for queue_id in after
        )
        assert [len(records) for records in (await read_all(client, broker, OLD)).values()] == [
            2,
            2,
        ]
        return before

    try:
        left = run(namesrv, delete)
        assert broker.stop() == 0
        assert sorted((store / "consumequeue" / OLD).iterdir()) == []
        # What our broker leaves when it is killed before a removed queue is off the disk.
        doomed = store / "consumequeue" / OLD / "0.7.deleted"
        shutil.copytree(store / "consumequeue" / TOPIC / "0", doomed)
        report = verify(StoreDir.open(store))
        assert report.ok, report.findings
        broker = Broker(java_side, store=store, namesrv=namesrv.address).await_ready()
        assert run(namesrv, go_on) == left
        assert broker.stop() in (0, 143)
        assert doomed.is_dir()
        broker = Broker(our_side, store=store, namesrv=namesrv.address).await_ready()
        again = run(namesrv, lambda client: read_all(client, broker, TOPIC))
        assert all(again[queue_id][: len(left[queue_id])] == left[queue_id] for queue_id in left)
        assert not doomed.exists()
    finally:
        broker.kill()
        namesrv.stop()
