"""After its shutdown nothing is sent, asked or started."""

from collections.abc import Awaitable, Callable

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.errors import BadRequest
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.transaction_producer import TransactionProducer
from remoting.bodies import MessageQueue

MESSAGE = Message("T", b"x")
QUEUE = MessageQueue("T", "b", 0)


async def answered(call: Callable[[], object]) -> None:
    answer = call()
    if isinstance(answer, Awaitable):
        await answer


Use = Callable[[MQClient], tuple[object, list[Callable[[], object]]]]


def of_producer(client: MQClient) -> tuple[Producer, list[Callable[[], object]]]:
    producer = TransactionProducer(client, "G", object())  # type: ignore[arg-type]
    return producer, [
        lambda: producer.send(MESSAGE),
        lambda: producer.send_async(MESSAGE),
        lambda: producer.send_batch([MESSAGE]),
        lambda: producer.send_oneway(MESSAGE),
        lambda: producer.max_offset(QUEUE),
        producer.start,
    ]


def of_push(client: MQClient) -> tuple[PushConsumer, list[Callable[[], object]]]:
    consumer = PushConsumer(client, "G")
    consumer.register_message_listener(lambda messages, context: None)  # type: ignore[arg-type,return-value]
    return consumer, [
        lambda: consumer.subscribe("T"),
        consumer.suspend,
        consumer.resume,
        lambda: consumer.search_offset(QUEUE, 0),
        consumer.start,
    ]


def of_lite(client: MQClient) -> tuple[LitePullConsumer, list[Callable[[], object]]]:
    consumer = LitePullConsumer(client, "G")
    return consumer, [
        lambda: consumer.subscribe("T"),
        consumer.poll,
        consumer.commit,
        lambda: consumer.seek(QUEUE, 0),
        consumer.start,
    ]


def of_pull(client: MQClient) -> tuple[PullConsumer, list[Callable[[], object]]]:
    consumer = PullConsumer(client, "G")
    return consumer, [
        lambda: consumer.pull(QUEUE, queue_offset=0),
        lambda: consumer.commit(QUEUE, 0),
        lambda: consumer.queues("T"),
    ]


def of_simple(client: MQClient) -> tuple[SimpleConsumer, list[Callable[[], object]]]:
    consumer = SimpleConsumer(client, "G")
    return consumer, [
        lambda: consumer.subscribe("T"),
        lambda: consumer.receive(invisible_ms=60_000),
        lambda: consumer.ack("0 5 60000 0 0 b 0 0", topic="T"),
        lambda: consumer.change_invisible_time("0 5 60000 0 0 b 0 0", 60_000, topic="T"),
    ]


def of_admin(client: MQClient) -> tuple[Admin, list[Callable[[], object]]]:
    admin = Admin(client)
    return admin, [
        admin.topic_list,
        lambda: admin.topic_route("T"),
        lambda: admin.max_offset(QUEUE),
    ]


@pytest.mark.parametrize("use", [of_producer, of_push, of_lite, of_pull, of_simple, of_admin])
async def test_after_a_with_block_everything_is_refused(use: Use) -> None:
    async with MQClient("127.0.0.1:1") as client:
        own, calls = use(client)
        assert isinstance(
            own,
            Producer | PushConsumer | LitePullConsumer | PullConsumer | SimpleConsumer | Admin,
        )
        async with own as same:
            assert same is own
        await own.shutdown()
        for call in calls:
            with pytest.raises(BadRequest, match="was shut down"):
                await answered(call)
