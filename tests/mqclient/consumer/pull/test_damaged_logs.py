"""Push consumers of a queue with one damaged record or entry consume all others."""

import os
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.errors import NoRoute
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqserver.embedded import Embedded
from remoting.bodies import ConsumeFromWhere, MessageQueue
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.paths import StorePaths
from tests.waiting import eventually, until

FROM_FIRST = PushSettings(
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, pull_batch_size=8
)
COUNT = 20
BAD = 10
TOPIC = "Damaged"
GROUP = "g"
DEAD = f"%DLQ%{GROUP}"
WHOLE = {b"body-%02d" % number for number in range(COUNT) if number != BAD}


def edit(path: Path, pos: int, data: bytes) -> None:
    """Write over bytes of a file behind the broker's back, its times kept."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(pos)
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


Harm = Callable[[Path, Path, int], None]
"""Damages a log file or a queue file; given both, and where the record starts."""


def body(log: Path, queue: Path, start: int) -> None:
    edit(log, log.read_bytes().index(b"body-10"), b"BODY")


def magic(log: Path, queue: Path, start: int) -> None:
    edit(log, start + 4, bytes(4))


def size(log: Path, queue: Path, start: int) -> None:
    edit(log, start, struct.pack(">i", 0x7FFFFFF0))


def shifted(log: Path, queue: Path, start: int) -> None:
    edit(queue, BAD * ENTRY_SIZE, struct.pack(">q", start + 3))


def behind(log: Path, queue: Path, start: int) -> None:
    edit(queue, BAD * ENTRY_SIZE, struct.pack(">q", 1 << 50))


async def consume(client: MQClient, queue: MessageQueue, *, orderly: bool) -> list[bytes]:
    """Return the bodies a group gets until it has come to the end of the queue."""
    bodies: list[bytes] = []

    def concurrently(messages: list[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
        bodies.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    def in_order(messages: list[MessageExt], context: object) -> ConsumeOrderlyStatus:
        bodies.extend(message.body for message in messages)
        return ConsumeOrderlyStatus.SUCCESS

    async with PushConsumer(client, GROUP, FROM_FIRST) as consumer:
        consumer.subscribe(TOPIC)
        if orderly:
            consumer.orderly(in_order)
        else:
            consumer.concurrently(concurrently)
        await consumer.start()
        await until(lambda: consumer.offsets.known(queue) == COUNT)
    return bodies


@asynccontextmanager
async def serving(store: Path) -> AsyncIterator[MQClient]:
    """Run a name server and a broker over a store."""
    pair = Embedded(store)
    addresses = await pair.start()
    try:
        async with MQClient(addresses.namesrv, timeout_s=60) as client:
            yield client
    finally:
        await pair.stop()


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("harm", [body, magic, size, shifted, behind])
async def test_every_message_but_the_damaged_one_is_consumed(
    tmp_path: Path, harm: Harm, *, orderly: bool
) -> None:
    store = tmp_path / "store"
    async with serving(store) as client:
        producer = Producer(client)
        queue = (await producer.queues(TOPIC))[0]
        for number in range(COUNT):
            await producer.send(Message(TOPIC, b"body-%02d" % number), queue=queue)
    paths = StorePaths(store)
    (log,) = paths.commitlog.glob("0*")
    (entries,) = paths.queue_dir(TOPIC, queue.queue_id).iterdir()
    start, _, _ = CQ_ENTRY.unpack_from(entries.read_bytes(), BAD * ENTRY_SIZE)
    harm(log, entries, start)
    async with serving(store) as client:
        bodies = await consume(client, queue, orderly=orderly)
        assert set(bodies) == WHOLE
        if orderly:
            assert bodies == sorted(bodies)
        if harm is body:
            dead = MessageQueue(DEAD, queue.broker_name, 0)

            async def set_aside() -> list[bytes]:
                # The name server hears of the topic when topics.json has it.
                with suppress(NoRoute):
                    found = await PullConsumer(client, GROUP).pull(dead, queue_offset=0)
                    return [one.body for one in found.messages]
                return []

            assert await eventually(set_aside) == [b"BODY-10"]
