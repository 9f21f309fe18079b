"""Clients of Java 5 and ours on one static topic of 5.4.0, remapped between two brokers.

    logical queue 0    broker-a:0 [0, 10000)  ->  broker-b:1 [10000, ...)

namesrv (5.4.0) ── broker-a, broker-b (5.4.0)
"""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqclient.client import routes
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.errors import BadRequest, BrokerRefused
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from remoting.bodies import MessageQueue
from tests.interop.kit.our_clients import await_registered, listening
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import Broker, JavaSide, Servers, running_pair
from tests.interop.kit.toolbox import Line, Toolbox, spec_of
from tests.waiting import eventually, wait

QUEUES, COUNT = 3, 4
LOGICAL = "__syslo__global__"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def pair(five: JavaSide, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    home = tmp_path_factory.mktemp("logical")
    with running_pair(five, home / "a") as servers:
        settings, namesrv = {"brokerName": "broker-b"}, servers.namesrv.address
        with Broker(five, store=home / "b", namesrv=namesrv, settings=settings) as second:
            for broker in (servers.broker, second):
                await_registered(servers._replace(broker=broker))
            yield servers


@pytest.fixture
def ours(pair: Servers, tmp_path: Path) -> OurMqadmin:
    return OurMqadmin(pair.namesrv.address, {"HOME": str(tmp_path)})


async def pulled(consumer: PullConsumer, queue: MessageQueue) -> list[MessageExt]:
    """Return all messages of a queue, over the gap that a remap leaves."""
    messages: list[MessageExt] = []
    at, end = await consumer.min_offset(queue), await consumer.max_offset(queue)
    while at < end:
        result = await consumer.pull(queue, queue_offset=at)
        messages += result.messages
        assert result.next_offset > at or result.messages, (queue, at, end, result)
        at = result.next_offset
    return messages


def logical_queues(topic: str) -> list[MessageQueue]:
    return [MessageQueue(topic, LOGICAL, queue_id) for queue_id in range(QUEUES)]


async def led_by(client: MQClient, topic: str, names: set[str]) -> None:
    """Wait until the name server knows that these brokers lead the logical queues."""

    async def leaders() -> set[str]:
        route = await client.route(topic, fresh=True)
        return {routes.leader_of(route, queue) for queue in routes.logical_queues(topic, route)}

    await eventually(leaders, lambda found: found == names)


async def reaches_all(client: MQClient, topic: str) -> bool:
    """Return whether broker-b reads what broker-a has; it looks for other brokers every 5 s."""
    consumer = PullConsumer(client, "LogicalReach")
    try:
        return [await consumer.min_offset(queue) for queue in logical_queues(topic)] == [0] * QUEUES
    except BrokerRefused:
        return False


async def send_all(producer: Producer, topic: str, label: str) -> list[Any]:
    return [
        await producer.send(Message(topic, f"{label}{number}".encode()), queue=queue)
        for number in range(COUNT)
        for queue in logical_queues(topic)
    ]


async def filled(pair: Servers, ours: OurMqadmin) -> str:
    """Make a static topic, send, remap it to broker-b, and send again with the same producer."""
    # A test that is run again needs another one: a static topic cannot be deleted and made again.
    topic = f"Logical{next(_numbers)}"
    where = ("--cluster", pair.broker.cluster)
    await asyncio.to_thread(
        ours, "topic", "static", "grow", topic, "--queues", str(QUEUES), *where, "-y"
    )
    async with MQClient(pair.namesrv.address, timeout_s=60) as client:
        await led_by(client, topic, {"broker-a", "broker-b"})
        producer = Producer(client)
        sent = await send_all(producer, topic, "a")
        await asyncio.to_thread(
            ours, "topic", "static", "remap", topic, "--broker", "broker-b", "-y"
        )
        # The producer has a route of before: it is told who leads, and asks for another one.
        sent += await send_all(producer, topic, "b")
        await led_by(client, topic, {"broker-b"})
        await eventually(lambda: reaches_all(client, topic))

    by_queue = [
        [one.queue_offset for one in sent if one.queue == queue] for queue in logical_queues(topic)
    ]
    assert len({len(offsets) for offsets in by_queue}) == 1
    assert all(offsets == sorted(offsets) for offsets in by_queue)
    return topic


def of_java(lines: list[Line]) -> list[tuple[int, int, str]]:
    return [(line["queue"], line["offset"], line["text"]) for line in lines]


def test_both_clients_read_the_same_of_a_remapped_topic(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    topic = asyncio.run(filled(pair, ours))

    async def read() -> list[tuple[int, int, str]]:
        async with MQClient(pair.namesrv.address, timeout_s=60) as client:
            consumer = PullConsumer(client, "LogicalPull")
            assert await consumer.queues(topic) == logical_queues(topic)
            found = [await pulled(consumer, queue) for queue in await consumer.queues(topic)]
            return [(m.queue_id, m.queue_offset, m.body.decode()) for part in found for m in part]

    mine = asyncio.run(read())
    java = of_java(five_tool.run("PullAll", spec_of(pair, topic)))
    pushed = of_java(five_tool.run("ReadAll", spec_of(pair, topic, count=2 * COUNT * QUEUES)))

    assert sorted(java) == sorted(mine) == sorted(pushed)
    assert [one for queue_id in range(QUEUES) for one in pushed if one[0] == queue_id] == mine
    assert len(mine) == 2 * COUNT * QUEUES
    bodies = [text for queue_id, _, text in mine if queue_id == 0]
    assert bodies == [f"{label}{number}" for label in "ab" for number in range(COUNT)]


def test_what_java_sends_to_a_remapped_topic_is_read_by_ours(
    pair: Servers, five_tool: Toolbox, ours: OurMqadmin
) -> None:
    topic = asyncio.run(filled(pair, ours))
    sent = of_java(five_tool.run("SendAll", spec_of(pair, topic, count=COUNT, label="java")))

    async def tail() -> list[tuple[int, int, str]]:
        async with MQClient(pair.namesrv.address, timeout_s=60) as client:
            consumer = PullConsumer(client, "LogicalTail")
            found = [await pulled(consumer, queue) for queue in logical_queues(topic)]
            last = [message for part in found for message in part[-COUNT:]]
            return [(m.queue_id, m.queue_offset, m.body.decode()) for m in last]

    assert sorted(sent) == sorted(asyncio.run(tail()))
    assert len(sent) == COUNT * QUEUES


def test_a_push_consumer_reads_each_message_once_and_commits(
    pair: Servers, ours: OurMqadmin
) -> None:
    topic = asyncio.run(filled(pair, ours))
    group = f"Group{topic}"
    total = 2 * COUNT * QUEUES

    with listening(pair, group, topic, orderly=True) as listener:
        wait(lambda: len(listener.got) >= total)

        async def all_committed() -> list[int | None]:
            async with MQClient(pair.namesrv.address, timeout_s=60) as client:
                consumer = PullConsumer(client, group)
                ends = [await consumer.max_offset(queue) for queue in logical_queues(topic)]
                now = [await consumer.committed(queue) for queue in logical_queues(topic)]
                return [(end or 0) - (offset or 0) for end, offset in zip(ends, now, strict=True)]

        wait(lambda: asyncio.run(all_committed()), lambda behind: behind == [0] * QUEUES)
        by_queue = [
            [message.body.decode() for message in listener.got if message.queue_id == queue_id]
            for queue_id in range(QUEUES)
        ]

    assert len(listener.got) == total
    assert by_queue == [[f"{label}{number}" for label in "ab" for number in range(COUNT)]] * QUEUES


def test_offsets_of_a_logical_queue_are_committed_and_read_back(
    pair: Servers, ours: OurMqadmin
) -> None:
    topic = asyncio.run(filled(pair, ours))

    # A broker of 5.x takes no offset of a group that it does not know, and the leader passes a
    # commit in an older part on to the broker that has it.
    ours("group", "create", "LogicalSeek", "--cluster", pair.broker.cluster)

    async def seek() -> list[object]:
        async with MQClient(pair.namesrv.address, timeout_s=60) as client:
            consumer = PullConsumer(client, "LogicalSeek")
            queue = logical_queues(topic)[0]
            end = await consumer.max_offset(queue)
            seen: list[object] = []
            for offset in (2, end - 1, end):
                await consumer.commit(queue, offset)
                seen.append(await consumer.committed(queue) == offset)
            found = await consumer.pull(queue, queue_offset=2)
            return [*seen, found.messages[0].body.decode(), found.messages[0].queue_offset]

    assert asyncio.run(seek()) == [True, True, True, "a2", 2]


def test_what_does_not_read_logical_queues_says_so(pair: Servers, ours: OurMqadmin) -> None:
    topic = asyncio.run(filled(pair, ours))

    async def pop() -> None:
        async with (
            MQClient(pair.namesrv.address, timeout_s=60) as client,
            SimpleConsumer(client, "LogicalPop") as consumer,
        ):
            consumer.subscribe(topic)
            await consumer.receive(1, invisible_ms=60_000)

    with pytest.raises(BadRequest, match="is static, and its logical queues cannot be popped"):
        asyncio.run(pop())
    ours.text("offset", "reset", "LogicalPop", topic, "--to", "earliest", "-y", exit_code=1)
    assert "is static, and offsets in logical queues are not moved from here" in ours.err
