"""Pull loops against a fake broker: statuses, flow control, suspension."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.listener.consume_concurrently import ConsumeConcurrently
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus
from mqclient.consumer.pull import pull_message_service
from mqclient.consumer.pull.poll_buffer import PollBuffer
from mqclient.consumer.pull.pull_message_service import PullMessageService
from mqclient.consumer.pull.pull_request import PullResult, PullStatus
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.consumer.subscription import Subscription, TopicSubscription
from mqclient.message import MessageExt, read_messages
from remoting.bodies import MessageQueue
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from tests.mqclient.consuming import QUEUE, consuming
from tests.mqclient.fake import NOW_MS, FakeServer, pulled, record, serving
from tests.waiting import until

TRY_AGAIN_AT_ONCE = PushSettings(pull_time_delay_ms_when_exception=1)
Scene = tuple[FakeServer, ConsumerState, PullMessageService, dict[MessageQueue, ProcessQueue]]


def never(messages: list[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
    raise AssertionError("nothing is consumed here")


@asynccontextmanager
async def pulling(
    *,
    settings: PushSettings | None = None,
    expression: str = "A",
    lite: LitePullSettings | None = None,
    auto_commit: bool = True,
) -> AsyncIterator[Scene]:
    """Yield the pull loops of a consumer with one queue; with ``lite``, of one that is polled."""
    async with serving() as (fake, client):
        inside = consuming(client, settings or PushSettings())
        held = inside.process_queues
        held[QUEUE] = ProcessQueue(QUEUE, next_offset=5, now_ms=NOW_MS)
        subscription = Subscription.parse(expression)
        inside.subscriptions["T"] = TopicSubscription.of("T", subscription, version=1)
        # Not started: what is pulled stays where it was put.
        consumption = (
            PollBuffer(inside, auto_commit=auto_commit)
            if lite
            else ConsumeConcurrently(inside, never)
        )
        pulls = PullMessageService(inside, consumption, from_ms=0, lite=lite)
        try:
            yield fake, inside, pulls, held
        finally:
            pulls.stop()
            inside.tasks.cancel()


def answer(fake: FakeServer, code: int, *, to: int, body: bytes = b"") -> None:
    fake.say(RequestCode.PULL_MESSAGE, code, header=pulled(to, min_offset=3), body=body)


def hang(fake: FakeServer) -> None:
    fake.do(RequestCode.PULL_MESSAGE, lambda request: None)


async def asked(fake: FakeServer, count: int) -> list[Command]:
    """Wait for as many pulls, and return them."""
    await until(lambda: len(fake.asked_for(RequestCode.PULL_MESSAGE)) == count)
    return fake.asked_for(RequestCode.PULL_MESSAGE)


async def many_turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0.0005)


async def test_found_is_put_filtered_again_and_the_next_pull_follows() -> None:
    async with pulling() as (fake, _, pulls, held):
        body = b"".join(
            record("T", b"x", queue_offset=5 + i, properties=f"TAGS\x01{tag}\x02")
            for i, tag in enumerate("ABA")
        )
        answer(fake, ResponseCode.SUCCESS, to=8, body=body)
        hang(fake)
        pulls.start_reading(held[QUEUE])
        first, second = await asked(fake, 2)
        assert (first.ext["queueOffset"], second.ext["queueOffset"]) == ("5", "8")
        assert held[QUEUE].count == 2
        assert (first.ext["suspendTimeoutMillis"], first.ext["subVersion"]) == ("15000", "1")


async def test_a_listener_that_waits_has_its_turn_before_the_next_pull(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    async with pulling() as (fake, inside, pulls, held):
        invoke = inside.client.invoke

        async def seen(address: str, command: Command, **more: float) -> Command:
            if command.code == RequestCode.PULL_MESSAGE:
                order.append("pull")
            return await invoke(address, command, **more)

        def submit(self: ConsumeConcurrently, queue: ProcessQueue, new: object) -> None:
            asyncio.get_running_loop().call_soon(order.append, "listener")

        monkeypatch.setattr(inside.client, "invoke", seen)
        monkeypatch.setattr(ConsumeConcurrently, "submit", submit)
        body = record("T", b"x", queue_offset=5, properties="TAGS\x01A\x02")
        answer(fake, ResponseCode.SUCCESS, to=6, body=body)
        hang(fake)
        pulls.start_reading(held[QUEUE])
        await until(lambda: order.count("pull") == 2)

    assert order == ["pull", "listener", "pull"]


async def test_others_messages_move_the_position_when_nothing_is_held() -> None:
    async with pulling() as (fake, inside, pulls, held):
        answer(fake, ResponseCode.PULL_RETRY_IMMEDIATELY, to=12)
        hang(fake)
        pulls.start_reading(held[QUEUE])
        _, second = await asked(fake, 2)
        assert inside.offsets.known(QUEUE) == 12
        # The position travels along, as its sys flag says.
        assert (second.ext["commitOffset"], int(second.ext["sysFlag"]) & 1) == ("12", 1)


async def test_an_empty_pull_moves_no_position_past_a_batch_that_is_not_done() -> None:
    async with pulling(lite=LitePullSettings(), expression="*") as (fake, inside, pulls, held):
        polled, queue = pulls._service, held[QUEUE]
        answer(fake, ResponseCode.SUCCESS, to=6, body=record("T", b"x", queue_offset=5))
        hang(fake)
        pulls.start_reading(queue)
        assert len(await polled.next(wait_s=60)) == 1
        # The batch is at work; the pull behind it comes back with nothing.
        empty = PullResult(
            PullStatus.NO_MATCHED_MSG, next_offset=9, min_offset=3, max_offset=9, messages=[]
        )
        assert await pulls._handle_result(queue, empty, asked_ms=NOW_MS) == 0.0
        polled.commit(with_last=False)
        assert inside.offsets.known(QUEUE) is None
        assert await polled.next(wait_s=0) == []
        polled.commit(with_last=False)
        assert inside.offsets.known(QUEUE) == 9


async def test_a_position_outside_is_corrected_kept_and_the_queue_left_to_the_next_rebalance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pull_message_service, "ILLEGAL_PAUSE_S", 0.0)

    async with pulling() as (fake, inside, pulls, held):
        answer(fake, ResponseCode.PULL_OFFSET_MOVED, to=3)
        first = held[QUEUE]
        pulls.start_reading(first)
        await until(inside.rebalance_now.is_set)
        await until(lambda: bool(fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)))
        (kept,) = fake.asked_for(RequestCode.UPDATE_CONSUMER_OFFSET)
        assert kept.ext["commitOffset"] == "3"
        assert held == {}
        assert first.dropped


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (PushSettings(pull_threshold_for_queue=2), "messages held"),
        (PushSettings(pull_threshold_size_for_queue=1), "bytes held"),
        (PushSettings(consume_concurrently_max_span=5), "span"),
        (PushSettings(pull_threshold_for_topic=2), "messages held"),
        (PushSettings(pull_threshold_size_for_topic=1), "bytes held"),
    ],
)
async def test_a_full_queue_is_not_pulled_until_there_is_room(
    settings: PushSettings, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_message_service, "FLOW_CONTROL_S", 0.0001)

    async with pulling(settings=settings) as (fake, _, pulls, held):
        hang(fake)
        data = b"".join(record("T", b"x" * 400_000, queue_offset=offset) for offset in (5, 6, 20))
        messages = held[QUEUE].put_messages(
            read_messages(data, broker_name="broker-0", address="a:1")
        )
        assert reason in pulls._too_much(held[QUEUE])
        pulls.start_reading(held[QUEUE])
        await many_turns()
        assert fake.asked_for(RequestCode.PULL_MESSAGE) == []
        held[QUEUE].remove(messages, now_ms=NOW_MS)
        await asked(fake, 1)


async def test_suspended_and_paused_queues_are_not_pulled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_message_service, "SUSPENDED_S", 0.0001)

    async with pulling() as (fake, inside, pulls, held):
        hang(fake)
        pulls.suspended = True
        pulls.start_reading(held[QUEUE])
        await many_turns()
        pulls.suspended = False
        inside.paused.add(QUEUE)
        await many_turns()
        assert fake.asked_for(RequestCode.PULL_MESSAGE) == []
        inside.paused.clear()
        await asked(fake, 1)


async def test_a_pull_that_failed_is_tried_again_from_the_same_place() -> None:
    async with pulling(settings=TRY_AGAIN_AT_ONCE) as (fake, _, pulls, held):
        fake.say(RequestCode.PULL_MESSAGE, ResponseCode.SYSTEM_ERROR, remark="full")
        hang(fake)
        pulls.start_reading(held[QUEUE])
        first, second = await asked(fake, 2)
        assert first.ext["queueOffset"] == second.ext["queueOffset"] == "5"
        assert len(fake.asked_for(RequestCode.GET_ROUTEINFO_BY_TOPIC)) == 2


async def test_a_broker_that_has_forgotten_this_member_hears_of_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with pulling(settings=TRY_AGAIN_AT_ONCE) as (fake, inside, pulls, held):
        beats: list[int] = []

        async def heartbeat() -> None:
            beats.append(len(fake.asked_for(RequestCode.PULL_MESSAGE)))

        monkeypatch.setattr(inside.client.members, "heartbeat", heartbeat)
        for _ in range(3):
            answer(fake, ResponseCode.SUBSCRIPTION_NOT_EXIST, to=5)
        hang(fake)
        pulls.start_reading(held[QUEUE])
        await asked(fake, 4)
        assert len(beats) == 1


async def test_what_comes_before_damage_is_consumed_and_the_rest_asked_for_again() -> None:
    async with pulling() as (fake, inside, pulls, held):
        whole = [record("T", b"x", queue_offset=5 + i, properties="TAGS\x01A") for i in range(3)]
        answer(fake, ResponseCode.SUCCESS, to=8, body=whole[0] + whole[1][:-3])
        answer(fake, ResponseCode.SUCCESS, to=8, body=whole[1] + whole[2])
        hang(fake)
        pulls.start_reading(held[QUEUE])
        await until(lambda: held[QUEUE].count == 3)
        offsets = [each.ext["queueOffset"] for each in await asked(fake, 3)]
        assert offsets == ["5", "6", "8"]
        assert inside.offsets.known(QUEUE) is None


async def test_bytes_that_stay_no_record_are_asked_for_alone_and_passed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with pulling() as (fake, inside, pulls, held):
        whole = record("T", b"x", queue_offset=6, properties="TAGS\x01A")
        answer(fake, ResponseCode.SUCCESS, to=7, body=b"\x7f" * 200 + whole)
        answer(fake, ResponseCode.SUCCESS, to=6, body=b"\x7f" * 200)
        answer(fake, ResponseCode.SUCCESS, to=7, body=whole)
        hang(fake)
        pulls.start_reading(held[QUEUE])
        ranges = [
            (each.ext["queueOffset"], each.ext["maxMsgNums"]) for each in await asked(fake, 4)
        ]
        assert ranges == [("5", "32"), ("5", "1"), ("6", "32"), ("7", "32")]
        assert held[QUEUE].count == 1
        assert inside.offsets.known(QUEUE) == 6
    assert "has at offset 5 to 5 of" in caplog.text
    assert "magic is 7f7f7f7f" in caplog.text


async def test_what_comes_after_the_queue_was_given_up_is_dropped() -> None:
    async with pulling() as (fake, inside, pulls, held):
        answer(fake, ResponseCode.SUCCESS, to=6, body=record("T", b"x", queue_offset=5))
        queue = held[QUEUE]
        pulls.start_reading(queue)
        queue.dropped = True
        await many_turns()
        assert queue.count == 0
        assert inside.offsets.known(QUEUE) is None


async def test_a_broker_may_keep_a_pull_waiting_as_long_as_the_settings_say() -> None:
    lite = LitePullSettings(broker_suspend_max_time_ms=100, consumer_timeout_ms_when_suspend=150)
    async with pulling(lite=lite, auto_commit=False) as (fake, _, pulls, held):
        hang(fake)
        pulls.start_reading(held[QUEUE])
        # The second one shows that the first was given up, long before the usual 30 s.
        first, _ = await asked(fake, 2)
        assert first.ext["suspendTimeoutMillis"] == "100"
