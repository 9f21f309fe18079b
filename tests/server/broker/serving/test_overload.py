"""When sends are refused, and a broker whose disk is too slow for its clients."""

import asyncio
import threading
from pathlib import Path

import pytest

from mqserver.broker.serving import flusher
from mqserver.broker.serving.overload import (
    DISK_IS_BUSY,
    TOO_MUCH_WAITS,
    Overload,
)
from mqserver.store.commitlog.flush import FlushJob
from remoting.codes import ResponseCode
from tests.server.broker.desk import bodies_in, running, with_topic
from tests.waiting import until

STALE = (
    "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, "
    "period in queue: {}ms, size of queue: {}"
)


@pytest.mark.parametrize(
    ("count", "size", "sync_ms", "write_ms", "refusal"),
    [
        (0, 0, 0, 0, ""),
        (9, 4_999, 1_000, 199, ""),
        (10, 0, 0, 0, TOO_MUCH_WAITS),
        (0, 5_000, 0, 200, TOO_MUCH_WAITS),
        (4, 0, 0, 200, STALE.format(200, 4)),
        (4, 0, 0, 1_000, STALE.format(1_000, 4)),
        (10, 0, 1_001, 0, DISK_IS_BUSY),
        (10, 0, 0, 1_001, DISK_IS_BUSY),
    ],
)
def test_sends_are_refused_by_what_waits_and_how_long(
    count: int, size: int, sync_ms: int, write_ms: int, refusal: str
) -> None:
    overload = Overload(count_max=10, size_max=5_000, busy_ms=1_000, stale_ms=200)

    overload.judge(waiting_count=count, waiting_size=size, sync_ms=sync_ms, write_ms=write_ms)

    assert overload.refusal == refusal


def test_without_fast_failure_only_the_page_cache_counts() -> None:
    patient = Overload(count_max=10, size_max=5_000, busy_ms=1_000, stale_ms=None)

    patient.judge(waiting_count=0, waiting_size=0, sync_ms=0, write_ms=1_000)
    assert patient.refusal == ""
    patient.judge(waiting_count=0, waiting_size=0, sync_ms=0, write_ms=1_001)
    assert patient.refusal == DISK_IS_BUSY


class SlowDisk:
    """Holds every sync of the commit log until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.gate.set()
        run = FlushJob.do_work

        def slow(job: FlushJob) -> None:
            assert self.gate.wait(60)
            run(job)

        monkeypatch.setattr(FlushJob, "do_work", slow)

        # The compiled thread syncs without this method; ``test_held_disk`` holds that one.
        monkeypatch.setattr(flusher, "disk_thread", None)


async def test_pulls_and_heartbeats_go_on_while_the_disk_takes_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)

    async with with_topic(tmp_path, sync=True) as desk:
        await desk.send(b"before")
        disk.gate.clear()
        waiting = asyncio.ensure_future(desk.send(b"waits"))
        # The disk is at it until all of these are answered, on the same connection.
        for _ in range(50):
            await desk.heartbeat()
            assert await desk.bodies() == [b"before"]
        assert not waiting.done()
        disk.gate.set()
        assert (await waiting).code == ResponseCode.SUCCESS


async def test_slow_disk_refuses_what_it_cannot_take_and_keeps_what_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most, sent = 20, 200
    disk = SlowDisk(monkeypatch)

    async with with_topic(tmp_path, sync=True, send_thread_pool_queue_capacity=most) as desk:
        store = desk.app.broker.store
        disk.gate.clear()
        answers = []
        for at in range(sent):
            answers.append(asyncio.ensure_future(desk.send(b"%d" % at)))
            while store.waiting_count + sum(one.done() for one in answers) <= at:
                await asyncio.sleep(0)
        assert (store.waiting_count, store.max_offset("T", 0)) == (most, 0)
        disk.gate.set()
        ended = await asyncio.gather(*answers)
        assert (await desk.send(b"again")).code == 0
        acknowledged = [b"%d" % at for at, one in enumerate(ended) if one.code == 0]
        found = await desk.bodies()

    assert found == [*acknowledged, b"again"]
    assert {one.code for one in ended} == {ResponseCode.SUCCESS, ResponseCode.SYSTEM_BUSY}
    assert {one.remark for one in ended if one.code} == {TOO_MUCH_WAITS}
    assert len(acknowledged) == most
    assert await bodies_in(tmp_path, sync=True) == found


async def test_messages_the_disk_does_not_sync_in_time_are_answered_10_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)

    async with running(tmp_path, sync=True) as desk:
        store = desk.app.broker.store
        desk.app.broker.config.store.sync_flush_timeout_ms = 1
        await desk.create_topic()
        disk.gate.clear()

        answer = await desk.send(b"late")

        assert (answer.code, answer.ext["queueOffset"]) == (ResponseCode.FLUSH_DISK_TIMEOUT, "0")
        assert store.max_offset("T", 0) == 0
        disk.gate.set()
        await desk.send(b"next")
        # Which may be answered before the disk has it, too.
        await until(lambda: store.max_offset("T", 0) == 2)
        assert await desk.bodies() == [b"late", b"next"]
