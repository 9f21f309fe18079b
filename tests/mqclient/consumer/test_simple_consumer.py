"""The simple consumer against a fake broker."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from mqclient.client.client_settings import ClientSettings
from mqclient.consumer.simple_consumer import SimpleConsumer
from mqclient.errors import BadRequest, BrokerRefused, ClientError, NoRoute
from mqclient.message import read_messages
from remoting.bodies import ConsumeFromWhere
from remoting.codes import LaterCode, RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers.pop import (
    ChangeInvisibleTimeResponse,
    NotificationResponse,
    PopMessageResponse,
)
from tests.mqclient.fake import FakeServer, record, serving
from tests.mqclient.recorded_hook import Recorded
from tests.waiting import until

POP, ACK, WAIT = LaterCode.POP_MESSAGE, LaterCode.ACK_MESSAGE, LaterCode.NOTIFICATION
CHANGE = LaterCode.CHANGE_MESSAGE_INVISIBLETIME
NONE = ResponseCode.PULL_NOT_FOUND


@asynccontextmanager
async def consuming(
    expression: str = "*", *, brokers: int = 1, **more: object
) -> AsyncIterator[tuple[FakeServer, SimpleConsumer]]:
    async with serving(brokers=brokers) as (fake, client):
        consumer = SimpleConsumer(client, "G", **more)  # type: ignore[arg-type]
        consumer.subscribe("T", expression)
        fake.say(ACK)
        yield fake, consumer


def gives(request: Command, *tags: str, reconsume_times: int = 0) -> Command:
    """Answer a pop with one message of each tag."""
    offsets = ",".join(str(number) for number in range(len(tags)))
    counts = f"0 0 {reconsume_times}" if reconsume_times else None
    told = PopMessageResponse(
        pop_time=5,
        invisible_time=60_000,
        start_offset_info="0 0 0",
        msg_offset_info=f"0 0 {offsets}",
        order_count_info=counts,
    )
    records = [
        record("T", b"b", queue_offset=number, properties=f"TAGS\x01{tag}\x02")
        for number, tag in enumerate(tags)
    ]
    return request.response(header=told, body=b"".join(records))


async def test_what_is_received_is_acknowledged_by_its_handle() -> None:
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A", "B"))
        found = await consumer.receive(8, invisible_ms=60_000)
        await consumer.ack(found[1])
        await consumer.ack(found[0].receipt or "", topic="T")

    assert [message.tags for message in found] == ["A", "B"]
    assert [ack.ext["extraInfo"] for ack in fake.asked_for(ACK)] == [
        "0 5 60000 0 0 broker-0 0 1",
        "0 5 60000 0 0 broker-0 0 0",
    ]


async def test_a_tag_that_only_shares_its_hash_is_acknowledged_and_not_given() -> None:
    async with consuming("Aa") as (fake, consumer):
        # "Aa" and "BB" have the same hash in Java.
        fake.do(POP, lambda request: gives(request, "Aa", "BB"))
        found = await consumer.receive(8, invisible_ms=60_000)

    assert [message.tags for message in found] == ["Aa"]
    assert [ack.ext["offset"] for ack in fake.asked_for(ACK)] == ["1"]


async def test_a_message_that_came_too_often_is_sent_to_the_dead_letter_queue() -> None:
    async with consuming(max_reconsume_times=2) as (fake, consumer):
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK)
        fake.do(POP, lambda request: gives(request, "A", reconsume_times=3))
        fake.say(POP, NONE)
        found = await consumer.receive(8, invisible_ms=60_000, wait_ms=0)
        (back,) = fake.asked_for(RequestCode.CONSUMER_SEND_MSG_BACK)

    assert found == []
    assert (back.ext["delayLevel"], back.ext["group"]) == ("-1", "G")
    assert len(fake.asked_for(ACK)) == 1


async def test_one_broker_holds_the_pop_and_several_are_asked_to_tell() -> None:
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A"))
        await consumer.receive(invisible_ms=60_000, wait_ms=20_000)
        (held,) = fake.asked_for(POP)
    async with consuming(brokers=2) as (fake, consumer):
        for _ in range(2):
            fake.say(POP, NONE)
        fake.do(POP, lambda request: gives(request, "A"))
        fake.say(WAIT, NONE)
        fake.say(WAIT, header=NotificationResponse(has_msg=True))
        found = await consumer.receive(invisible_ms=60_000, wait_ms=20_000)

    assert 14_000 < int(held.ext["pollTime"]) <= 15_000
    assert len(found) == 1
    assert [pop.ext["pollTime"] for pop in fake.asked_for(POP)] == ["0", "0", "0"]
    assert {wait.ext["bname"] for wait in fake.asked_for(WAIT)} == {"broker-0", "broker-1"}


async def test_each_call_begins_at_another_broker() -> None:
    async with consuming(brokers=2) as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A"))
        for _ in range(4):
            await consumer.receive(invisible_ms=60_000, wait_ms=0)

    names = [pop.ext["bname"] for pop in fake.asked_for(POP)]
    assert names == ["broker-1", "broker-0"] * 2


async def test_a_broker_that_fails_is_passed_over_unless_it_is_the_only_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def first_fails(request: Command) -> Command:
        if request.ext["bname"] == "broker-1":
            return request.response(ResponseCode.SYSTEM_BUSY, remark="busy")
        return request.response(NONE)

    async with consuming(brokers=2) as (fake, consumer):
        fake.do(POP, first_fails)
        with caplog.at_level(logging.WARNING):
            assert await consumer.receive(invisible_ms=60_000, wait_ms=0) == []
    assert "SYSTEM_BUSY" in caplog.text
    async with consuming() as (fake, consumer):
        fake.say(POP, ResponseCode.SYSTEM_BUSY)
        with pytest.raises(BrokerRefused, match="SYSTEM_BUSY"):
            await consumer.receive(invisible_ms=60_000, wait_ms=0)


async def test_a_broker_without_pop_is_an_error_although_others_have_it() -> None:
    async with consuming(brokers=2) as (fake, consumer):
        fake.say(POP, ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark="request type 200050")

        with pytest.raises(BrokerRefused, match="does not know POP"):
            await consumer.receive(invisible_ms=60_000)


async def test_waiting_brokers_that_all_fail_are_an_error() -> None:
    async with consuming(brokers=2) as (fake, consumer):
        fake.say(POP, NONE)
        fake.say(WAIT, ResponseCode.SYSTEM_BUSY)
        with pytest.raises(ClientError, match="SYSTEM_BUSY"):
            await consumer.receive(invisible_ms=60_000)
        fake.say(WAIT, ResponseCode.NO_PERMISSION)
    async with consuming(brokers=2) as (fake, consumer):
        fake.say(POP, NONE)
        fake.say(WAIT, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)
        with pytest.raises(BrokerRefused, match="does not know POP"):
            await consumer.receive(invisible_ms=60_000)


async def test_a_cancelled_wait_leaves_no_request_behind() -> None:
    async with consuming(brokers=2) as (fake, consumer):
        fake.say(POP, NONE)
        fake.do(WAIT, lambda request: None)
        before = asyncio.all_tasks()
        waiting = asyncio.create_task(consumer.receive(invisible_ms=60_000))
        await until(lambda: len(fake.asked_for(WAIT)) == 2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        await until(lambda: len(asyncio.all_tasks() - before) <= 1)


async def test_a_changed_time_gives_the_message_its_new_handle() -> None:
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A"))
        told = ChangeInvisibleTimeResponse(pop_time=9, invisible_time=2_000, revive_queue_id=1)
        fake.say(LaterCode.CHANGE_MESSAGE_INVISIBLETIME, header=told)
        (message,) = await consumer.receive(invisible_ms=60_000)
        fresh = await consumer.change_invisible_time(message, 2_000)

    assert message.receipt == fresh == "0 9 2000 1 0 broker-0 0 0"


async def test_the_namespace_is_sent_and_not_shown() -> None:
    def in_namespace(request: Command) -> Command:
        told = PopMessageResponse(start_offset_info="0 0 0", msg_offset_info="0 0 0")
        return request.response(header=told, body=record("N%T", b"b"))

    async with serving(settings=ClientSettings(namespace="N")) as (fake, client):
        fake.route("N%T")
        fake.do(POP, in_namespace)
        fake.say(ACK)
        consumer = SimpleConsumer(client, "G")
        consumer.subscribe("T")
        (message,) = await consumer.receive(invisible_ms=60_000)
        await consumer.ack(message)

    assert message.topic == "T"
    (pop,), (ack,) = fake.asked_for(POP), fake.asked_for(ACK)
    assert (pop.ext["topic"], pop.ext["consumerGroup"]) == ("N%T", "N%G")
    assert (ack.ext["topic"], ack.ext["consumerGroup"]) == ("N%T", "N%G")


async def test_what_cannot_be_asked_is_refused_before_it_is_sent() -> None:
    async with consuming() as (fake, consumer):
        for count, hidden, wait in ((0, 60_000, 0), (33, 60_000, 0), (1, 999, 0), (1, 60_000, -1)):
            with pytest.raises(BadRequest, match="allowed are"):
                await consumer.receive(count, invisible_ms=hidden, wait_ms=wait)
        with pytest.raises(BadRequest, match="invisible_ms"):
            await consumer.change_invisible_time("x", 43_200_001, topic="T")
        with pytest.raises(BadRequest, match="does not name its topic"):
            await consumer.ack("0 5 60000 0 0 broker-0 0 0")
        with pytest.raises(BadRequest, match="has no receipt handle"):
            await consumer.ack(read_messages(record("T", b"b"), broker_name="b", address="")[0])
        with pytest.raises(BadRequest):
            consumer.subscribe("T", " || ")
        with pytest.raises(BadRequest):
            consumer.subscribe("a b")
        consumer.unsubscribe("T")
        with pytest.raises(BadRequest, match="has no topic"):
            await consumer.receive(invisible_ms=60_000)
        consumer.subscribe("missing")
        with pytest.raises(NoRoute, match="missing"):
            await consumer.receive(invisible_ms=60_000)
        await consumer.shutdown()
        with pytest.raises(BadRequest, match="was shut down"):
            await consumer.receive(invisible_ms=60_000)
        assert fake.asked_for(POP) == []
        with pytest.raises(BadRequest, match="cannot begin at"):
            SimpleConsumer(
                consumer._connections,
                "G",
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
            )


async def test_a_topic_that_nobody_may_read_has_no_place() -> None:
    async with consuming() as (fake, consumer):
        fake.route("T", perm=2)
        with pytest.raises(NoRoute, match="any master that lets it be read"):
            await consumer.receive(invisible_ms=60_000)


async def test_an_acknowledgement_that_fails_is_logged_and_the_message_comes_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with consuming("Aa") as (fake, consumer):
        fake.say(ACK, ResponseCode.SYSTEM_ERROR)
        fake._answers[ACK].pop(0)
        fake.do(POP, lambda request: gives(request, "BB"))
        with caplog.at_level(logging.WARNING):
            assert await consumer.receive(invisible_ms=60_000, wait_ms=0) == []

    assert "comes again" in caplog.text


async def test_a_block_acknowledges_at_its_end_and_not_after_an_error() -> None:
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A", "B"))
        fake.say(
            CHANGE,
            header=ChangeInvisibleTimeResponse(pop_time=6, invisible_time=1_000, revive_queue_id=0),
        )
        seen = []
        async for message in consumer.messages(invisible_ms=60_000, count_max=2):
            with suppress(ValueError):
                async with consumer.consuming(message, again_ms=1_000):
                    seen.append(message.tags)
                    if message.tags == "B":
                        raise ValueError("not now")
            if len(seen) == 2:
                break

        assert seen == ["A", "B"]
        assert [ack.ext["offset"] for ack in fake.asked_for(ACK)] == ["0"]
        (changed,) = fake.asked_for(CHANGE)
        assert (changed.ext["offset"], changed.ext["invisibleTime"]) == ("1", "1000")


async def test_an_error_alone_leaves_a_message_to_its_invisible_time() -> None:
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A"))
        async for message in consumer:
            with suppress(ValueError):
                async with consumer.consuming(message):
                    raise ValueError("not now")
            break

        assert fake.asked_for(ACK) == fake.asked_for(CHANGE) == []
        (pop,) = fake.asked_for(POP)
        assert (pop.ext["maxMsgNums"], pop.ext["invisibleTime"]) == ("1", "60000")


async def test_the_shutdown_ends_async_for() -> None:
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A"))
        async for _ in consumer:
            await consumer.shutdown()


async def test_hooks_see_blocks_and_acknowledged_messages_once() -> None:
    hook = Recorded()
    async with consuming() as (fake, consumer):
        fake.do(POP, lambda request: gives(request, "A", "B", "C"))
        consumer.register_consume_hook(hook)
        first, second, third = await consumer.receive(8, invisible_ms=60_000)
        assert hook.ended == []
        async with consumer.consuming(first):
            assert hook.begun == ["A"]
        await consumer.ack(second)
        with suppress(ValueError):
            async with consumer.consuming(third):
                raise ValueError("no")

    assert hook.ended == [("A", True), ("B", True), ("C", False)]
