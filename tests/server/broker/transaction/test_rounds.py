"""Rounds of checks over half messages that no cache holds: threads read them."""

import asyncio
from pathlib import Path

import pytest

from mqserver.broker.transaction.half_messages import GROUP
from mqserver.runtime.clock import SystemClock
from remoting.codes import ResponseCode
from storefmt.names import HALF_TOPIC
from tests.server.broker.desk import Desk, running
from tests.server.cold_disk import forget, hold_cold_reads, skip_unless_cold
from tests.waiting import until

COUNT = 200
PROPERTIES = "TRAN_MSG\1true\2PGROUP\1PG\2UNIQ_KEY\1K"


async def fill(desk: Desk) -> None:
    """Send half messages, and wait until most of their queue is in its files."""
    await desk.create_topic()
    born_ms = SystemClock().now_ms()
    for _ in range(COUNT):
        answer = await desk.send(
            b"paid" * 500, properties=PROPERTIES, sys_flag=4, born_timestamp=born_ms
        )
        assert answer.code == ResponseCode.SUCCESS, answer
    store = desk.app.broker.store
    await until(lambda: store._table.queues[HALF_TOPIC, 0].tail_start >= COUNT - 150)


@pytest.mark.parametrize("hangs", [False, True])
async def test_round_over_cold_half_messages_lets_sends_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, hangs: bool
) -> None:
    async with running(tmp_path, transaction_time_out_ms=0) as desk:
        await fill(desk)
        broker = desk.app.broker
        may_read = hold_cold_reads(monkeypatch)
        if not hangs:
            may_read.set()
        forget(tmp_path)
        checks = asyncio.ensure_future(broker.transactions.check_half_messages(0))
        if hangs:
            await until(lambda: broker.cold.count or checks.done())
            assert (await desk.send(b"meanwhile")).code == ResponseCode.SUCCESS
            assert not checks.done() or not broker.cold.count
            may_read.set()
        async with asyncio.timeout(60):
            await checks
        assert broker.offsets.get(GROUP, HALF_TOPIC, queue_id=0) == COUNT
        skip_unless_cold(broker.cold.count)
