"""Deletion by hand over the wire: 329 and 306."""

import asyncio
from pathlib import Path

import pytest

from mqserver.store.cleanup.jobs import DeleteLogJob
from remoting.codes import RequestCode, ResponseCode
from tests.server.broker.desk import Desk, broker_settings, running
from tests.server.cold_disk import forget, hold_cold_reads
from tests.waiting import until


async def test_both_requests_are_answered_and_nothing_fresh_goes(desk: Desk) -> None:
    await desk.create_topic()
    await desk.send(body=b"x")
    codes = (RequestCode.DELETE_EXPIRED_COMMITLOG, RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
    answers = [(await desk.ask(code)).code for code in codes]

    assert answers == [0, 0]
    store = desk.app.broker.store
    assert (store.min_log_offset, len(store.queues())) == (0, 1)


async def fill_files(desk: Desk, count: int) -> None:
    """Send so much that all but the last log file may be deleted."""
    await desk.create_topic()
    for number in range(count):
        assert (await desk.send(b"%d " % number * 4_000)).code == ResponseCode.SUCCESS
    store = desk.app.broker.store
    await until(
        lambda: store.cleaner._safe_file.safe_log_offset >= store.written_offset - (1 << 17)
    )


async def test_everybody_is_served_while_old_files_are_deleted_and_their_readers_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = broker_settings(tmp_path)
    config.store.mapped_file_size_commit_log = 128 << 10
    config.store.file_reserved_time_h = 0
    config.store.clean_resource_interval_ms = 100
    config.store.delete_when = ""
    config.store.flush_consume_queue_thorough_interval_ms = 100

    async with running(tmp_path, config=config) as desk:
        await fill_files(desk, 60)
        store, loop = desk.app.broker.store, asyncio.get_running_loop()
        may_delete, may_read = asyncio.Event(), hold_cold_reads(monkeypatch)
        delete = DeleteLogJob.do_work

        def late_delete(job: DeleteLogJob) -> None:
            asyncio.run_coroutine_threadsafe(may_delete.wait(), loop).result(60)
            delete(job)

        monkeypatch.setattr(DeleteLogJob, "do_work", late_delete)
        forget(tmp_path)
        reader = asyncio.ensure_future(desk.pull(queue_offset=0, max_msg_nums=1))
        await desk.ask(RequestCode.DELETE_EXPIRED_COMMITLOG, timeout_s=30)
        await until(lambda: store.min_log_offset)
        # The thread is at it, and the loop serves.
        assert (await desk.send(b"meanwhile")).code == ResponseCode.SUCCESS
        assert await desk.bodies(queue_offset=60) == [b"meanwhile"]
        may_delete.set()
        await until(lambda: not (tmp_path / "commitlog" / f"{0:020d}").exists())
        may_read.set()
        async with asyncio.timeout(60):
            answer = await reader
        assert store.min_log_offset > 0

    # What it asked for is gone, or it was read before it went.
    assert answer.code in (ResponseCode.SUCCESS, ResponseCode.PULL_OFFSET_MOVED)
