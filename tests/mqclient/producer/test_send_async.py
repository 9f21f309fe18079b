"""Asynchronous sends: which of them are tried again, and how often."""

import asyncio
import itertools

import pytest

from mqclient.client.instance import MQClient
from mqclient.errors import BadRequest, BrokerRefused, TimedOut, Unreachable
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.queue_selector import by_hash
from mqclient.producer.send_result import SendResult, SendStatus
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.command import Command
from tests.mqclient.fake import STORED, FakeServer, serving
from tests.waiting import until

SEND = RequestCode.SEND_MESSAGE_V2
MESSAGE = Message("T", b"x")
AS_JAVA = ProducerSettings(retry_backoff_ms=0)


def stored(request: Command) -> Command:
    """Answer as a broker does."""
    answer = request.response()
    answer.ext = {
        "queueId": request.ext["e"],
        "TRACE_ON": "false",
        "MSG_REGION": "East",
        "msgId": STORED.msg_id,
        "queueOffset": "5",
    }
    return answer


async def connected(fake: FakeServer, client: MQClient, **settings: int) -> Producer:
    """Return a producer whose connection stands; the next answers are still to be told."""
    fake.do(SEND, stored)
    producer = Producer(client, settings=ProducerSettings(**settings))  # type: ignore[arg-type]
    await producer.send(MESSAGE)
    fake.asked.clear()
    return producer


def assert_each_at_the_other_broker(fake: FakeServer, count: int) -> None:
    brokers = [request.ext["n"] for request in fake.asked_for(SEND)]
    assert len(brokers) == count
    assert all(one != other for one, other in itertools.pairwise(brokers))


async def test_it_goes_on_at_once_and_the_future_has_the_result() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.say(SEND, header=STORED)
        done: list[asyncio.Future[SendResult]] = []

        tasks = [Producer(client).send_async(MESSAGE) for _ in range(3)]
        tasks[0].add_done_callback(done.append)
        assert fake.asked_for(SEND) == []
        results = await asyncio.gather(*tasks)

        assert [each.queue_offset for each in results] == [5, 5, 5]
        assert done == tasks[:1]
        with pytest.raises(BadRequest, match="no body"):
            Producer(client).send_async(Message("T", b""))


@pytest.mark.parametrize(("retries", "count"), [(0, 1), (1, 2), (2, 3)])
async def test_it_is_tried_again_so_often_where_no_broker_answered(
    retries: int, count: int
) -> None:
    async with serving(brokers=2) as (fake, client):
        settings = ProducerSettings(
            retry_times_when_send_async_failed=retries, retry_times_when_send_failed=7
        )
        fake.drop(SEND)
        with pytest.raises(Unreachable):
            await Producer(client, settings=settings).send_async(MESSAGE)
        assert_each_at_the_other_broker(fake, count)


async def test_a_refusal_is_an_answer_and_not_tried_again_by_the_rule_of_java() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.say(SEND, 14, remark="disk full")
        with pytest.raises(BrokerRefused):
            await Producer(client, settings=AS_JAVA).send_async(MESSAGE)
        assert len(fake.asked_for(SEND)) == 1


async def test_a_broker_that_restarts_gets_all_messages_when_it_is_back() -> None:
    async with serving() as (fake, client):
        producer = await connected(fake, client, retry_backoff_ms=1)
        for _ in range(20):
            fake.say(SEND, 1, remark="not yet")
        fake.do(SEND, stored)
        await producer.send(MESSAGE)

        results = await asyncio.gather(*(producer.send_async(MESSAGE) for _ in range(10)))

        assert {result.status for result in results} == {SendStatus.SEND_OK}
        assert len({result.unique_key for result in results}) == 10


async def test_stored_but_not_safe_is_a_result_whatever_the_settings() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.say(SEND, 10, header=STORED)
        settings = ProducerSettings(retry_another_broker_when_not_store_ok=True)
        result = await Producer(client, settings=settings).send_async(MESSAGE)
        assert (result.status, len(fake.asked_for(SEND))) == (SendStatus.FLUSH_DISK_TIMEOUT, 1)


async def test_a_chosen_queue_is_tried_again_as_well() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.drop(SEND)
        fake.say(SEND, header=STORED)
        queue = MessageQueue("T", "broker-0", 1)
        result = await Producer(client).send_async(MESSAGE, queue=queue)
        assert result.queue == queue
        assert [(request.ext["n"], request.ext["e"]) for request in fake.asked_for(SEND)] == [
            ("broker-0", "1")
        ] * 2


async def test_the_time_limit_holds_for_all_tries_together() -> None:
    async with serving(brokers=2) as (fake, client):
        with pytest.raises(TimedOut):
            await Producer(client).send_async(MESSAGE, timeout_s=0.05)
        assert len(fake.asked_for(SEND)) <= 1


async def test_shutdown_waits_for_what_is_on_its_way() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.say(SEND, header=STORED)
        fake.take_members()
        async with Producer(client) as producer:
            task = producer.send_async(MESSAGE)
        assert task.done()


async def test_on_a_standing_connection_no_task_is_needed() -> None:
    async with serving(brokers=2) as (fake, client):
        producer = await connected(fake, client)
        tasks = asyncio.all_tasks()
        sent = [producer.send_async(MESSAGE) for _ in range(8)]
        assert asyncio.all_tasks() == tasks

        results = await asyncio.gather(*sent)

        asked = fake.asked_for(SEND)
        for result, request in zip(results, asked, strict=True):
            key = f"UNIQ_KEY\1{result.unique_key}"
            assert key in request.ext["i"].split("\2")
            where = MessageQueue("T", request.ext["n"], int(request.ext["e"]))
            assert result == SendResult(
                SendStatus.SEND_OK, result.unique_key, STORED.msg_id, where, 5, "", "East", False
            )
        assert len({result.unique_key for result in results}) == 8
        assert len({result.queue for result in results}) == 4


async def test_the_broker_may_store_in_another_queue() -> None:
    async with serving(brokers=2) as (fake, client):
        producer = await connected(fake, client)
        result = await producer.send_async(MESSAGE, queue=MessageQueue("T", "broker-0", 7))
        assert result.queue.queue_id == 7
        fake.say(SEND, header=STORED)
        await producer.send(MESSAGE)
        assert (
            await producer.send(MESSAGE, queue=MessageQueue("T", "broker-0", 0))
        ).queue == MessageQueue("T", "broker-0", 1)


@pytest.mark.parametrize("retries", [0, 2])
async def test_tries_after_one_on_a_standing_connection(retries: int) -> None:
    async with serving(brokers=2) as (fake, client):
        producer = await connected(fake, client, retry_times_when_send_async_failed=retries)
        fake.drop(SEND)
        await producer.send(MESSAGE)
        fake.asked.clear()
        with pytest.raises(Unreachable, match="ended before the answer"):
            await producer.send_async(MESSAGE)
        assert_each_at_the_other_broker(fake, retries + 1)


async def test_a_later_try_gives_the_future_its_result() -> None:
    async with serving(brokers=2) as (fake, client):
        producer = await connected(fake, client)
        fake.drop(SEND)
        fake.do(SEND, stored)
        await producer.send(MESSAGE)
        fake.asked.clear()
        result = await producer.send_async(MESSAGE)
        await producer.shutdown()
        assert (result.queue_offset, len(fake.asked_for(SEND))) == (5, 2)


async def test_errors_on_a_standing_connection_are_those_of_any_send() -> None:
    async with serving(brokers=2) as (fake, client):
        producer = await connected(fake, client)
        for message in (
            Message("T", b"x", tags="\ud800"),
            Message("T", b"x", properties={"name": "\ud800"}),
        ):
            with pytest.raises(BadRequest, match="UTF-8"):
                producer.send_async(message)
            with pytest.raises(BadRequest, match="UTF-8"):
                await producer.send(message)
        with pytest.raises(BadRequest, match="for a queue of topic U"):
            await producer.send_async(MESSAGE, queue=MessageQueue("U", "broker-0", 0))
        fake.say(SEND, 13, remark="too large")
        fake.do(SEND, lambda request: None)
        await producer.send_async(MESSAGE)
        with pytest.raises(BrokerRefused, match="too large"):
            await producer.send_async(MESSAGE)
        for send in (producer.send, producer.send_async):
            with pytest.raises(TimedOut, match=r"in 0\.05 s"):
                await send(MESSAGE, timeout_s=0.05)


async def test_a_cancelled_send_wants_no_answer_and_no_other_try() -> None:
    # The one that nobody answered, the one whose connection ended, and its second try.
    async with serving(brokers=2) as (fake, client):
        producer = await connected(fake, client)
        fake.do(SEND, lambda request: None)
        fake.drop(SEND)
        fake.do(SEND, stored)
        await producer.send(MESSAGE)
        fake.asked.clear()
        given_up = producer.send_async(MESSAGE)
        given_up.cancel()
        await producer.send(MESSAGE)
        await producer.shutdown()
        assert given_up.cancelled()
        assert len(fake.asked_for(SEND)) == 3


async def test_it_goes_to_the_queue_that_its_key_or_its_sender_chooses() -> None:
    async with serving(brokers=2) as (fake, client):
        fake.do(SEND, stored)
        producer = Producer(client)
        queues = await producer.queues("T")
        by_key = [producer.send_async(MESSAGE, sharding_key=f"k{number}") for number in range(8)]
        last = producer.send_async(MESSAGE, select=lambda queues, message: queues[-1])
        await producer.shutdown()

        for number, future in enumerate(by_key):
            assert future.result().queue == by_hash(queues, f"k{number}")
        assert len({future.result().queue for future in by_key}) > 1
        assert last.result().queue == queues[-1]


async def test_a_choice_that_cannot_be_is_an_error_of_the_future() -> None:
    async with serving(brokers=2) as (_, client):
        producer = Producer(client)
        nothing = producer.send_async(MESSAGE, select=lambda queues, message: None)  # type: ignore[arg-type,return-value]
        with pytest.raises(BadRequest, match="not a queue of topic T"):
            await nothing
        with pytest.raises(BadRequest, match="exclude each other"):
            await producer.send_async(MESSAGE, queue=MessageQueue("T", "b", 0), sharding_key="k")


async def test_a_chosen_queue_is_tried_again_where_no_broker_answered() -> None:
    async with serving(brokers=2) as (fake, client):
        producer = Producer(client)
        queues = await producer.queues("T")
        fake.drop(SEND)
        fake.do(SEND, stored)
        result = await producer.send_async(MESSAGE, sharding_key="k")

        assert result.queue == by_hash(queues, "k")
        assert len({request.ext["e"] for request in fake.asked_for(SEND)}) == 1
        assert len(fake.asked_for(SEND)) == 2


async def test_as_many_are_under_way_as_the_setting_allows() -> None:
    async with serving() as (fake, client):
        held: list[Command] = []
        fake.do(SEND, held.append)
        producer = Producer(client, settings=ProducerSettings(max_in_flight=2))
        first = await producer.send_soon(MESSAGE)
        await producer.send_soon(MESSAGE)
        waiting = asyncio.ensure_future(producer.send_soon(MESSAGE))
        await until(lambda: len(held) == 2)
        assert not waiting.done()

        first.cancel()
        last = await waiting

        assert not last.done()
        await until(lambda: len(held) == 3)
        last.cancel()


async def test_a_message_that_is_refused_takes_no_place() -> None:
    async with serving() as (fake, client):
        fake.do(SEND, stored)
        producer = Producer(client, settings=ProducerSettings(max_in_flight=1))
        with pytest.raises(BadRequest, match="no body"):
            await producer.send_soon(Message("T", b""))
        for _ in range(3):
            await (await producer.send_soon(MESSAGE))
