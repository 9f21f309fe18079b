"""A rebalance drops and begins queues, and changes nothing while a server does not answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.rebalance import rebalancing
from mqclient.message import read_messages
from remoting.bodies import (
    ConsumeFromWhere,
    LockBatchResponseBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.fake import FakeServer, record
from tests.waiting import until

QUEUES = [MessageQueue("T", "broker-0", i) for i in range(4)]
SETTINGS = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)


@asynccontextmanager
async def subscribed(
    *, orderly: bool = False
) -> AsyncIterator[tuple[FakeServer, MQClient, PushConsumer]]:
    async with FakeServer() as fake, fake.client() as client:
        fake.route("T", queues=4)
        fake.take_members()
        fake.say(RequestCode.UNLOCK_BATCH_MQ)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, ResponseCode.QUERY_NOT_FOUND)
        async with PushConsumer(client, "G", SETTINGS) as consumer:
            consumer.subscribe("T")
            answer = ConsumeOrderlyStatus.SUCCESS if orderly else None
            consumer.register_message_listener(
                lambda messages, context: answer or ConsumeConcurrentlyStatus.CONSUME_SUCCESS,  # type: ignore[arg-type, return-value]
                orderly=orderly,
            )
            yield fake, client, consumer


async def notice(client: MQClient, consumer: PushConsumer) -> None:
    serve = consumer.request_handlers()[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED]
    await serve("a:1", None)  # type: ignore[arg-type]


async def test_a_notice_shares_the_queues_with_the_new_member_at_once() -> None:
    async with subscribed() as (fake, client, consumer):
        fake.list_members(client.client_id)
        fake.list_members(client.client_id, "zzz")
        await consumer.start()
        await until(lambda: consumer.assignment() == QUEUES)
        await notice(client, consumer)
        await until(lambda: consumer.assignment() == QUEUES[:2])


async def test_a_broker_that_does_not_say_who_is_there_changes_nothing() -> None:
    async with subscribed() as (fake, client, consumer):
        fake.list_members(client.client_id)
        fake.say(RequestCode.GET_CONSUMER_LIST_BY_GROUP, ResponseCode.SYSTEM_ERROR)
        await consumer.start()
        await until(lambda: consumer.assignment() == QUEUES)
        count = len(fake.asked_for(RequestCode.GET_CONSUMER_LIST_BY_GROUP))
        await notice(client, consumer)
        await until(lambda: len(fake.asked_for(RequestCode.GET_CONSUMER_LIST_BY_GROUP)) > count + 1)
        assert consumer.assignment() == QUEUES


async def test_a_broker_that_forgot_this_member_is_told_and_asked_again() -> None:
    async with subscribed() as (fake, client, consumer):
        fake.list_members("zzz")
        fake.list_members(client.client_id, "zzz")
        await consumer.start()
        await until(lambda: consumer.assignment() == QUEUES[:2])
        assert len(fake.asked_for(RequestCode.HEART_BEAT)) >= 2


async def test_an_orderly_member_begins_only_what_is_locked_and_unlocks_what_it_gives_up() -> None:
    async with subscribed(orderly=True) as (fake, client, consumer):
        fake.list_members(client.client_id)
        fake.list_members(client.client_id, "zzz")
        for granted in ([QUEUES[0]], [], [QUEUES[2]], []):
            body = LockBatchResponseBody(lock_ok_mq_set=granted)
            fake.say(RequestCode.LOCK_BATCH_MQ, body=body.encode())
        await consumer.start()
        await until(lambda: consumer.assignment() == [QUEUES[0], QUEUES[2]])
        await notice(client, consumer)
        await until(lambda: consumer.assignment() == [QUEUES[0]])
        await until(lambda: bool(fake.asked_for(RequestCode.UNLOCK_BATCH_MQ)))
        (unlocked,) = fake.asked_for(RequestCode.UNLOCK_BATCH_MQ)
        assert UnlockBatchRequestBody.decode(unlocked.body).mq_set == [QUEUES[2]]


async def test_the_retry_topic_is_looked_for_again_long_before_the_next_rebalance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebalancing, "FIRST_AGAIN_S", 0.001)
    async with subscribed() as (fake, client, consumer):
        fake.list_members(client.client_id)
        await consumer.start()
        await until(lambda: consumer.assignment() == QUEUES)
        # The broker has registered it meanwhile.
        fake.route("T", "%RETRY%G", queues=4)
        await until(lambda: len(consumer.assignment()) == 8)


async def test_a_notice_begins_the_short_pauses_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebalancing, "FIRST_AGAIN_S", 0.001)
    monkeypatch.setattr(rebalancing, "REBALANCE_S", 0.001)
    async with subscribed() as (fake, client, consumer):
        fake.list_members(client.client_id)
        await consumer.start()
        await until(lambda: consumer.assignment() == QUEUES)
        monkeypatch.setattr(rebalancing, "REBALANCE_S", 3600.0)
        message = read_messages(record("T", b"x"), broker_name="broker-0", address="a:1")[0]
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK)
        fake.route("T", "%RETRY%G", queues=4)
        await consumer.send_message_back(message, 3)
        await until(lambda: len(consumer.assignment()) == 8)
