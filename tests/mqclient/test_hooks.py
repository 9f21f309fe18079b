"""Hooks are called before and after, and an error of a hook changes nothing."""

import logging
from dataclasses import replace

import pytest

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.state.consume_hooks import ConsumeEvent, ConsumeHook, ConsumeReturnType
from mqclient.message import Message
from mqclient.producer.producer import Producer
from mqclient.producer.send_hooks import SendEvent, call_hooks
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.consuming import POLL_FROM_FIRST, QUEUE, polling
from tests.mqclient.fake import NOW_MS, STORED, serving
from tests.mqclient.recorded_hook import Recorded
from tests.waiting import eventually


class Raises:
    def consume_before(self, event: ConsumeEvent) -> None:
        raise ValueError("before")

    def consume_after(self, event: ConsumeEvent) -> None:
        raise ValueError("after")

    def send_before(self, event: SendEvent) -> None:
        raise ValueError("before")

    def send_after(self, event: SendEvent) -> None:
        raise ValueError("after")


class Notes:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def consume_before(self, event: ConsumeEvent) -> None:
        event.notes["mark"] = "1"

    def consume_after(self, event: ConsumeEvent) -> None:
        self.seen.append((event.notes["mark"], event.success))

    def send_before(self, event: SendEvent) -> None:
        event.notes["mark"] = event.out.topic

    def send_after(self, event: SendEvent) -> None:
        failed = None if event.error is None else event.error.code
        self.seen.append((event.notes["mark"], event.result is not None, failed))


def test_a_consume_hook_that_raises_is_logged_and_the_next_one_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notes = Notes()
    hooks: list[ConsumeHook] = [Raises(), notes]
    event = ConsumeEvent("G", QUEUE, [], NOW_MS)

    with caplog.at_level(logging.ERROR):
        call_hooks(hooks, lambda hook: hook.consume_before(event), "before")
        event.returned = ConsumeReturnType.FAILED
        call_hooks(hooks, lambda hook: hook.consume_after(event), "after")

    assert notes.seen == [("1", False)]
    assert len(caplog.records) == 2


async def test_a_send_hook_sees_each_try_with_its_result_or_error() -> None:
    notes = Notes()

    async with serving(brokers=2) as (fake, client):
        fake.say(RequestCode.SEND_MESSAGE_V2, ResponseCode.SYSTEM_BUSY)
        fake.say(RequestCode.SEND_MESSAGE_V2, header=STORED)
        producer = Producer(client)
        producer.register_send_hook(Raises())
        producer.register_send_hook(notes)
        await producer.send(Message("T", b"x"))

    assert notes.seen == [("T", False, int(ResponseCode.SYSTEM_BUSY)), ("T", True, None)]


async def test_hooks_see_what_polls_iterations_and_blocks_give(client: MQClient) -> None:
    hook, topic = Recorded(), "HookedPolls"
    producer = Producer(client)
    for tag in "ABC":
        await producer.send(Message(topic, b"x", tags=tag), sharding_key="k")
    await eventually(Admin(client).topic_list, lambda topics: topic in topics)
    settings = replace(POLL_FROM_FIRST, pull_batch_size=1)
    async with polling(client, "hooked-polls", topic, settings=settings) as consumer:
        consumer.register_consume_hook(hook)
        while not await consumer.poll(60_000):
            continue
        assert hook.ended == [("A", True)]
        async for _ in consumer:
            break
        async with consumer.batch(60_000):
            assert hook.begun == ["A", "B", "C"]
            assert len(hook.ended) == 2

    reader = PullConsumer(client, "hooked-polls")
    reader.register_consume_hook(hook)
    for queue in await reader.queues(topic):
        await reader.pull(queue, queue_offset=0)
    assert hook.ended == [("A", True), ("B", True), ("C", True), ("A,B,C", True)]
