"""Pulls of data that is not in memory: a thread reads it, and the answer is the same."""

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from mqserver.broker.serving.cold_reads import DESCRIPTORS_MAX
from mqserver.store.commitlog import log_read
from mqserver.store.disk import mapped
from mqserver.store.disk.nowait import ColdRead
from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from storefmt.formats.message import Record, decode_records
from tests.descriptors import descriptor_count
from tests.server.broker.desk import Desk, running
from tests.server.cold_disk import forget, hold_cold_reads, skip_unless_cold
from tests.waiting import until

COUNT = 300


async def fill(desk: Desk) -> None:
    await desk.create_topic()
    await desk.heartbeat()
    for number in range(COUNT):
        await desk.send(body=b"%d " % number * 300)
    store = desk.app.broker.store
    # Queue entries reach their files with the upkeep.
    await until(lambda: store._table.queues["T", 0].tail_start >= COUNT - 150)


def bodies(records: list[Record]) -> list[bytes]:
    return [record.body.split()[0] for record in records]


async def test_cold_pull_is_answered_by_way_of_a_thread(desk: Desk, tmp_path: Path) -> None:
    await fill(desk)
    forget(tmp_path)
    cold = await desk.messages(queue_offset=10)
    count = desk.app.broker.cold.count
    assert bodies(await desk.messages(queue_offset=10)) == bodies(cold)
    assert bodies(cold) == [b"%d" % number for number in range(10, 10 + len(cold))]
    skip_unless_cold(count)
    assert desk.app.broker.cold.count == count


async def test_sends_are_answered_while_a_cold_read_hangs(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(desk)
    may_read = hold_cold_reads(monkeypatch)
    forget(tmp_path)
    pull = asyncio.ensure_future(desk.pull(queue_offset=10, commit_offset=7, sys_flag=1))
    await until(lambda: desk.app.broker.cold.count or pull.done())
    sent = await desk.send(body=b"meanwhile")
    was_waiting = not pull.done()
    may_read.set()

    assert ((await pull).code, sent.code) == (ResponseCode.SUCCESS, ResponseCode.SUCCESS)
    skip_unless_cold(was_waiting)


async def test_connection_that_closed_meanwhile_is_not_answered_and_holds_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    await fill(desk)
    forget(tmp_path)
    pull = asyncio.ensure_future(desk.pull(queue_offset=10))
    await asyncio.sleep(0)
    await desk.client.close()
    await asyncio.gather(pull, return_exceptions=True)
    assert len(desk.app.broker.puller.held) == 0


async def test_longest_wait_for_a_disk_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm = ColdRead.warm

    def slow(cold: ColdRead) -> None:
        time.sleep(0.2)
        warm(cold)

    monkeypatch.setattr(ColdRead, "warm", slow)

    async with running(tmp_path) as desk:
        await fill(desk)
        forget(tmp_path)
        await desk.pull(queue_offset=10)
        answer = await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
        shown = KVTable.decode(answer.body).table["getMessageEntireTimeMax"]
        skip_unless_cold(desk.app.broker.cold.count)

    # By a clock that may tick only some sixty times a second.
    assert 150 < int(shown or 0) < 60_000


async def fill_apart(desk: Desk, patch: pytest.MonkeyPatch) -> None:
    """Store messages of one queue that lie so far apart that each is a read of its own."""
    patch.setattr(mapped, "_join", lambda view, parts, base: None)
    patch.setattr(log_read, "PAUSES_MAX", 10**9)
    await desk.create_topic(queues=2)
    await desk.heartbeat()
    for number in range(20):
        await desk.send(body=b"%d " % number * 2_500)
        await desk.send(body=bytes(12_000), queue_id=1)


async def test_sends_are_answered_before_the_rest_of_a_pull_of_much(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_apart(desk, monkeypatch)
    at_once = await desk.pull()
    waiting = [True]
    desk.app.broker.cold.slices.is_waited_for = lambda: waiting[0]
    pull = asyncio.ensure_future(desk.pull())
    sent = await desk.send(body=b"meanwhile", queue_id=1)
    assert not pull.done()
    waiting[0] = False
    in_pieces = await pull

    assert sent.code == at_once.code == in_pieces.code == ResponseCode.SUCCESS
    assert len(decode_records(in_pieces.body)) > 4
    assert in_pieces.body == at_once.body
    assert in_pieces.ext["nextBeginOffset"] == at_once.ext["nextBeginOffset"]


async def test_a_pull_of_much_whose_connection_closes_leaves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill_apart(desk, monkeypatch)
    waiting, reading = [True], desk.app.broker.cold.slices
    reading.is_waited_for = lambda: waiting[0]
    pull = asyncio.ensure_future(desk.pull())
    await until(lambda: reading._begun_count == 1)
    await desk.client.close()
    await asyncio.gather(pull, return_exceptions=True)
    waiting[0] = False
    await until(lambda: reading._begun_count == 0)
    assert desk.app.broker.stats.get_found.count == 0


@pytest.mark.parametrize("is_cold_again", [True, False])
async def test_reads_that_wait_for_a_thread_hold_a_bounded_number_of_descriptors(
    tmp_path: Path, is_cold_again: bool
) -> None:
    may_read = threading.Event()
    path = tmp_path / "file"
    path.write_bytes(b"x")

    class Slow(ColdRead):
        def warm(self) -> None:
            may_read.wait(30)
            super().warm()

    async with running(tmp_path / "store") as desk:
        cold = desk.app.broker.cold
        fd = os.open(path, os.O_RDONLY)
        before = descriptor_count()
        done: set[int] = set()

        def ask(number: int, tries: int = 0) -> None:
            def again(_: int) -> None:
                # What was postponed may be cold again at its next try.
                if number < DESCRIPTORS_MAX or tries or not is_cold_again:
                    done.add(number)
                else:
                    ask(number, tries + 1)

            cold.warm(Slow(fd, 1, 0), again)

        for number in range(3 * DESCRIPTORS_MAX):
            ask(number)
        held = descriptor_count() - before
        may_read.set()
        await until(lambda: len(done) == 3 * DESCRIPTORS_MAX)
        left = descriptor_count() - before
        os.close(fd)
        count = cold.count

    # The broker itself may open or close some.
    assert abs(held - DESCRIPTORS_MAX) <= 8
    assert left <= 8
    assert done == set(range(3 * DESCRIPTORS_MAX))
    assert count == (3 if is_cold_again else 1) * DESCRIPTORS_MAX
