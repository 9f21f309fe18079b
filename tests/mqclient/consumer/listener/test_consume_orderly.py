"""Orderly consumption of a prepared queue: order, commits, dead letters, and a change of owner."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener import consume_orderly
from mqclient.consumer.listener.consume_orderly import ConsumeOrderly
from mqclient.consumer.listener.listeners import ConsumeOrderlyContext, ConsumeOrderlyStatus
from mqclient.consumer.rebalance.queue_locks import QueueLocks
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.process_queue import LOCK_LIFE_MS, ProcessQueue
from mqclient.message import MessageExt
from remoting.bodies import CMResult, LockBatchResponseBody
from remoting.codes import RequestCode
from tests.mqclient.consuming import QUEUE, consuming, filled
from tests.mqclient.fake import NOW_MS, FakeServer, serving
from tests.waiting import until

Status = ConsumeOrderlyStatus
Scene = tuple[FakeServer, ConsumerState, ConsumeOrderly, ProcessQueue]
FAST = {"suspend_current_queue_time_ms": 10}


@asynccontextmanager
async def consuming_with(
    listener: Callable[[list[MessageExt], ConsumeOrderlyContext], object],
    *,
    bodies: Sequence[bytes] = (b"a", b"b", b"c"),
    settings: PushSettings | None = None,
    clock_ms: Callable[[], int] = lambda: NOW_MS,
) -> AsyncIterator[Scene]:
    async with serving(clock_ms=clock_ms) as (fake, client):
        inside = consuming(client, settings or PushSettings(**FAST))
        locks = QueueLocks(client, "G")
        service = ConsumeOrderly(inside, listener, locks=locks)  # type: ignore[arg-type]
        held, new = filled(bodies)
        locks.mark(held, granted=True)
        service.submit(held, new)
        try:
            yield fake, inside, service, held
        finally:
            await service.stop(wait_s=0)
            inside.tasks.cancel()


@pytest.mark.parametrize("bad", [False, "SUCCESS!", Status.SUSPEND_CURRENT_QUEUE_A_MOMENT])
async def test_nothing_overtakes_a_message_that_failed(bad: object) -> None:
    seen: list[tuple[bytes, int]] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> object:
        (message,) = messages
        seen.append((message.body, message.reconsume_times))
        return bad if message.body == b"b" and message.reconsume_times < 2 else Status.SUCCESS

    async with consuming_with(listen) as (_, inside, _, held):
        await until(lambda: held.count == 0)
        assert seen == [(b"a", 0), (b"b", 0), (b"b", 1), (b"b", 2), (b"c", 0)]
        assert inside.offsets.known(QUEUE) == 3


async def test_a_listener_without_a_return_has_consumed_its_messages() -> None:
    seen: list[bytes] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> None:
        seen.extend(message.body for message in messages)

    async with consuming_with(listen) as (_, inside, _, held):
        await until(lambda: held.count == 0)
        assert seen == [b"a", b"b", b"c"]
        assert inside.offsets.known(QUEUE) == 3


async def test_after_so_many_failures_a_message_is_put_aside_and_the_next_one_comes() -> None:
    seen: list[bytes] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> Status:
        seen.append(messages[0].body)
        if messages[0].body == b"b":
            raise ValueError("never")
        return Status.SUCCESS

    settings = PushSettings(max_reconsume_times=1, **FAST)
    async with consuming_with(listen, settings=settings) as (fake, inside, _, held):
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK)
        await until(lambda: held.count == 0)
        (back,) = fake.asked_for(RequestCode.CONSUMER_SEND_MSG_BACK)
        assert (back.ext["offset"], back.ext["delayLevel"]) == ("1", "-1")
        assert seen == [b"a", b"b", b"b", b"c"]
        assert inside.offsets.known(QUEUE) == 3


@pytest.mark.parametrize("batch", [1, 3])
async def test_a_body_that_cannot_be_decompressed_does_not_stop_its_queue(batch: int) -> None:
    seen: list[bytes] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> Status:
        seen.extend(message.body for message in messages)
        return Status.SUCCESS

    settings = PushSettings(consume_message_batch_max_size=batch, **FAST)
    scene = consuming_with(listen, bodies=[b"a", b"broken", b"c"], settings=settings)
    async with scene as (fake, inside, _, held):
        fake.say(RequestCode.CONSUMER_SEND_MSG_BACK)
        await until(lambda: held.count == 0)
        (back,) = fake.asked_for(RequestCode.CONSUMER_SEND_MSG_BACK)
        assert (back.ext["offset"], back.ext["delayLevel"]) == ("1", "-1")
        assert seen == [b"a", b"c"]
        assert inside.offsets.known(QUEUE) == 3


async def test_without_auto_commit_only_commit_moves_and_rollback_repeats() -> None:
    answers = [Status.SUCCESS, Status.ROLLBACK, Status.SUCCESS, Status.SUCCESS, Status.COMMIT]
    seen: list[bytes] = []
    positions: list[int | None] = []
    inside_of: list[ConsumerState] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> Status:
        context.auto_commit = False
        seen.append(messages[0].body)
        positions.append(inside_of[0].offsets.known(QUEUE))
        return answers[len(seen) - 1]

    async with consuming_with(listen) as (_, inside, _, held):
        inside_of.append(inside)
        await until(lambda: held.count == 0)
        assert seen == [b"a", b"b", b"a", b"b", b"c"]
        assert positions == [None] * 5
        assert inside.offsets.known(QUEUE) == 3


async def test_a_queue_under_an_old_lock_asks_for_it_before_it_is_consumed() -> None:
    now_ms = [NOW_MS]
    seen: list[bytes] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> Status:
        seen.append(messages[0].body)
        return Status.SUCCESS

    async with consuming_with(listen, clock_ms=lambda: now_ms[0]) as (fake, _, service, held):
        await until(lambda: held.count == 0)
        now_ms[0] += LOCK_LIFE_MS + 1
        for granted in ([], [QUEUE]):
            body = LockBatchResponseBody(lock_ok_mq_set=granted)
            fake.say(RequestCode.LOCK_BATCH_MQ, body=body.encode())
        again, new = filled([b"x"])
        service.submit(again, new)
        await until(lambda: again.count == 0)
        assert len(fake.asked_for(RequestCode.LOCK_BATCH_MQ)) == 2
        assert seen == [b"a", b"b", b"c", b"x"]


async def test_a_queue_begun_anew_waits_for_the_listener_that_still_has_it() -> None:
    release = asyncio.Event()
    running = [0, 0]

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> Status:
        running[0] += 1
        running[1] = max(running)
        await release.wait()
        running[0] -= 1
        return Status.SUCCESS

    async with consuming_with(listen) as (_, inside, service, held):
        await until(lambda: running[0] == 1)
        held.dropped = True
        fresh, new = filled([b"a", b"b"])
        fresh.locked = True
        service.submit(fresh, new)
        await asyncio.sleep(0.01)
        assert fresh.count == 2
        release.set()
        await until(lambda: fresh.count == 0)
        assert running[1] == 1
        assert inside.offsets.known(QUEUE) == 2


async def test_after_a_minute_the_queue_gives_its_place_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consume_orderly, "NEXT_TURN_S", 0.0)
    now_ms = [NOW_MS]
    seen: list[bytes] = []

    async def listen(messages: list[MessageExt], context: ConsumeOrderlyContext) -> Status:
        now_ms[0] += 25_000
        seen.append(messages[0].body)
        return Status.SUCCESS

    async with consuming_with(
        listen, bodies=[b"a", b"b", b"c", b"d"], clock_ms=lambda: now_ms[0]
    ) as (fake, _, _, held):
        body = LockBatchResponseBody(lock_ok_mq_set=[QUEUE])
        fake.say(RequestCode.LOCK_BATCH_MQ, body=body.encode())
        await until(lambda: held.count == 0)
        assert seen == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Status.SUCCESS, CMResult.CR_SUCCESS),
        (Status.COMMIT, CMResult.CR_COMMIT),
        (Status.ROLLBACK, CMResult.CR_ROLLBACK),
        (Status.SUSPEND_CURRENT_QUEUE_A_MOMENT, CMResult.CR_LATER),
        (None, CMResult.CR_SUCCESS),
        (7, CMResult.CR_RETURN_NULL),
    ],
)
async def test_one_message_consumed_directly_says_how_it_went(
    answer: object, result: CMResult
) -> None:
    async with consuming_with(lambda messages, context: answer, bodies=[]) as (_, _, service, _):
        _, (message, *_) = filled([b"x"])
        said = await service.consume_directly(message)
        assert (said.consume_result, said.order) == (result, True)
