"""A push consumer that stops waits for listeners, commits their offsets, and releases its locks."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus as Status
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.state.offset_store import LocalOffsets
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import Producer
from mqserver.pytest_plugin import RocketMQ
from remoting.bodies import ConsumeFromWhere, MessageModel, MessageQueue, UnlockBatchRequestBody
from remoting.codes import RequestCode
from remoting.command import Command
from tests.mqclient.fake import FakeServer
from tests.waiting import eventually, until

OK = Status.CONSUME_SUCCESS
FROM_FIRST = PushSettings(
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    await_termination_ms_when_shutdown=300_000,
)
IMPATIENT = replace(FROM_FIRST, await_termination_ms_when_shutdown=20)


async def send_one(client: MQClient, topic: str) -> MessageQueue:
    return (await Producer(client).send(Message(topic, b"one"))).queue


async def test_a_stop_waits_for_the_listener_at_work_and_keeps_its_result(client: MQClient) -> None:
    queue = await send_one(client, "StopWaits")
    at_work, may_end = asyncio.Event(), asyncio.Event()
    consumer = PushConsumer(client, "stop-waits", FROM_FIRST)
    consumer.subscribe("StopWaits")

    @consumer.concurrently
    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        at_work.set()
        await may_end.wait()
        return OK

    await consumer.start()
    await at_work.wait()
    stopping = asyncio.create_task(consumer.shutdown())
    await asyncio.sleep(0.05)
    assert not stopping.done()

    may_end.set()
    await stopping

    reader = PullConsumer(client, "stop-waits")
    await eventually(lambda: reader.committed(queue), lambda position: position == 1)


async def test_a_stop_leaves_what_a_listener_did_not_end_to_the_next_member(
    client: MQClient,
) -> None:
    await send_one(client, "StopLeaves")
    at_work, never = asyncio.Event(), asyncio.Event()
    seen: list[bytes] = []

    async def hanging(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        at_work.set()
        await never.wait()
        return OK

    async def listening(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        seen.extend(message.body for message in messages)
        return OK

    first = PushConsumer(client, "stop-leaves", IMPATIENT)
    first.subscribe("StopLeaves")
    first.register_message_listener(hanging)
    await first.start()
    await at_work.wait()
    await first.shutdown()

    async with PushConsumer(client, "stop-leaves", FROM_FIRST) as second:
        second.subscribe("StopLeaves")
        second.register_message_listener(listening)
        await second.start()
        await until(lambda: seen == [b"one"])


async def test_a_stop_gives_the_locks_of_an_orderly_member_back(rocketmq: RocketMQ) -> None:
    requests: list[Command] = []

    def observe(address: str, request: Command, answer: object, elapsed_ms: float) -> None:
        requests.append(request)

    def unlocked() -> list[MessageQueue]:
        bodies = [one.body for one in requests if one.code == RequestCode.UNLOCK_BATCH_MQ]
        return [queue for body in bodies for queue in UnlockBatchRequestBody.decode(body).mq_set]

    async with MQClient(rocketmq.namesrv, timeout_s=60, on_exchange=observe) as client:
        queue = await send_one(client, "StopUnlocks")
        consumed = asyncio.Event()
        consumer = PushConsumer(client, "stop-unlocks", FROM_FIRST)
        consumer.subscribe("StopUnlocks")

        @consumer.orderly
        async def listen(
            messages: list[MessageExt], context: ConsumeOrderlyContext
        ) -> ConsumeOrderlyStatus:
            consumed.set()
            return ConsumeOrderlyStatus.SUCCESS

        await consumer.start()
        await consumed.wait()
        assert queue not in unlocked()

        await consumer.shutdown()

        await until(lambda: queue in unlocked())
        reader = PullConsumer(client, "stop-unlocks")
        await eventually(lambda: reader.committed(queue), lambda position: position == 1)


@pytest.mark.parametrize("orderly", [False, True])
async def test_a_listener_stops_its_own_consumer_which_leaves_in_order(
    client: MQClient, *, orderly: bool
) -> None:
    topic = f"StopOwn{orderly}"
    await send_one(client, topic)
    stopped = asyncio.Event()
    consumer = PushConsumer(client, topic, FROM_FIRST)
    consumer.subscribe(topic)

    async def listen(messages: list[MessageExt], context: object) -> object:
        await consumer.shutdown()
        # Nothing cancels the listener afterwards, either.
        await asyncio.sleep(0)
        stopped.set()
        return ConsumeOrderlyStatus.SUCCESS if orderly else OK

    consumer.register_message_listener(listen, orderly=orderly)  # type: ignore[arg-type]
    await consumer.start()
    await stopped.wait()

    assert client.members.consumers == {}
    assert consumer.assignment() == []
    await until(lambda: "consume" not in {one.get_name() for one in asyncio.all_tasks()})


async def test_a_file_that_cannot_be_written_does_not_keep_a_member_in_its_group(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class ReadOnly(LocalOffsets):
        async def persist(self, queues: Collection[MessageQueue], *, sure: bool = False) -> None:
            raise PermissionError(f"no right to write {self.path}")

    async with FakeServer() as fake, fake.client() as client:
        fake.route()
        settings = PushSettings(message_model=MessageModel.BROADCASTING)
        consumer = PushConsumer(client, "G", settings, local_dir=tmp_path)
        consumer.register_message_listener(lambda messages, context: OK)
        consumer.offsets = ReadOnly(client.broadcast_id, "G", directory=tmp_path)
        await consumer.start()
        await consumer.shutdown()
        assert client.members.consumers == {}
    assert any("no right to write" in text for text in caplog.messages)
