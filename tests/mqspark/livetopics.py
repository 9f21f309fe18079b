"""Topics with messages of every kind on a running broker, for the tests of the live source."""

import random
from collections.abc import Callable, Iterator

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqserver.pytest_plugin import RocketMQ, running_pair
from mqspark.sources.live.options import LiveReadOptions, Use, live_settings
from storefmt.config.tables import TopicConfig
from storefmt.formats.message import Record, body_crc
from storefmt.formats.sysflag import COMPRESSED, COMPRESSION_MASK, inflate
from tests.interop.kit.our_clients import run
from tests.waiting import eventually


def make(namesrv: str, topic: str, *, queue_count: int = 3) -> str:
    """Make a topic, wait until it has a route, and return the broker's name."""

    async def act(client: MQClient) -> str:
        admin = Admin(client)
        brokers = (await admin.cluster_info()).broker_addr_table
        (broker,) = brokers.values()
        await admin.create_topic(
            broker.broker_addrs[0], TopicConfig(topic, queue_count, queue_count)
        )
        await eventually(admin.topic_list, lambda topics: topic in topics)
        return broker.broker_name

    return run(namesrv, act)


def fill(
    namesrv: str, topic: str, count: int, *, queue_count: int = 3, seed: int = 0, size: int = 300
) -> None:
    """Send messages by turns to the queues; all kinds of bodies, keys and properties."""

    async def act(client: MQClient) -> None:
        async def total() -> int:
            stats = await Admin(client).topic_stats(topic)
            return sum(item.max_offset for item in stats.values())

        chooser, before = random.Random(seed), await total()
        producer = Producer(client, settings=ProducerSettings(compress_msg_body_over_howmuch=size))
        queues = sorted(await producer.queues(topic))
        for number in range(count):
            message = Message(
                topic,
                chooser.randbytes(chooser.choice((1, 50, size, 2 * size))) + b"%d" % number,
                tags=chooser.choice((None, "TagA", "TagB", "标签")),
                keys=[f"k-{seed}-{number}"],
                flag=number,
                properties={"colour": chooser.choice(("red", "blau", "青"))},
            )
            await producer.send(message, queue=queues[number % queue_count])
        # A message is in the log before it is in its queue.
        await eventually(total, lambda found: found == before + count)

    run(namesrv, act)


def delete(namesrv: str, topic: str) -> None:
    """Delete a topic, and wait until it has no route."""

    async def act(client: MQClient) -> None:
        admin = Admin(client)
        (broker,) = (await admin.cluster_info()).broker_addr_table.values()
        await admin.delete_topic_in_broker(broker.broker_addrs[0], topic)
        await admin.delete_topic_in_namesrv(namesrv, topic)
        await eventually(admin.topic_list, lambda topics: topic not in topics)

    run(namesrv, act)


def make_anew(namesrv: str, topic: str, count: int) -> None:
    """Delete a topic, make it again and send other messages to it."""
    delete(namesrv, topic)
    make(namesrv, topic)
    fill(namesrv, topic, count, seed=1)


def filled_pair(topic: str, count: int) -> Callable[[], Iterator[RocketMQ]]:
    """Return the fixture of a module: a pair with one topic of ``count`` messages."""

    @pytest.fixture(scope="module")
    def pair() -> Iterator[RocketMQ]:
        with running_pair() as started:
            make(started.namesrv, topic)
            fill(started.namesrv, topic, count)
            yield started

    return pair


def live(namesrv: str, **options: str) -> LiveReadOptions:
    return live_settings({"namesrv": namesrv, **options}, use=Use.BATCH)


def read_queues(namesrv: str, topic: str, *, total: int) -> list[Record]:
    """Return all messages of a topic, once its broker has queued so many, or more."""

    async def act(client: MQClient) -> list[Record]:
        async def count() -> int:
            stats = await Admin(client).topic_stats(topic)
            return sum(item.max_offset - item.min_offset for item in stats.values())

        await eventually(count, lambda found: found >= total)
        found: list[Record] = []
        consumer = PullConsumer(client, "READER")
        for queue, ends in (await Admin(client).topic_stats(topic)).items():
            at = ends.min_offset
            while at < ends.max_offset:
                result = await consumer.pull(queue, queue_offset=at)
                found += [message.record for message in result.messages]
                at = result.next_offset
        return found

    return run(namesrv, act)


def as_sent(record: Record) -> Record:
    """Return the record that a store has of the same message if it was not compressed."""
    if not record.sys_flag & COMPRESSED:
        return record
    body = inflate(record.body, record.sys_flag, size_max=1 << 24)
    return record._replace(
        size=record.size + len(body) - len(record.body),
        body=body,
        body_crc=body_crc(body),
        sys_flag=record.sys_flag & ~(COMPRESSED | COMPRESSION_MASK),
    )
