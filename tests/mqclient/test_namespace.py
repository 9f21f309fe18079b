"""Names with and without a namespace: in requests, and as the application sees them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.errors import BadRequest
from mqclient.message import Message, MessageExt
from mqclient.namespace import unwrap, wrap
from mqclient.producer.producer import Producer
from mqclient.producer.transaction_producer import LocalTransactionState, TransactionProducer
from mqclient.trace.message_trace import MessageTrace
from mqserver.pytest_plugin import RocketMQ
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.codes import RequestCode
from storefmt.formats.properties import INSTANCE_ID, parse_properties
from tests.mqclient.fake import STORED, FakeServer
from tests.waiting import eventually, until

TENANT = ClientSettings(namespace="N")
FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


@pytest.mark.parametrize(
    ("bare", "wrapped"),
    [
        ("T", "N%T"),
        ("N", "N%N"),
        ("M%T", "N%M%T"),
        ("%RETRY%G", "%RETRY%N%G"),
        ("%DLQ%G", "%DLQ%N%G"),
        ("C_REPLY_TOPIC", "N%C_REPLY_TOPIC"),
        ("TBW102", "TBW102"),
        ("RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRACE_TOPIC"),
        ("rmq_sys_any", "rmq_sys_any"),
        ("CID_RMQ_SYS_any", "CID_RMQ_SYS_any"),
        ("", ""),
    ],
)
def test_names_are_wrapped_and_unwrapped_as_by_namespace_util(bare: str, wrapped: str) -> None:
    assert wrap("N", bare) == wrap("N", wrapped) == wrapped
    assert unwrap("N", wrapped) == unwrap("N", bare) == bare
    assert wrap("", bare) == unwrap("", bare) == bare
    assert wrap("", wrapped) == unwrap("", wrapped) == wrapped


async def test_sends_travel_with_the_namespace_and_their_results_are_without() -> None:
    chosen = MessageQueue("T", "broker-0", 1)
    seen: list[tuple[Sequence[MessageQueue], str]] = []

    def select(queues: Sequence[MessageQueue], message: Message) -> MessageQueue:
        seen.append((queues, message.topic))
        return queues[1]

    async with FakeServer() as fake, fake.client(settings=TENANT, timeout_s=60) as client:
        fake.route("N%T")
        codes = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE
        for code in codes:
            fake.say(code, header=STORED)
        producer = Producer(client, "G")
        message = Message("T", b"x")
        results = [
            await producer.send(message, queue=chosen),
            await producer.send(message, queue=MessageQueue("N%T", "broker-0", 1)),
            await producer.send(message, select=select),
            await producer.send(Message("N%T", b"x"), sharding_key="k"),
            await producer.send_async(message),
            await producer.send_async(message, queue=chosen),
            await producer.send_batch([message, message]),
        ]
        await producer.send_oneway(message, queue=chosen)
        await until(lambda: sum(map(len, map(fake.asked_for, codes))) == 8)
        assert {result.queue for result in results} == {chosen}
        assert seen == [([MessageQueue("T", "broker-0", 0), chosen], "T")]
        for request in (each for code in codes for each in fake.asked_for(code)):
            assert (request.ext["a"], request.ext["b"]) == ("N%G", "N%T")
            assert parse_properties(request.ext["i"])[INSTANCE_ID] == "N"
        other = MessageQueue("Other", "broker-0", 0)
        for send in (producer.send, producer.send_async, producer.send_oneway):
            with pytest.raises(BadRequest, match="queue of topic Other"):
                await send(message, queue=other)


class Undecided:
    """A transaction that is decided when the broker asks."""

    def __init__(self) -> None:
        self.checked: list[str] = []

    async def execute_local_transaction(
        self, message: Message, arg: object
    ) -> LocalTransactionState:
        return LocalTransactionState.COMMIT_MESSAGE

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        self.checked.append(message.topic)
        return LocalTransactionState.COMMIT_MESSAGE


async def registered(client: MQClient, *topics: str) -> None:
    """Wait until the name server knows topics that a send has made."""
    await eventually(Admin(client).topic_list, lambda known: set(topics) <= set(known))


@asynccontextmanager
async def in_both_worlds(rocketmq: RocketMQ) -> AsyncIterator[tuple[MQClient, MQClient]]:
    """Run a client of the tenant and one of nobody."""
    async with (
        MQClient(rocketmq.namesrv, TENANT, timeout_s=60) as tenant,
        MQClient(rocketmq.namesrv, timeout_s=60) as plain,
    ):
        yield tenant, plain


async def test_a_listener_gets_the_tenants_messages_and_its_dead_letters_are_the_tenants(
    rocketmq: RocketMQ,
) -> None:
    got: list[MessageExt] = []
    places: list[str] = []
    settings = PushSettings(consume_from_where=FIRST, max_reconsume_times=0)

    async with in_both_worlds(rocketmq) as (tenant, plain):
        producer = Producer(tenant, "NsP")
        sent = await producer.send(Message("NsT", b"x", keys="k"))
        await Producer(plain).send(Message("NsT", b"of nobody"))
        await registered(plain, "NsT", "N%NsT")
        trace = MessageTrace(tenant, topic="NsTrace")
        async with PushConsumer(tenant, "NsG", settings) as consumer:
            consumer.subscribe("NsT")
            consumer.register_consume_hook(trace)

            @consumer.concurrently
            async def listen(
                messages: list[MessageExt], context: ConsumeConcurrentlyContext
            ) -> ConsumeConcurrentlyStatus:
                got.extend(messages)
                places.append(context.queue.topic)
                return ConsumeConcurrentlyStatus.RECONSUME_LATER

            await consumer.start()
            assert consumer.group == "N%NsG"
            await until(lambda: bool(got))
            dead = PullConsumer(tenant, "NsG")

            await registered(plain, "%DLQ%N%NsG")
            assert "N%NsT" in consumer._state.stats
            assert "NsT" not in consumer._state.stats
            (queue,) = await dead.queues("%DLQ%NsG")
            assert queue.topic == "%DLQ%NsG"

            async def found() -> list[MessageExt]:
                return (await dead.pull(queue, queue_offset=0)).messages

            (kept,) = await eventually(found)
        assert [(one.topic, one.body) for one in got] == [("NsT", b"x")]
        assert places == ["N%NsT"]
        assert (kept.topic, kept.body) == ("%DLQ%NsG", b"x")
        assert kept.properties[INSTANCE_ID] == "N"
        seen = await producer.view_message("NsT", sent.offset_msg_id)
        by_key = await eventually(lambda: producer.query_message("NsT", "k"))
        assert seen.topic == by_key[0].topic == "NsT"
        await trace.shutdown()
        await registered(plain, "NsTrace")
        reader = PullConsumer(plain, "NsG")
        traced = b""
        for queue in await reader.queues("NsTrace"):
            traced += b"".join(m.body for m in (await reader.pull(queue, queue_offset=0)).messages)
        assert b"SubBefore" in traced
        assert b"NsG" in traced
        assert b"N%" not in traced


async def test_polling_and_pulling_of_a_tenant(rocketmq: RocketMQ) -> None:
    async with in_both_worlds(rocketmq) as (tenant, plain):
        sent = await Producer(tenant).send(Message("NsLite", b"x"))
        await registered(plain, "N%NsLite")
        settings = LitePullSettings(consume_from_where=FIRST, auto_commit=False)
        async with LitePullConsumer(tenant, "NsL", settings) as consumer:
            await consumer.assign(await consumer.fetch_message_queues("NsLite"))
            await consumer.start()
            (message,) = await eventually(consumer.poll)
            assert (message.topic, message.body) == ("NsLite", b"x")
            await consumer.commit({sent.queue: 1})
            assert await consumer.committed(sent.queue) == 1
            consumer.pause([sent.queue])
            await consumer.seek_to_begin(sent.queue)
            assert await consumer.poll(0) == []
            consumer.resume([sent.queue])
            assert await eventually(consumer.poll) == [message]
            assert {queue.topic for queue in consumer.assignment()} == {"N%NsLite"}
        raw = MessageQueue("N%NsLite", sent.queue.broker_name, sent.queue.queue_id)
        assert await PullConsumer(plain, "N%NsL").committed(raw) == 1
        reader = PullConsumer(tenant, "NsL")
        await reader.commit(sent.queue, 0)
        assert await reader.committed(sent.queue) == 0
        assert await reader.max_offset(sent.queue) == 1
        assert (await reader.pull(sent.queue, queue_offset=0)).messages == [message]


async def test_transactions_and_requests_of_a_tenant(rocketmq: RocketMQ) -> None:
    async with (
        in_both_worlds(rocketmq) as (tenant, plain),
        Producer(tenant, "NsAsk") as asking,
        PushConsumer(tenant, "NsAnswer", PushSettings(consume_from_where=FIRST)) as consumer,
        TransactionProducer(tenant, "NsTx", Undecided()) as transactions,
    ):
        consumer.subscribe("NsQ")

        @consumer.concurrently
        async def listen(
            messages: list[MessageExt], context: ConsumeConcurrentlyContext
        ) -> ConsumeConcurrentlyStatus:
            for message in messages:
                await asking.reply(message, b"reply to " + message.body)
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        await consumer.start()
        reply = await asking.request(Message("NsQ", b"x"), timeout_s=90)
        assert reply.body == b"reply to x"
        result = await transactions.send_message_in_transaction(Message("NsHalf", b"half"))
        await registered(plain, "N%NsHalf")
        reader = PullConsumer(tenant, "NsAnswer")

        async def visible() -> list[MessageExt]:
            return (await reader.pull(result.sent.queue, queue_offset=0)).messages

        (message,) = await eventually(visible)
        assert (message.topic, message.properties["PGROUP"]) == ("NsHalf", "N%NsTx")
