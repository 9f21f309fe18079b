"""Settings that are given have the effect that their names promise."""

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull import pull_message_service
from mqclient.consumer.pull.poll_buffer import PollBuffer
from mqclient.consumer.pull.pull_message_service import PullMessageService
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.consumer.subscription import Subscription, TopicSubscription
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import QueryConsumerOffsetResponse
from tests.mqclient.consuming import QUEUE, consuming
from tests.mqclient.fake import NOW_MS, STORED, FakeServer, pulled, record
from tests.waiting import until

SEND = RequestCode.SEND_MESSAGE_V2
PULL = RequestCode.PULL_MESSAGE


@pytest.mark.parametrize(("posted", "expression"), [(False, None), (True, "A || B")])
async def test_post_subscription_when_pull(
    fake: FakeServer, posted: bool, expression: str | None
) -> None:
    async with fake.client() as client:
        fake.route("T")
        inside = consuming(client, PushSettings(post_subscription_when_pull=posted))
        held = ProcessQueue(QUEUE, next_offset=5, now_ms=NOW_MS)
        inside.process_queues[QUEUE] = held
        inside.subscriptions["T"] = TopicSubscription.of(
            "T", Subscription.parse("A || B"), version=1
        )
        polled = PollBuffer(inside, auto_commit=False)
        pulls = PullMessageService(inside, polled, from_ms=0)
        pulls.start_reading(held)
        await until(lambda: bool(fake.asked_for(PULL)))
        pulls.stop()
        inside.tasks.cancel()
    (request,) = fake.asked_for(PULL)
    assert request.ext.get("subscription") == expression
    assert bool(int(request.ext["sysFlag"]) & 4) is posted


@pytest.mark.parametrize(
    "settings", [LitePullSettings(pull_threshold_for_all=1), LitePullSettings(consume_max_span=5)]
)
async def test_pull_threshold_for_all_and_consume_max_span(
    settings: LitePullSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_message_service, "FLOW_CONTROL_S", 0.0001)

    async with FakeServer() as fake:
        fake.route("T")
        fake.take_members()
        at = QueryConsumerOffsetResponse(offset=0)
        fake.say(RequestCode.QUERY_CONSUMER_OFFSET, header=at)
        body = record("T", b"0") + record("T", b"9", queue_offset=9)
        fake.say(PULL, header=pulled(10), body=body)
        fake.do(PULL, lambda request: None)
        async with fake.client() as client, LitePullConsumer(client, "G", settings) as consumer:
            await consumer.assign([QUEUE])
            await consumer.start()
            await until(lambda: consumer._pulls._held_back > 0)
            assert len(fake.asked_for(PULL)) == 1
            assert [message.body for message in await consumer.poll(60_000)] == [b"0", b"9"]
            await until(lambda: len(fake.asked_for(PULL)) == 2)


async def test_create_topic_key(fake: FakeServer) -> None:
    fake.route("MODEL", queues=3)
    fake.say(SEND, header=STORED)
    async with fake.client() as client:
        settings = ProducerSettings(create_topic_key="MODEL", default_topic_queue_nums=2)
        producer = Producer(client, settings=settings)
        await producer.send(Message("New", b"x"))
        assert len(await producer.queues("New")) == 2
    (request,) = fake.asked_for(SEND)
    assert (request.ext["b"], request.ext["c"], request.ext["d"]) == ("New", "MODEL", "2")


@pytest.mark.parametrize("keeps_away", [False, True])
async def test_send_latency_fault_enable(fake: FakeServer, keeps_away: bool) -> None:
    fake.route("T", brokers=2)
    now_ms = NOW_MS

    def late(request: Command) -> Command:
        nonlocal now_ms
        now_ms += 600
        return request.response(header=STORED)

    fake.do(SEND, late)
    fake.say(SEND, header=STORED)
    client = MQClient(fake.address, timeout_s=60, clock_ms=lambda: now_ms)
    settings = ProducerSettings(send_latency_fault_enable=keeps_away)
    producer = Producer(client, "G", settings)
    async with client:

        async def sent_to() -> MessageQueue:
            return (await producer.send(Message("T", b"x"))).queue

        first = (await sent_to()).broker_name
        brokers = [(await sent_to()).broker_name for _ in range(8)]
    assert (first not in brokers) is keeps_away
