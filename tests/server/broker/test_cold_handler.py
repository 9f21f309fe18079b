"""Requests that read the log: what is not in memory is read by a thread, the answer is the same."""

import asyncio
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.broker.cold_handler import READS_PER_SLICE, read_all, read_each
from mqserver.runtime.slices import Wait
from mqserver.store.disk import nowait
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import (
    GetConsumeStats,
    GetConsumeStatsInBroker,
    GetTopicStatsInfo,
    ResetOffset,
    SearchOffset,
    SearchOffsetResponse,
    ViewMessage,
)
from tests.descriptors import descriptor_count
from tests.server.broker.desk import Desk, running
from tests.server.broker.serving.test_cold_reads import fill
from tests.server.cold_disk import forget, hold_cold_reads, skip_unless_cold
from tests.waiting import until


async def test_search_by_time_in_cold_data_goes_by_way_of_threads(
    desk: Desk, tmp_path: Path
) -> None:
    await fill(desk)
    reader = desk.app.broker.store.reader
    time_ms = reader.store_time("T", 0, 20)
    expected = reader.offset_by_time("T", 0, time_ms)
    forget(tmp_path)
    header = SearchOffset(topic="T", queue_id=0, timestamp=time_ms)
    answer = await desk.ask(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    assert answer.code == ResponseCode.SUCCESS
    assert answer.header(SearchOffsetResponse).offset == expected
    skip_unless_cold(desk.app.broker.cold.count)


async def test_view_of_a_cold_record_that_is_none_is_refused_as_ever(
    desk: Desk, tmp_path: Path
) -> None:
    await fill(desk)
    forget(tmp_path)
    answer = await desk.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessage(offset=3))
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "can not find message by the offset, 3",
    )


@pytest.mark.parametrize("code", [RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.PULL_MESSAGE])
async def test_request_that_waits_for_a_thread_counts_as_in_flight_until_it_is_answered(
    code: RequestCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_read = hold_cold_reads(monkeypatch)
    tags = "A || " * 10_000

    async with running(tmp_path) as desk:
        await fill(desk)
        (conn,) = desk.app._server.connections
        kept_size = conn.held_size
        forget(tmp_path)
        if code is RequestCode.PULL_MESSAGE:
            request = desk.pull(queue_offset=10, subscription=tags)
        else:
            request = desk.ask(code, ViewMessage(offset=3), body=tags.encode())
        waiting = asyncio.ensure_future(request)
        await until(lambda: waiting.done() or desk.app.broker.cold.count > 0)
        held_size, is_cold = conn.held_size, not waiting.done()
        may_read.set()
        await waiting
        left_size = conn.held_size

    skip_unless_cold(is_cold)
    assert held_size >= len(tags)
    assert left_size == kept_size


def test_what_has_to_wait_may_also_within_no_wait() -> None:
    with nowait.no_wait():
        with nowait.may_wait():
            assert not nowait.MODE.no_wait
        with nowait.no_wait(False):
            assert nowait.MODE.no_wait
    assert not nowait.MODE.no_wait


async def ask_everything(desk: Desk) -> list[bytes]:
    """Ask whatever goes by the times of messages."""
    store_ms = desk.app.broker.store.reader.store_time("T", 0, 20)
    answers = [
        await desk.ask(code, header)
        for code, header in (
            (RequestCode.GET_CONSUME_STATS, GetConsumeStats(consumer_group="G", topic="T")),
            (RequestCode.GET_BROKER_CONSUME_STATS, GetConsumeStatsInBroker(is_order=False)),
            (RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfo(topic="T")),
            (
                RequestCode.INVOKE_BROKER_TO_RESET_OFFSET,
                ResetOffset(topic="T", group="G", timestamp=store_ms, is_force=True),
            ),
        )
    ]
    assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * len(answers)
    return [answer.body for answer in answers]


async def test_progress_and_resets_in_cold_data_go_by_way_of_threads(
    desk: Desk, tmp_path: Path
) -> None:
    await fill(desk)
    desk.app.broker.offsets.commit("G", "T", queue_id=0, queue_offset=40)
    warm = await ask_everything(desk)
    assert desk.app.broker.cold.count == 0
    forget(tmp_path)

    assert await ask_everything(desk) == warm
    skip_unless_cold(desk.app.broker.cold.count)


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    """Open a file of one byte."""
    (tmp_path / "file").write_bytes(b"x")
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


async def test_reads_that_do_not_need_each_other_are_warmed_together(desk: Desk, fd: int) -> None:
    is_cold = True

    def read() -> int:
        if is_cold:
            raise nowait.ColdRead(fd, 1, 0)
        return 2

    steps = read_each(desk.app.broker, [lambda: 1, read, read, read])
    wait = next(steps)
    assert isinstance(wait, Wait)
    warmed: list[int] = []
    wait.begin(warmed.append)
    await until(lambda: len(warmed) == 1)
    assert desk.app.broker.cold.count == 1
    is_cold = False
    with pytest.raises(StopIteration) as ended:
        next(steps)

    assert ended.value.value == [1, 2, 2, 2]


async def test_many_reads_let_others_go_first(desk: Desk) -> None:
    reads = [lambda: 1] * (2 * READS_PER_SLICE + 1)
    assert list(read_each(desk.app.broker, reads)) == [None, None]


def test_a_read_that_fails_behind_a_cold_one_leaves_no_descriptor(fd: int) -> None:
    before = descriptor_count()

    def cold() -> None:
        raise nowait.ColdRead(fd, 1, 0)

    def broken() -> None:
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        read_all([cold, cold, broken])

    assert descriptor_count() == before
