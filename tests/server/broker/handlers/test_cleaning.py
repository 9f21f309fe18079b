"""Deletion by hand over the wire: 329 and 306."""

import asyncio
from pathlib import Path

from remoting.codes import RequestCode
from tests.server.broker.desk import running


def test_both_requests_are_answered_and_nothing_fresh_goes(tmp_path: Path) -> None:
    async def run() -> tuple[list[int], int, int]:
        async with running(tmp_path) as desk:
            await desk.create_topic()
            await desk.send(body=b"x")
            codes = (RequestCode.DELETE_EXPIRED_COMMITLOG, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
            answers = [(await desk.ask(code, timeout_s=10)).code for code in codes]
            store = desk.app.broker.store
            return answers, store.min_log_offset, len(store.queues())

    answers, low, queue_count = asyncio.run(run())

    assert answers == [0, 0]
    assert low == 0
    assert queue_count == 1
