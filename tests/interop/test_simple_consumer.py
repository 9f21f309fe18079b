"""Our simple consumer on the real 5.4.0 broker and on ours, and on one that does not know POP."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.producer import TOPIC
from mqclient.blocking.client import BlockingSimpleConsumer
from mqclient.client.instance import MQClient
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.consumer.subscription import SQL92
from mqclient.errors import BrokerRefused, NoRoute
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.codes import LaterCode
from remoting.headers.pop import PollingInfo, PollingInfoResponse
from remoting.receipt import NORMAL, RETRY_V1, decode_receipt
from tests.interop.kit.our_clients import await_registered, blocking, connected, make_topic
from tests.interop.kit.servers import Broker, Namesrv, Servers
from tests.mqadmin.commands.offline import run as run_store
from tests.programs import python
from tests.waiting import TIMEOUT_S, eventually

FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
HIDDEN_MS = 60_000


@pytest.fixture(params=["five", "ours"])
def pair(request: pytest.FixtureRequest) -> Servers:
    """Return a name server and a broker: of 5.4.0, then ours."""
    if request.param == "five":
        found: Servers = request.getfixturevalue("five_pair")
        return found
    namesrv = request.getfixturevalue("our_namesrv")
    return Servers("ours", namesrv, request.getfixturevalue("our_broker"))


@pytest.fixture
def topic(request: pytest.FixtureRequest, pair: Servers) -> str:
    """Return a topic of this test alone, with four queues."""
    name = f"{request.function.__name__[5:30]}_{uuid.uuid4().hex[:6]}"
    make_topic(pair, name, 4)
    return name


@asynccontextmanager
async def consuming(
    servers: Servers, topic: str, expression: str = "*", **more: object
) -> AsyncIterator[tuple[MQClient, SimpleConsumer]]:
    """Yield a client, and a consumer of a topic from its first message on."""
    async with connected(servers.namesrv.address) as client:
        settings: dict[str, object] = {"consume_from_where": FIRST, **more}
        kind = str(settings.pop("kind", "TAG"))
        group = str(settings.pop("group", f"G_{topic}"))
        async with SimpleConsumer(client, group, **settings) as consumer:  # type: ignore[arg-type]
            consumer.subscribe(topic, expression, kind=kind)
            yield client, consumer


async def receive(
    consumer: SimpleConsumer, count: int, *, invisible_ms: int = HIDDEN_MS
) -> list[MessageExt]:
    """Return so many messages once they are there."""
    found: list[MessageExt] = []
    async with asyncio.timeout(TIMEOUT_S):
        while len(found) < count:
            found += await consumer.receive(invisible_ms=invisible_ms, wait_ms=5_000)
    return found


async def test_messages_of_every_queue_are_received_and_acknowledged(
    pair: Servers, topic: str
) -> None:
    async with consuming(pair, topic) as (client, consumer):
        producer = Producer(client)
        for number in range(12):
            queue = MessageQueue(topic, pair.broker.name, number % 4)
            await producer.send(Message(topic, b"%d" % number, tags="A"), queue=queue)

        found = await receive(consumer, 12)
        hidden = await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=0)
        for message in found:
            await consumer.ack(message)

    assert sorted(int(message.body) for message in found) == list(range(12))
    assert {message.queue_id for message in found} == {0, 1, 2, 3}
    assert hidden == []
    for message in found:
        handle = decode_receipt(message.receipt or "")
        assert (handle.queue_id, handle.queue_offset) == (message.queue_id, message.queue_offset)
        assert (handle.topic_kind, handle.invisible_ms) == (NORMAL, HIDDEN_MS)
        assert handle.broker_name == pair.broker.name
        assert message.properties["1ST_POP_TIME"] == str(handle.pop_time_ms)


async def test_what_is_not_acknowledged_comes_again_from_the_retry_topic(
    pair: Servers, topic: str
) -> None:
    async with consuming(pair, topic) as (client, consumer):
        await Producer(client).send(Message(topic, b"once", keys=["k"]))
        (first,) = await receive(consumer, 1, invisible_ms=1_000)
        (again,) = await receive(consumer, 1, invisible_ms=1_000)
        (third,) = await receive(consumer, 1)
        await consumer.ack(third)
        after = await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=3_000)

    assert [first.reconsume_times, again.reconsume_times, third.reconsume_times] == [0, 1, 2]
    assert {message.body for message in (first, again, third)} == {b"once"}
    assert {message.unique_key for message in (first, again, third)} == {first.unique_key}
    assert (again.topic, third.topic) == (topic, topic)
    assert decode_receipt(again.receipt or "").topic_kind == RETRY_V1
    assert after == []


async def test_the_store_tool_names_the_checkpoint_of_what_came_again(
    pair: Servers, topic: str
) -> None:
    async with consuming(pair, topic) as (client, consumer):
        await Producer(client).send(Message(topic, b"once"))
        (first,) = await receive(consumer, 1, invisible_ms=1_000)
        await receive(consumer, 1)

    handle = decode_receipt(first.receipt or "")
    rows = run_store("store", "pop", pair.broker.store, "--group", f"G_{topic}").rows
    of_pop = [row for row in rows if row["pop_ms"] == handle.pop_time_ms]
    (row,) = (row for row in of_pop if row["kind"] == "checkpoint")
    assert (row["topic"], row["queue_id"]) == (topic, first.queue_id)
    assert (row["queue_offsets"], row["invisible_ms"]) == ([first.queue_offset], 1_000)
    assert row["revive_queue_id"] == handle.revive_queue_id


async def test_a_changed_invisible_time_holds_and_gives_a_new_handle(
    pair: Servers, topic: str
) -> None:
    async with consuming(pair, topic) as (client, consumer):
        await Producer(client).send(Message(topic, b"later"))
        (message,) = await receive(consumer, 1, invisible_ms=HIDDEN_MS)
        old = message.receipt
        new = await consumer.change_invisible_time(message, 2_000)
        (again,) = await receive(consumer, 1, invisible_ms=2_000)
        longer = await consumer.change_invisible_time(again.receipt or "", 30_000, topic=topic)
        await consumer.ack(longer, topic=topic)
        after = await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=4_000)

    assert new != old
    assert message.receipt == new
    assert decode_receipt(new).invisible_ms == 2_000
    assert (again.body, again.reconsume_times) == (b"later", 1)
    assert after == []


@pytest.mark.parametrize(
    ("expression", "kind"), [("A || C", "TAG"), ("age > 15 AND age <> 20", SQL92)]
)
async def test_filters_pass_over_the_other_messages(
    pair: Servers, topic: str, expression: str, kind: str
) -> None:
    async with consuming(pair, topic, expression, kind=kind) as (client, consumer):
        producer = Producer(client)
        for tag, age in (("A", 16), ("B", 20), ("C", 30), ("B", 10)):
            await producer.send(
                Message(topic, tag.encode(), tags=tag, properties={"age": str(age)})
            )
        found = await receive(consumer, 2)
        others = await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=0)

    assert sorted(message.body for message in found) == [b"A", b"C"]
    assert others == []


async def test_a_waiting_receive_gets_the_message_that_is_sent_meanwhile(
    pair: Servers, topic: str
) -> None:
    other = f"{topic}_b"
    make_topic(pair, other, 2)
    for topics in ((topic,), (topic, other)):
        async with consuming(pair, topic, group=f"G{len(topics)}_{topic}") as (
            client,
            consumer,
        ):
            for one in topics:
                consumer.subscribe(one)
            # The group begins behind what is there, so its offsets exist before the send.
            while old := await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=0):
                for message in old:
                    await consumer.ack(message)
            waiting = asyncio.create_task(consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=60_000))
            await asyncio.sleep(0)
            await Producer(client).send(Message(topics[-1], b"new"))
            async with asyncio.timeout(30):
                found = await waiting

        assert [(message.topic, message.body) for message in found] == [(topics[-1], b"new")]


async def test_a_cancelled_receive_loses_no_message(pair: Servers, topic: str) -> None:
    async with consuming(pair, topic) as (client, consumer):
        waiting = asyncio.create_task(consumer.receive(invisible_ms=2_000, wait_ms=60_000))
        await held(client, pair, topic)
        waiting.cancel()
        await Producer(client).send(Message(topic, b"kept"))
        (message,) = await receive(consumer, 1)

    assert message.body == b"kept"


async def held(client: MQClient, servers: Servers, topic: str) -> None:
    """Return once the broker holds a pop of this test's group."""
    header = PollingInfo(consumer_group=f"G_{topic}", topic=topic, queue_id=-1)

    async def count() -> int:
        answer = await client.call(
            servers.broker.address, LaterCode.POLLING_INFO, header, what="held pops"
        )
        return answer.header(PollingInfoResponse).polling_num

    await eventually(count, lambda number: number == 1)


async def test_an_ordered_consumer_holds_a_queue_until_its_messages_are_acknowledged(
    pair: Servers, topic: str
) -> None:
    async with consuming(pair, topic, order=True) as (client, consumer):
        queue = MessageQueue(topic, pair.broker.name, 1)
        for number in range(3):
            await Producer(client).send(Message(topic, b"%d" % number), queue=queue)
        first = await consumer.receive(1, invisible_ms=HIDDEN_MS, wait_ms=5_000)
        held = await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=0)
        await consumer.ack(first[0])
        rest = await receive(consumer, 2)

    assert [message.body for message in first] == [b"0"]
    assert held == []
    assert [message.body for message in rest] == [b"1", b"2"]
    assert decode_receipt(first[0].receipt or "").is_ordered


async def test_a_message_that_came_too_often_goes_to_the_dead_letter_queue(
    pair: Servers, topic: str
) -> None:
    dead = MessageQueue(f"%DLQ%G_{topic}", pair.broker.name, 0)
    async with consuming(pair, topic, max_reconsume_times=0) as (client, consumer):
        await Producer(client).send(Message(topic, b"bad"))
        await receive(consumer, 1, invisible_ms=1_000)

        async def dead_count() -> int:
            assert await consumer.receive(invisible_ms=HIDDEN_MS, wait_ms=500) == []
            try:
                return await consumer.max_offset(dead)
            except NoRoute:
                return 0

        count = await eventually(dead_count)

    assert count == 1


async def test_a_second_broker_is_received_from_and_a_lost_one_does_not_stop_the_other(
    pair: Servers, topic: str, tmp_path: Path
) -> None:
    side, namesrv, own = pair.broker.side, pair.namesrv.address, {"brokerName": "broker-b"}
    with Broker(side, store=tmp_path / "second", namesrv=namesrv, settings=own) as second:
        both = pair._replace(broker=second)
        # The calls of the blocking client wait, which the loop of this test may not.
        await asyncio.to_thread(await_registered, both)
        await asyncio.to_thread(make_topic, both, topic, 2)
        async with consuming(pair, topic) as (client, consumer):
            for name in ("broker-a", "broker-b"):
                await Producer(client).send(
                    Message(topic, name.encode()), queue=MessageQueue(topic, name, 0)
                )
            found = await receive(consumer, 2)
            for message in found:
                await consumer.ack(message)
            second.kill()
            await Producer(client).send(
                Message(topic, b"last"), queue=MessageQueue(topic, "broker-a", 1)
            )
            last = await receive(consumer, 1)

    assert sorted((message.body, message.broker_name) for message in found) == [
        (b"broker-a", "broker-a"),
        (b"broker-b", "broker-b"),
    ]
    assert [message.body for message in last] == [b"last"]


def test_the_blocking_consumer_does_the_same(pair: Servers, topic: str) -> None:
    with blocking(pair) as client:
        group = f"G_{topic}"
        with BlockingSimpleConsumer(client, group, consume_from_where=FIRST) as consumer:
            client.send(Message(topic, b"one", tags="A"))
            consumer.subscribe(topic, "A")
            found: list[MessageExt] = []
            while not found:
                found = consumer.receive(1, invisible_ms=HIDDEN_MS)
            consumer.change_invisible_time(found[0], 30_000)
            consumer.ack(found[0])
        with client.simple_consumer(group, {topic: "*"}) as again:
            assert again.receive(invisible_ms=HIDDEN_MS, wait_ms=0) == []

    assert [message.body for message in found] == [b"one"]


def test_the_example_prints_what_was_sent(pair: Servers) -> None:
    make_topic(pair, TOPIC, 4)
    with blocking(pair) as client:
        for number in range(3):
            client.send(Message(TOPIC, b"order %d" % number, tags="new"))

    done = python("-m", "examples.simple_consumer", pair.namesrv.address, "3")

    assert sorted(done.stdout.splitlines()) == ["order 0", "order 1", "order 2"]


def test_a_broker_without_pop_is_named(java_namesrv: Namesrv, java_broker: Broker) -> None:
    servers = Servers("java", java_namesrv, java_broker)
    make_topic(servers, "WithoutPop", 1)
    with (
        blocking(servers) as client,
        client.simple_consumer("G", {"WithoutPop": "*"}) as consumer,
        pytest.raises(BrokerRefused, match=r"broker-a at .* does not know POP") as caught,
    ):
        consumer.receive(invisible_ms=HIDDEN_MS)

    assert caught.value.code == 3
    assert "RocketMQ 5" in caught.value.hint
