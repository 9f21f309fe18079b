"""Times that no clock shows are refused, and no handler raises at them."""

import itertools
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.broker.pop.pop_check import TIME_MS_MAX
from remoting.codes import ResponseCode
from remoting.receipt import ORDERED_REVIVE_QUEUE
from tests.server.broker.desk import with_topic
from tests.server.broker.pop.popdesk import ack, ask_pop, hide, pop

LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
EDGES = (LONG_MIN, -TIME_MS_MAX - 1, -TIME_MS_MAX, -1, 0, TIME_MS_MAX, TIME_MS_MAX + 1, LONG_MAX)


async def test_times_of_any_size_raise_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with with_topic(tmp_path) as desk:
        await desk.send(b"one")
        (popped,) = await pop(desk, invisible_time=60_000)
        for pop_ms, invisible_ms, queue in itertools.product(
            EDGES, EDGES, (popped.handle.revive_queue_id, ORDERED_REVIVE_QUEUE)
        ):
            bad = replace(
                popped.handle, pop_time_ms=pop_ms, invisible_ms=invisible_ms, revive_queue_id=queue
            )
            illegal = not 0 <= pop_ms <= TIME_MS_MAX or abs(invisible_ms) > TIME_MS_MAX
            for change_ms in EDGES:
                answer = await hide(desk, bad, invisible_ms=change_ms)
                refused = illegal or abs(change_ms) > TIME_MS_MAX
                assert (answer.code == ResponseCode.MESSAGE_ILLEGAL) == refused, answer
            answer = await ack(desk, bad)
            assert (answer.code == ResponseCode.MESSAGE_ILLEGAL) == illegal or queue == 999, answer
        for invisible_ms in EDGES:
            answer = await ask_pop(desk, invisible_time=invisible_ms)
            refused = abs(invisible_ms) > TIME_MS_MAX
            assert (answer.code == ResponseCode.MESSAGE_ILLEGAL) == refused, answer

    assert [record for record in caplog.records if record.exc_info] == []
