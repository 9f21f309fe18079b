"""Concurrent consumption of a prepared queue: which messages are sent back, and which stay."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener import consume_concurrently
from mqclient.consumer.listener.consume_concurrently import ConsumeConcurrently
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyContext
from mqclient.consumer.listener.listeners import ConsumeConcurrentlyStatus as Status
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.message import MessageExt
from remoting.bodies import CMResult, MessageModel
from remoting.codes import RequestCode, ResponseCode
from tests.mqclient.consuming import QUEUE, consuming, filled
from tests.mqclient.fake import NOW_MS, FakeServer, serving
from tests.waiting import until

OK = Status.CONSUME_SUCCESS
LATER = Status.RECONSUME_LATER
Scene = tuple[FakeServer, ConsumerState, ConsumeConcurrently, ProcessQueue]


@asynccontextmanager
async def consuming_with(
    listener: Callable[[list[MessageExt], ConsumeConcurrentlyContext], object],
    *,
    bodies: Sequence[bytes] = (b"a", b"b", b"c"),
    settings: PushSettings | None = None,
    clock_ms: Callable[[], int] = lambda: NOW_MS,
    taken_back: ResponseCode = ResponseCode.SUCCESS,
) -> AsyncIterator[Scene]:
    async with serving(clock_ms=clock_ms) as (fake, client):
        inside = consuming(client, settings or PushSettings(consume_message_batch_max_size=3))
        service = ConsumeConcurrently(inside, listener)  # type: ignore[arg-type]
        service.resize(inside.settings.consume_thread_min)
        held, new = filled(bodies)
        service.submit(held, new)
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK, taken_back)
        try:
            yield fake, inside, service, held
        finally:
            await service.stop(wait_s=0)
            inside.tasks.cancel()


def given_back(fake: FakeServer) -> list[tuple[str, str]]:
    return [
        (each.ext["offset"], each.ext["delayLevel"])
        for each in fake.asked_for(RequestCode.CONSUMER_SEND_MSG_BACK)
    ]


async def test_what_lies_behind_ack_index_is_given_back_with_the_listeners_delay() -> None:
    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        context.ack_index, context.delay_level = 0, 4
        return OK

    async with consuming_with(listen) as (fake, inside, _, held):
        await until(lambda: held.count == 0)
        assert given_back(fake) == [("1", "4"), ("2", "4")]
        assert inside.offsets.known(QUEUE) == 3


@pytest.mark.parametrize("answer", [False, "CONSUME_SUCCESS!", True, LATER])
async def test_any_answer_but_success_and_none_gives_all_back(answer: object) -> None:
    async with consuming_with(lambda messages, context: answer) as (fake, _, _, held):
        await until(lambda: held.count == 0)
        assert given_back(fake) == [("0", "0"), ("1", "0"), ("2", "0")]


async def test_a_listener_without_a_return_has_consumed_its_messages() -> None:
    async with consuming_with(lambda messages, context: None) as (fake, inside, _, held):
        await until(lambda: held.count == 0)
        assert given_back(fake) == []
        assert inside.offsets.known(QUEUE) == 3


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), asyncio.CancelledError()])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_listener_that_raises_anything_ends_no_worker(
    error: BaseException, is_async: bool
) -> None:
    calls: list[int] = []

    def plain(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        calls.append(len(messages))
        raise error

    async def awaited(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        return plain(messages, context)

    settings = PushSettings(
        consume_message_batch_max_size=3, consume_thread_min=1, consume_thread_max=1
    )
    listener = awaited if is_async else plain
    async with consuming_with(listener, settings=settings) as (fake, _, service, held):
        await until(lambda: held.count == 0)
        again, new = filled([b"d"])
        service.submit(again, new)
        await until(lambda: again.count == 0)
        assert calls == [3, 1]
        assert len(given_back(fake)) == 4


async def test_what_the_broker_does_not_take_back_is_tried_here_and_holds_the_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consume_concurrently, "TRY_AGAIN_S", 0.01)
    seen: list[tuple[bytes, int]] = []

    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        (message,) = messages
        seen.append((message.body, message.reconsume_times))
        return LATER if message.body == b"b" and message.reconsume_times < 2 else OK

    scene = consuming_with(listen, settings=PushSettings(), taken_back=ResponseCode.SYSTEM_ERROR)
    async with scene as (_, inside, _, held):
        await until(lambda: held.count == 1)
        assert inside.offsets.known(QUEUE) == 1
        await until(lambda: held.count == 0)
        assert inside.offsets.known(QUEUE) == 3
        assert [times for body, times in seen if body == b"b"] == [0, 1, 2]


async def test_a_body_that_cannot_be_decompressed_goes_to_the_dead_letters() -> None:
    seen: list[bytes] = []

    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        seen.extend(message.body for message in messages)
        return OK

    async with consuming_with(listen, bodies=[b"a", b"broken", b"c"]) as (fake, inside, _, held):
        await until(lambda: held.count == 0)
        assert given_back(fake) == [("1", "-1")]
        assert seen == [b"a", b"c"]
        assert inside.offsets.known(QUEUE) == 3


async def test_broadcasting_drops_what_failed_and_asks_no_broker() -> None:
    scene = consuming_with(
        lambda messages, context: LATER,
        settings=PushSettings(message_model=MessageModel.BROADCASTING),
    )
    async with scene as (fake, inside, _, held):
        await until(lambda: held.count == 0)
        assert given_back(fake) == []
        assert inside.offsets.known(QUEUE) == 3


async def test_a_listener_over_its_time_loses_its_messages_and_its_late_answer_is_nothing() -> None:
    now_ms = [NOW_MS]
    release = asyncio.Event()

    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        await release.wait()
        return OK

    async with consuming_with(listen, clock_ms=lambda: now_ms[0]) as (fake, inside, service, held):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        now_ms[0] += 15 * 60_000
        await service.give_back_expired(held)
        assert given_back(fake) == []
        now_ms[0] += 1
        await service.give_back_expired(held)
        assert given_back(fake) == [("0", "3"), ("1", "3"), ("2", "3")]
        assert inside.offsets.known(QUEUE) == 3
        release.set()
        await until(lambda: held.count == 0)


async def test_a_dropped_queue_moves_no_position() -> None:
    at_work, may_end = asyncio.Event(), asyncio.Event()

    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        at_work.set()
        await may_end.wait()
        return OK

    async with consuming_with(listen) as (_, inside, service, held):
        await at_work.wait()
        held.dropped = True
        may_end.set()
        await service.stop(wait_s=60)
        assert inside.offsets.known(QUEUE) is None
        assert held.count == 3


async def test_pool_grows_and_shrinks_while_listeners_are_at_work() -> None:
    running = [0, 0]
    release = asyncio.Event()

    async def listen(messages: list[MessageExt], context: ConsumeConcurrentlyContext) -> Status:
        running[0] += 1
        running[1] = max(running)
        await release.wait()
        running[0] -= 1
        return OK

    settings = PushSettings(consume_thread_min=1, consume_thread_max=5)
    async with consuming_with(listen, settings=settings) as (_, _, service, held):
        await until(lambda: running[0] == 1)
        service.resize(3)
        await until(lambda: running[0] == 3)
        service.resize(2)
        release.set()
        await until(lambda: held.count == 0)
        release.clear()
        running[:] = [0, 0]
        again, new = filled([b"%d" % i for i in range(6)])
        service.submit(again, new)
        await until(lambda: running[0] == 2)
        await asyncio.sleep(0.01)
        assert running[0] == 2
        release.set()
        await until(lambda: again.count == 0)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (OK, CMResult.CR_SUCCESS),
        (None, CMResult.CR_SUCCESS),
        (LATER, CMResult.CR_LATER),
        (7, CMResult.CR_RETURN_NULL),
    ],
)
async def test_one_message_consumed_directly_says_how_it_went(
    answer: object, result: CMResult
) -> None:
    async with consuming_with(lambda messages, context: answer, bodies=[]) as (_, _, service, _):
        _, (message, *_) = filled([b"x"])
        said = await service.consume_directly(message)
        assert (said.consume_result, said.order) == (result, False)
