"""A request, its consumer, and the reply, through the embedded broker."""

import asyncio

import pytest

from mqclient.client.instance import MQClient
from mqclient.client.request_reply import PendingReplies
from mqclient.errors import BadRequest, TimedOut
from mqclient.message import Message, MessageExt, read_messages
from mqclient.producer.producer import Producer
from mqserver.pytest_plugin import RocketMQ
from tests.mqclient.consuming import polling
from tests.mqclient.fake import record


async def answer_one(client: MQClient, topic: str, *, skip: int = 0) -> None:
    async with polling(client, f"{topic}-answers", topic) as consumer:
        questions: list[MessageExt] = []
        while len(questions) <= skip:
            questions += await consumer.poll(1000)
        question = next(one for one in questions if one.body.endswith(b"?"))
        result = await Producer(client).reply(question, b"re: " + question.body)
        assert result.queue.topic.endswith("_REPLY_TOPIC")


async def test_the_reply_reaches_who_asked(rocketmq: RocketMQ) -> None:
    async with (
        MQClient(rocketmq.namesrv, timeout_s=60) as asking,
        MQClient(rocketmq.namesrv, timeout_s=60) as answering,
        Producer(asking, "asks") as producer,
    ):
        answers = asyncio.create_task(answer_one(answering, "AskedOnce"))
        reply = await producer.request(Message("AskedOnce", b"what?"), timeout_s=60)
        await answers
        assert reply.body == b"re: what?"


async def test_the_reply_reaches_a_producer_that_sent_to_the_topic_before(
    rocketmq: RocketMQ,
) -> None:
    async with (
        MQClient(rocketmq.namesrv, timeout_s=60) as asking,
        MQClient(rocketmq.namesrv, timeout_s=60) as answering,
        Producer(asking, "asks-later") as producer,
    ):
        await Producer(answering).send(Message("AskedLater", b"makes the topic"))
        await producer.queues("AskedLater")
        answers = asyncio.create_task(answer_one(answering, "AskedLater", skip=1))
        reply = await producer.request(Message("AskedLater", b"what?"), timeout_s=60)
        await answers
        assert reply.body == b"re: what?"


async def test_no_reply_in_time_is_said_and_a_plain_message_has_none(rocketmq: RocketMQ) -> None:
    async with (
        MQClient(rocketmq.namesrv, timeout_s=60) as client,
        Producer(client, "asks-in-vain") as producer,
    ):
        # With the topic made and known, only the reply can be late.
        await producer.send(Message("AskedInVain", b"."))
        with pytest.raises(TimedOut, match="no reply"):
            await producer.request(Message("AskedInVain", b"?"), timeout_s=2)
        await producer.send(Message("NotAsked", b"!"))
        async with polling(client, "not-asked", "NotAsked") as consumer:
            (message,) = await consumer.poll(60_000)
        with pytest.raises(BadRequest, match="does not ask for a reply"):
            await producer.reply(message, b"!")


async def test_a_request_needs_a_started_producer(client: MQClient) -> None:
    with pytest.raises(BadRequest, match="started"):
        await Producer(client).request(Message("T", b"?"), timeout_s=1)


def test_a_question_of_a_broker_that_passes_no_replies_on_has_none() -> None:
    data = record("T", b"?", properties="CORRELATION_ID\x01c\x02REPLY_TO_CLIENT\x01me")
    (question,) = read_messages(data, broker_name="b", address="a:1")
    with pytest.raises(BadRequest, match="does not say where to"):
        PendingReplies("me").reply_to(question, b"!")
