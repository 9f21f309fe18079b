"""The answers of a push consumer to the requests of a fake broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer import broker_requests
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus
from mqclient.consumer.push_consumer import PushConsumer
from remoting.bodies import (
    CMResult,
    ConsumeFromWhere,
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
    MessageQueue,
)
from remoting.bodies.offsets import GetConsumerStatusBody, ResetOffsetBody
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.header import Header
from remoting.headers import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    ResetOffset,
)
from tests.mqclient.fake import FakeServer, record, serving
from tests.waiting import until

OK = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
QUEUES = [MessageQueue("T", "broker-0", i) for i in range(2)]


@asynccontextmanager
async def consuming_both_queues() -> AsyncIterator[tuple[FakeServer, MQClient, PushConsumer]]:
    async with serving() as (fake, client):
        fake.take_members()
        fake.list_members(client.client_id)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, ResponseCode.QUERY_NOT_FOUND)
        settings = PushSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
        async with PushConsumer(client, "G", settings) as consumer:
            consumer.subscribe("T", "A")
            consumer.register_message_listener(lambda messages, context: OK)
            await consumer.start()
            await until(lambda: consumer.assignment() == QUEUES)
            yield fake, client, consumer


async def ask(client: MQClient, code: int, header: Header, *, body: bytes = b"") -> Command:
    answer = await client.members.answer("a:1", Command.request(code, header, body=body))
    assert answer is not None
    return answer


async def test_running_info_names_subscriptions_queues_rates_and_on_demand_stacks() -> None:
    async with consuming_both_queues() as (_, client, consumer):
        consumer.offsets.update(QUEUES[1], 7, increase_only=True)
        header = GetConsumerRunningInfo(
            consumer_group="G", client_id=client.client_id, jstack_enable=True
        )
        answer = await ask(client, RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        info = ConsumerRunningInfo.decode(answer.body)
        assert {each.topic for each in info.subscription_set} == {"T", "%RETRY%G"}
        assert {q: each.commit_offset for q, each in info.mq_table.items()} == {
            QUEUES[0]: 0,
            QUEUES[1]: 7,
        }
        assert set(info.status_table) == {"T", "%RETRY%G"}
        assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
        assert info.properties["consumeThreadMin"] == "20"
        assert "test_broker_requests" in (info.jstack or "")


async def test_positions_in_memory_are_told() -> None:
    async with consuming_both_queues() as (_, client, consumer):
        consumer.offsets.update(QUEUES[0], 3, increase_only=True)
        header = GetConsumerStatus(topic="T", group="G")
        answer = await ask(client, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
        body = GetConsumerStatusBody.decode(answer.body)
        assert body.message_queue_table == {QUEUES[0]: 3}


async def test_a_reset_moves_the_queues_it_names_and_begins_them_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broker_requests, "RESET_PAUSE_S", 0.0)

    async with consuming_both_queues() as (fake, client, consumer):
        consumer.offsets.update(QUEUES[0], 30, increase_only=True)
        body = ResetOffsetBody(offset_table={QUEUES[0]: 4})
        header = ResetOffset(topic="T", group="G", timestamp=0, is_force=True)
        request = Command.request(
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body=body.encode(), oneway=True
        )
        await client.members.answer("a:1", request)
        await until(lambda: bool(fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)))
        told = fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)[0]
        assert (told.ext["queueId"], told.ext["commitOffset"]) == ("0", "4")
        await until(lambda: consumer.assignment() == QUEUES)


async def test_one_message_is_consumed_directly() -> None:
    async with consuming_both_queues() as (_, client, _):
        header = ConsumeMessageDirectly(
            consumer_group="G", client_id=client.client_id, msg_id="", broker_name="broker-0"
        )
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        answer = await ask(client, code, header, body=record("T", b"x"))
        assert ConsumeMessageDirectlyResult.decode(answer.body).consume_result == (
            CMResult.CR_SUCCESS
        )
        answer = await ask(client, code, header)
        assert answer.code == ResponseCode.SYSTEM_ERROR


async def test_unsubscribing_while_running_gives_the_queues_up_and_keeps_positions() -> None:
    async with consuming_both_queues() as (fake, _, consumer):
        consumer.offsets.update(QUEUES[1], 9, increase_only=True)
        consumer.unsubscribe("T")
        await until(lambda: consumer.assignment() == [])
        await until(lambda: bool(fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)))
        kept = fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)
        assert [(each.ext["queueId"], each.ext["commitOffset"]) for each in kept] == [("1", "9")]
        consumer.subscribe("T")
        await until(lambda: consumer.assignment() == QUEUES)
