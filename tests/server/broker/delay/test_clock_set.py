"""When the clock of a running broker is set, pulls, locks and clients last as long as before."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.clients.queue_locks import LOCK_LIFE_MS
from mqserver.runtime.clock import read_together
from remoting.bodies import LockBatchRequestBody, MessageQueue
from remoting.codes import RequestCode, ResponseCode
from tests.server.broker.desk import GROUP, TOPIC, Desk, running, with_topic
from tests.server.doubles import FakeClock
from tests.waiting import until

QUEUE = MessageQueue(TOPIC, "broker-a", 0)
START_MS = 1_700_000_000_000
WAIT_MS = 20_000
JUMPS_MS = [3_600_000, -3_600_000, 30 * 86_400_000, -30 * 86_400_000]


def jump(desk: Desk, clock: FakeClock, ms: int) -> None:
    """Set the clock; the broker looks at it twenty times a second."""
    clock.jump(ms)
    desk.app.broker.delay.skew.observe(read_together(clock))


@pytest.mark.parametrize("jump_ms", JUMPS_MS)
async def test_lock_lives_as_long_as_before(tmp_path: Path, jump_ms: int) -> None:
    clock = FakeClock(START_MS)

    async def locked(desk: Desk, client_id: str) -> bool:
        body = LockBatchRequestBody(consumer_group=GROUP, client_id=client_id, mq_set=[QUEUE])
        answer = await desk.ask(RequestCode.LOCK_BATCH_MQ, body=body.encode())
        assert answer.code == ResponseCode.SUCCESS
        return b"broker-a" in answer.body

    async with running(tmp_path, clock=clock) as desk:
        found = [await locked(desk, "c1")]
        jump(desk, clock, jump_ms)
        found.append(await locked(desk, "c2"))
        clock.ms += LOCK_LIFE_MS
        found.append(await locked(desk, "c2"))
        clock.ms += 1
        found.append(await locked(desk, "c2"))
        assert found == [True, False, False, True]


@pytest.mark.parametrize("jump_ms", JUMPS_MS)
async def test_client_that_beats_is_not_taken_for_silent_and_a_silent_one_is(
    tmp_path: Path, jump_ms: int
) -> None:
    clock = FakeClock(START_MS)

    async with running(tmp_path, clock=clock) as desk:
        await desk.heartbeat()
        jump(desk, clock, jump_ms)
        broker, found = desk.app.broker, []
        for step_ms in (0, 120_000, 1):
            clock.ms += step_ms
            now_ms = clock.now_ms()
            silent = [*broker.consumers.silent(now_ms), *broker.producers.silent(now_ms)]
            found.append(len(silent))
        assert found == [0, 0, 2]


@pytest.mark.parametrize("jump_ms", JUMPS_MS)
async def test_long_pull_waits_as_long_as_before(tmp_path: Path, jump_ms: int) -> None:
    clock = FakeClock(START_MS)

    async with with_topic(tmp_path, clock=clock) as desk:
        await desk.heartbeat()
        broker = desk.app.broker
        held = asyncio.ensure_future(desk.pull(sys_flag=6, suspend_timeout_millis=WAIT_MS))
        await until(lambda: len(broker.puller.held))
        jump(desk, clock, jump_ms)
        clock.ms += WAIT_MS - 1
        broker.puller.answer_expired(clock.now_ms())
        before = len(broker.puller.held)
        clock.ms += 1
        broker.puller.answer_expired(clock.now_ms())
        assert (before, len(broker.puller.held), (await held).code) == (
            1,
            0,
            ResponseCode.PULL_NOT_FOUND,
        )
