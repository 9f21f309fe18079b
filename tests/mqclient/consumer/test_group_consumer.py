"""Calls from other threads run in the event loop of a consumer; probes see its state."""

import asyncio
import threading

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.group_consumer import OwnLoop
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.errors import BadRequest
from mqclient.message import Message
from mqclient.producer.producer import Producer
from tests.mqclient.consuming import POLL_FROM_FIRST
from tests.waiting import eventually, until


def test_work_runs_at_once_before_there_is_a_loop_and_inside_of_it() -> None:
    own = OwnLoop()
    done: list[str] = []
    own.do(lambda: done.append("before"))

    async def go() -> None:
        own.enter()
        own.do(lambda: done.append("inside"))
        assert done == ["before", "inside"]

    asyncio.run(go())


def test_work_of_another_thread_runs_in_the_loop() -> None:
    async def go() -> None:
        own = OwnLoop()
        own.enter()
        came = asyncio.Event()
        threads: list[threading.Thread] = []

        def work() -> None:
            threads.append(threading.current_thread())
            came.set()

        await asyncio.to_thread(own.do, work)
        await came.wait()
        assert threads == [threading.current_thread()]

    asyncio.run(go())


def test_after_its_loop_nothing_is_done() -> None:
    own = OwnLoop()

    async def go() -> None:
        own.enter()

    asyncio.run(go())
    with pytest.raises(BadRequest, match="has ended"):
        own.do(lambda: None)


async def test_probes_say_when_a_broker_answered_last_and_what_is_left(client: MQClient) -> None:
    topic = "Probed"
    producer = Producer(client)
    for _ in range(3):
        await producer.send(Message(topic, b"x"), sharding_key="k")
    await eventually(Admin(client).topic_list, lambda topics: topic in topics)
    consumer = LitePullConsumer(client, "probed", POLL_FROM_FIRST)
    assert (consumer.is_running, consumer.last_poll_ms, consumer.lag()) == (False, None, {})

    async with consumer:
        consumer.subscribe(topic)
        await consumer.start()
        await until(lambda: sum(consumer.lag().values()) == 3)
        assert consumer.is_running
        assert consumer.last_poll_ms is not None
        assert 0 <= client.now_ms() - consumer.last_poll_ms < 60_000
        async for _ in consumer:
            break
        await consumer.commit()
        assert sum(consumer.lag().values()) == 2

    assert (consumer.is_running, consumer.lag()) == (False, {})
