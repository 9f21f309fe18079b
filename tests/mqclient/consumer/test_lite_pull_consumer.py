"""Lite pull consumers against the embedded broker: share, assign, seek, commit."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BadRequest, BrokerRefused
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqserver.pytest_plugin import RocketMQ
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import QueryConsumerOffsetResponse
from storefmt.config.tables import TopicConfig
from tests.mqclient.consuming import POLL_FROM_FIRST, polling
from tests.mqclient.fake import serving
from tests.waiting import eventually, until

BY_HAND = replace(POLL_FROM_FIRST, auto_commit=False)


async def send(client: MQClient, topic: str, count: int) -> None:
    """Send messages to a new topic; its broker registers it with the name server a little later."""
    producer = Producer(client)
    for number in range(count):
        await producer.send(Message(topic, b"%d" % number, tags="A" if number % 2 else "B"))
    await eventually(Admin(client).topic_list, lambda topics: topic in topics)


async def poll(consumer: LitePullConsumer, count: int) -> list[MessageExt]:
    found: list[MessageExt] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += await consumer.poll(1000)
    return found


def numbers(messages: list[MessageExt]) -> list[int]:
    return sorted(int(message.body) for message in messages)


async def test_polls_give_each_message_once_and_the_next_member_goes_on(client: MQClient) -> None:
    await send(client, "LiteAll", 60)
    async with polling(client, "lite-all", "LiteAll") as consumer:
        assert numbers(await poll(consumer, 60)) == list(range(60))
        assert await consumer.poll(0) == []
    async with polling(client, "lite-all", "LiteAll") as consumer:
        await send(client, "LiteAll", 1)
        assert numbers(await poll(consumer, 1)) == [0]


async def test_only_wanted_tags_are_given(client: MQClient) -> None:
    await send(client, "LiteTags", 20)
    async with polling(client, "lite-tags", "LiteTags", "A") as consumer:
        assert numbers(await poll(consumer, 10)) == list(range(1, 20, 2))


async def test_without_auto_commit_only_commit_moves_the_group(client: MQClient) -> None:
    await send(client, "LiteHand", 8)
    queues = await PullConsumer(client, "lite-hand").queues("LiteHand")
    async with LitePullConsumer(client, "lite-hand", BY_HAND) as consumer:
        await consumer.assign(queues)
        await consumer.start()
        await poll(consumer, 8)
    reader = PullConsumer(client, "lite-hand")
    before = [await reader.committed(queue) for queue in queues]
    async with LitePullConsumer(client, "lite-hand", BY_HAND) as consumer:
        await consumer.assign(queues)
        await consumer.start()
        await poll(consumer, 8)
        await consumer.commit()
    after = [await reader.committed(queue) for queue in queues]
    assert [position or 0 for position in before] == [0] * len(queues)
    assert sum(position or 0 for position in after) == 8


async def test_seek_goes_back_and_refuses_what_is_outside(client: MQClient) -> None:
    await send(client, "LiteSeek", 12)
    queue = MessageQueue("LiteSeek", "broker-a", 0)
    async with LitePullConsumer(client, "lite-seek", POLL_FROM_FIRST) as consumer:
        await consumer.assign([queue])
        await consumer.start()
        first = await poll(consumer, 3)
        await consumer.seek(queue, 1)
        again = await poll(consumer, 2)
        assert [each.queue_offset for each in first] == [0, 1, 2]
        assert [each.queue_offset for each in again] == [1, 2]
        with pytest.raises(BadRequest, match="has 0 to 3, not 4"):
            await consumer.seek(queue, 4)
        with pytest.raises(BadRequest, match="not this consumer's"):
            await consumer.seek(MessageQueue("LiteSeek", "broker-a", 1), 0)
        await consumer.seek_to_end(queue)
        assert await consumer.poll(50) == []


async def test_paused_queue_gives_nothing_until_resumed(client: MQClient) -> None:
    await send(client, "LitePause", 4)
    queue = MessageQueue("LitePause", "broker-a", 0)
    async with LitePullConsumer(client, "lite-pause", POLL_FROM_FIRST) as consumer:
        await consumer.assign([queue])
        await consumer.start()
        await poll(consumer, 1)
        await consumer.seek_to_begin(queue)
        consumer.pause([queue])
        assert await consumer.poll(100) == []
        consumer.resume([queue])
        assert len(await poll(consumer, 1)) == 1


async def test_a_topic_unsubscribed_from_is_left_to_the_others(client: MQClient) -> None:
    for topic in ("LiteKept", "LiteLeft"):
        await send(client, topic, 1)
    async with LitePullConsumer(client, "lite-leaves", POLL_FROM_FIRST) as consumer:

        def topics() -> set[str]:
            return {queue.topic for queue in consumer.assignment()}

        consumer.subscribe("LiteKept")
        consumer.subscribe("LiteLeft")
        await consumer.start()
        await until(lambda: topics() == {"LiteKept", "LiteLeft"})
        consumer.unsubscribe("LiteLeft")
        await until(lambda: topics() == {"LiteKept"})


async def test_one_that_cannot_start_is_no_member(client: MQClient) -> None:
    await send(client, "LiteSql", 1)
    consumer = LitePullConsumer(client, "lite-sql", POLL_FROM_FIRST)
    consumer.subscribe("LiteSql", "a >", kind="SQL92")
    with pytest.raises(BrokerRefused, match="LiteSql"):
        await consumer.start()
    assert not consumer.is_running
    assert client.members.heartbeat_data().consumer_data_set == []
    async with polling(client, "lite-sql", "LiteSql") as another:
        await consumer.shutdown()
        assert numbers(await poll(another, 1)) == [0]


async def test_subscribing_and_assigning_do_not_mix(client: MQClient) -> None:
    subscribed = LitePullConsumer(client, "lite-mix")
    subscribed.subscribe("LiteMix")
    with pytest.raises(BadRequest, match="cannot assign"):
        await subscribed.assign([MessageQueue("LiteMix", "broker-a", 0)])
    taken = LitePullConsumer(client, "lite-mix")
    await taken.assign([MessageQueue("LiteMix", "broker-a", 0)])
    with pytest.raises(BadRequest, match="cannot subscribe"):
        taken.subscribe("LiteMix")
    with pytest.raises(BadRequest, match="does not run"):
        await taken.poll()


async def test_assigned_queues_give_what_their_expression_wants(client: MQClient) -> None:
    await send(client, "LiteAssignedTags", 20)
    async with LitePullConsumer(client, "lite-assigned-tags", POLL_FROM_FIRST) as consumer:
        consumer.set_sub_expression_for_assign("LiteAssignedTags", "A")
        queues = [MessageQueue("LiteAssignedTags", "broker-a", n) for n in range(4)]
        await consumer.assign(queues)
        await consumer.start()
        found = await poll(consumer, 10)
        assert numbers(found) == list(range(1, 20, 2))
        with pytest.raises(BadRequest, match="before the start"):
            consumer.set_sub_expression_for_assign("LiteAssignedTags", "B")
        firsts = [await consumer.earliest_msg_store_time(queue) for queue in queues]
        assert min(first for first in firsts if first is not None) <= found[0].store_ms


async def test_a_change_of_the_queues_is_told_while_it_runs(rocketmq: RocketMQ) -> None:
    topic, told = "LiteWatched", asyncio.Event()

    async with MQClient(rocketmq.namesrv, timeout_s=60) as client:
        await send(client, topic, 1)
        settings = LitePullSettings(topic_metadata_check_interval_ms=50)
        async with LitePullConsumer(client, "lite-watched", settings) as consumer:
            with pytest.raises(BadRequest, match="does not run"):
                consumer.register_topic_message_queue_change_listener(
                    topic, lambda topic, queues: told.set()
                )
            consumer.subscribe(topic)
            await consumer.start()
            consumer.register_topic_message_queue_change_listener(
                topic, lambda topic, queues: told.set()
            )
            count = 8
            # The first look may come after a change: go on until one is seen.
            async with asyncio.timeout(60):
                while not told.is_set():
                    count += 1
                    config = TopicConfig(topic, read_queue_nums=count, write_queue_nums=count)
                    await Admin(client).create_topic(rocketmq.broker, config)
                    await asyncio.sleep(0.2)
    assert told.is_set()


async def test_assigned_queues_stay_where_they_are_when_a_broker_moves_the_group() -> None:
    async with serving() as (fake, client):
        fake.take_members()
        header = QueryConsumerOffsetResponse(offset=7)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, header=header)
        async with (
            LitePullConsumer(client, "shared") as shared,
            LitePullConsumer(client, "alone") as alone,
        ):
            shared.subscribe("T")
            await alone.assign([MessageQueue("T", "broker-0", 0)])
            await shared.start()
            await alone.start()
            reset = RequestCode.RESET_CONSUMER_CLIENT_OFFSET
            assert reset in shared.request_handlers()
            assert reset not in alone.request_handlers()


async def test_async_for_gives_each_message_and_leaving_it_loses_none(client: MQClient) -> None:
    await send(client, "LiteIterate", 20)
    seen = []
    async with polling(client, "lite-iterate", "LiteIterate") as consumer:
        for count in (3, 9, 20):
            async for message in consumer:
                seen.append(int(message.body))
                if len(seen) == count:
                    break
        await consumer.commit()
        queues = consumer.assignment()
    assert sorted(seen) == list(range(20))
    reader = PullConsumer(client, "lite-iterate")
    assert sum([await reader.committed(queue) or 0 for queue in queues]) == 20


async def test_the_shutdown_ends_async_for(client: MQClient) -> None:
    await send(client, "LiteEnds", 1)
    async with polling(client, "lite-ends", "LiteEnds") as consumer:
        async for _ in consumer:
            await consumer.shutdown()


async def test_a_block_commits_at_its_end_and_an_error_brings_the_batch_again(
    client: MQClient,
) -> None:
    topic = "LiteBlocks"
    await send(client, topic, 1)
    queues = await PullConsumer(client, "lite-blocks").queues(topic)
    seen: list[bytes] = []
    async with LitePullConsumer(client, "lite-blocks", BY_HAND) as consumer:
        await consumer.assign(queues)
        await consumer.start()
        for _ in range(3):
            with suppress(ValueError):
                async with consumer.batch(60_000) as messages:
                    seen += [message.body for message in messages]
                    raise ValueError("not now")
        (queue,) = {MessageQueue(topic, each.broker_name, each.queue_id) for each in messages}
        assert (await consumer.committed(queue) or 0) == 0
        async with consumer.batch(60_000) as messages:
            seen += [message.body for message in messages]
        async with consumer.batch(0) as messages:
            assert messages == []
    assert seen == [b"0"] * 4
    assert await PullConsumer(client, "lite-blocks").committed(queue) == 1
