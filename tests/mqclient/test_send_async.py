"""Sends that nobody waits for: which are tried again, and how often."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from mqclient.errors import BadRequest, BrokerRefused, TimedOut, Unreachable
from mqclient.instance import MQClient
from mqclient.message import Message
from mqclient.producer import Producer
from mqclient.producersettings import ProducerSettings
from mqclient.sent import SendResult, SendStatus
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode
from remoting.headers import SendMessageResponse
from tests.mqclient.fake import FakeServer

_T = TypeVar("_T")
SEND = RequestCode.SEND_MESSAGE_V2
STORED = SendMessageResponse(msg_id="7F00000100002A9F0000000000000000", queue_id=1, queue_offset=5)
MESSAGE = Message("T", b"x")


def run(act: Callable[[FakeServer, MQClient], Awaitable[_T]]) -> _T:
    async def go() -> _T:
        async with FakeServer() as fake:
            fake.route("T", brokers=2)
            async with fake.client(timeout_s=60.0) as client:
                return await act(fake, client)

    return asyncio.run(go())


def test_it_goes_on_at_once_and_the_task_has_the_result() -> None:
    async def act(fake: FakeServer, client: MQClient) -> None:
        fake.say(SEND, header=STORED)
        done: list[asyncio.Task[SendResult]] = []

        tasks = [Producer(client).send_async(MESSAGE) for _ in range(3)]
        tasks[0].add_done_callback(done.append)
        assert fake.asked_for(SEND) == []
        results = await asyncio.gather(*tasks)

        assert [each.queue_offset for each in results] == [5, 5, 5]
        assert done == tasks[:1]
        with pytest.raises(BadRequest, match="no body"):
            Producer(client).send_async(Message("T", b""))

    run(act)


@pytest.mark.parametrize(("retries", "count"), [(0, 1), (1, 2), (2, 3)])
def test_it_is_tried_again_so_often_where_no_broker_answered(retries: int, count: int) -> None:
    async def act(fake: FakeServer, client: MQClient) -> list[str]:
        settings = ProducerSettings(
            retry_times_when_send_async_failed=retries, retry_times_when_send_failed=7
        )
        fake.drop(SEND)
        with pytest.raises(Unreachable):
            await Producer(client, settings=settings).send_async(MESSAGE)
        return [request.ext["n"] for request in fake.asked_for(SEND)]

    brokers = run(act)

    assert len(brokers) == count
    # Each at the other broker.
    assert all(one != other for one, other in itertools.pairwise(brokers))


def test_a_refusal_is_an_answer_and_not_tried_again() -> None:
    async def act(fake: FakeServer, client: MQClient) -> int:
        fake.say(SEND, 14, remark="disk full")
        with pytest.raises(BrokerRefused):
            await Producer(client).send_async(MESSAGE)
        return len(fake.asked_for(SEND))

    assert run(act) == 1


def test_stored_but_not_safe_is_a_result_whatever_the_settings() -> None:
    async def act(fake: FakeServer, client: MQClient) -> tuple[SendStatus, int]:
        fake.say(SEND, 10, header=STORED)
        settings = ProducerSettings(retry_another_broker_when_not_store_ok=True)
        result = await Producer(client, settings=settings).send_async(MESSAGE)
        return result.status, len(fake.asked_for(SEND))

    assert run(act) == (SendStatus.FLUSH_DISK_TIMEOUT, 1)


def test_a_chosen_queue_is_tried_again_as_well() -> None:
    async def act(fake: FakeServer, client: MQClient) -> list[tuple[str, str]]:
        fake.drop(SEND)
        fake.say(SEND, header=STORED)
        queue = MessageQueue("T", "broker-0", 1)
        result = await Producer(client).send_async(MESSAGE, queue=queue)
        assert result.queue == queue
        return [(request.ext["n"], request.ext["e"]) for request in fake.asked_for(SEND)]

    assert run(act) == [("broker-0", "1")] * 2


def test_the_time_limit_holds_for_all_tries_together() -> None:
    async def act(fake: FakeServer, client: MQClient) -> int:
        with pytest.raises(TimedOut):
            await Producer(client).send_async(MESSAGE, timeout_s=0.05)
        return len(fake.asked_for(SEND))

    assert run(act) <= 1


def test_shutdown_waits_for_what_is_on_its_way() -> None:
    async def act(fake: FakeServer, client: MQClient) -> bool:
        fake.say(SEND, header=STORED)
        fake.say(RequestCode.HEART_BEAT)
        fake.say(RequestCode.UNREGISTER_CLIENT)
        async with Producer(client) as producer:
            task = producer.send_async(MESSAGE)
        return task.done()

    assert run(act)
