"""Pops through crashes, starts, resets of offsets, and a slave that takes over.

A crash is a copy of the store of a running broker: what a SIGKILL leaves.
"""

import shutil
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from mqserver.broker.pop import revive
from mqserver.runtime.clock import SystemClock
from mqserver.store.commitlog.flush import FlushJob
from remoting.codes import RequestCode
from storefmt.config.tables import ConsumerOffsets
from tests.server.broker.desk import GROUP, TOPIC, Desk, HeldBack, broker_settings, running
from tests.server.broker.ha.pairs import Pair, equal_ends, state_of
from tests.server.broker.pop.popdesk import ack, ask_pop, bodies, pop
from tests.server.broker.pop.test_pop import REVIVE_LOG, open_count, sent
from tests.waiting import eventually, until

SHORT_MS = 1_500


class Ahead(SystemClock):
    """The clocks of this machine, and a time that a test goes ahead of them."""

    ahead_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.ahead_ms

    def steady_ms(self) -> int:
        return super().steady_ms() + self.ahead_ms


async def popped_until_empty(desk: Desk, count: int) -> list[bytes]:
    """Return what comes, and acknowledge it, until ``count`` messages came and no more do."""
    found: list[bytes] = []

    async def more() -> bool:
        for one in await pop(desk):
            found.append(one.body)
            await ack(desk, one.handle)
        return len(found) >= count

    await eventually(more, bool)
    await until(lambda: not open_count(desk), what="all pops closed")
    await more()
    return sorted(found)


def crash_image(running: Path, image: Path) -> None:
    """Copy the store of a running broker; a file that it is about to rename is not there yet.

    A kill leaves the files of one moment. Where one was renamed during the copy, it is made again.
    """
    for _ in range(100):
        try:
            shutil.copytree(running, image, ignore=shutil.ignore_patterns("*.tmp"))
        except shutil.Error:
            shutil.rmtree(image)
        else:
            return
    raise AssertionError(f"{running} changes all the time")


@pytest.mark.parametrize("sync", [False, True])
async def test_crash_forgets_no_message_and_repeats_none_that_was_acknowledged(
    tmp_path: Path, sync: bool
) -> None:
    """The saved offsets are older than all pops, so the log alone knows of them."""
    config = Path("config", "consumerOffset.json")
    # A test may take longer than the five seconds after which offsets are saved.
    never_ms = 3_600_000
    async with running(
        tmp_path / "a", sync=sync, flush_consumer_offset_interval_ms=never_ms
    ) as desk:
        # A file that is missing at a start is written soon after it.
        await until((tmp_path / "a" / config).exists, what="offsets saved")
        await sent(desk, 6)
        first = await pop(desk, max_msg_nums=4, invisible_time=SHORT_MS)
        await ack(desk, first[0].handle)
        await ack(desk, first[2].handle)
        crash_image(tmp_path / "a", tmp_path / "b")
    saved = (tmp_path / "b" / config).read_text()
    async with running(tmp_path / "b", sync=sync) as desk:
        at_once = await pop(desk)
        for one in at_once:
            await ack(desk, one.handle)
        again = await popped_until_empty(desk, 2)

    assert REVIVE_LOG not in saved
    assert bodies(at_once) == [b"4", b"5"]
    assert again == [b"1", b"3"]


async def test_what_was_revived_before_a_crash_is_not_revived_again(tmp_path: Path) -> None:
    async with running(tmp_path / "a") as desk:
        await sent(desk, 1)
        await pop(desk, invisible_time=1)
        (again,) = await eventually(lambda: pop(desk, invisible_time=60_000), bool)
        await ack(desk, again.handle)
        crash_image(tmp_path / "a", tmp_path / "b")
    async with running(tmp_path / "b") as desk:
        await until(lambda: desk.app.broker.pops.revive.is_caught_up, what="caught up")

        assert again.record.reconsume_times == 1
        assert open_count(desk) == 0
        assert await pop(desk) == []


async def test_start_goes_on_where_the_revive_log_is_still_open(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await sent(desk, 3)
        first = await pop(desk)
        for one in first[:2]:
            await ack(desk, one.handle)
    text = (tmp_path / "config" / "consumerOffset.json").read_bytes()
    async with running(tmp_path) as desk:
        await until(lambda: desk.app.broker.pops.revive.is_caught_up, what="caught up")
        open_before = open_count(desk)
        await ack(desk, first[2].handle)
        await until(lambda: not open_count(desk), what="the pop closed")

        assert open_before == 1
        assert await pop(desk) == []
    offsets = ConsumerOffsets.decode(text).by_queue()
    assert offsets[TOPIC, GROUP] == {0: 3}
    # The checkpoint is the first entry of its queue, so nothing of this queue is done with.
    queue = first[0].handle.revive_queue_id
    assert queue not in offsets.get((REVIVE_LOG, "CID_RMQ_SYS_REVIVE_GROUP"), {})


async def test_offset_that_was_set_back_after_a_pop_stays_set_back(tmp_path: Path) -> None:
    async with running(tmp_path) as desk:
        await sent(desk, 3)
        await pop(desk)
        await until(lambda: open_count(desk) == 1, what="the pop open")
        await desk.commit(0)
    async with running(tmp_path) as desk:
        assert bodies(await pop(desk)) == [b"0", b"1", b"2"]


async def test_a_flush_that_runs_when_the_broker_stops_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, where the clock began a flush just before the stop."""
    flushes = HeldBack(monkeypatch, FlushJob)
    async with running(tmp_path) as desk:
        await sent(desk, 3)
        await pop(desk)
        await until(lambda: open_count(desk) == 1, what="the pop open")
        await desk.commit(0)
        await flushes.let_go_during_the_stop()
    async with running(tmp_path) as desk:
        assert bodies(await pop(desk)) == [b"0", b"1", b"2"]


async def test_saved_offsets_count_a_pop_only_when_its_checkpoint_is_on_the_disk(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sent(desk, 3)
    broker = desk.app.broker
    flushed = broker.store.flushed_offset
    with monkeypatch.context() as patch:
        patch.setattr(type(broker.store), "flushed_offset", property(lambda self: flushed))
        (first,) = await pop(desk, max_msg_nums=1)
        await until(lambda: open_count(desk) == 1, what="the pop open")
        before = broker.saved_offsets().by_queue()
    await until(lambda: not broker.store.needs_flush, what="the log flushed")
    after = broker.saved_offsets().by_queue()

    place = REVIVE_LOG, "CID_RMQ_SYS_REVIVE_COUNTED"
    queue = first.handle.revive_queue_id
    assert (before[TOPIC, GROUP], before[place][queue]) == ({0: 0}, 0)
    assert (after[TOPIC, GROUP], after[place][queue]) == ({0: 1}, 1)


async def test_checkpoint_that_is_open_for_long_is_written_again_with_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path / "a") as desk:
        await sent(desk, 2)
        first = await pop(desk, invisible_time=SHORT_MS)
        await ack(desk, first[0].handle)
        queue = first[0].handle.revive_queue_id
        store = desk.app.broker.store
        await until(lambda: store.max_offset(REVIVE_LOG, queue) == 2, what="both records")
        monkeypatch.setattr(revive, "RENEW_MS", 0)
        await until(lambda: store.max_offset(REVIVE_LOG, queue) >= 3, what="it is written again")
        monkeypatch.undo()
        crash_image(tmp_path / "a", tmp_path / "b")
    async with running(tmp_path / "b") as desk:
        again = await popped_until_empty(desk, 1)

    assert again == [b"1"]


async def test_slave_that_takes_over_knows_what_was_popped_and_what_was_acknowledged(
    pair: Pair,
) -> None:
    master = await pair.start("m", BrokerRole.ASYNC_MASTER)
    await sent(master, 6)
    slave = await pair.start("s", BrokerRole.SLAVE)
    refused = await ask_pop(slave)
    first = await pop(master, max_msg_nums=4, invisible_time=SHORT_MS)
    await ack(master, first[0].handle)
    await ack(master, first[2].handle)
    await equal_ends(master, slave)
    await pair.stop("m")
    await until(lambda: state_of(slave) == "CONNECTING", what="lost")
    assert (await pair.promote("s")).code == 0

    at_once = await pop(slave, poll_time=10_000)
    for one in at_once:
        await ack(slave, one.handle)
    again = await popped_until_empty(slave, 2)

    assert (refused.code, "is a slave" in (refused.remark or "")) == (14, True)
    assert bodies(at_once) == [b"4", b"5"]
    assert again == [b"1", b"3"]


async def test_retention_takes_what_was_popped_and_the_revive_log_goes_on(tmp_path: Path) -> None:
    config = broker_settings(tmp_path)
    config.store.file_reserved_time_h = 0
    clock = Ahead()
    async with running(tmp_path, config=config, clock=clock) as desk:
        await sent(desk, 2)
        store = desk.app.broker.store
        first = await pop(desk, max_msg_nums=1, invisible_time=600_000)
        await until(lambda: open_count(desk) == 1, what="the pop open")
        for _ in range(30):
            await desk.send(bytes(100_000))
        await desk.ask(RequestCode.DELETE_EXPIRED_COMMITLOG)
        await until(lambda: store.min_offset(TOPIC, 0) > 2, what="the first log file deleted")
        clock.ahead_ms = 600_000

        await until(lambda: not open_count(desk), what="the pop closed")
        following = await pop(desk, max_msg_nums=1)
        late = await ack(desk, first[0].handle)

        assert not store.has(f"%RETRY%{GROUP}_{TOPIC}")
        assert following[0].record.queue_offset == store.min_offset(TOPIC, 0)
        assert late.code == 208
    async with running(tmp_path) as desk:
        await until(lambda: desk.app.broker.pops.revive.is_caught_up, what="caught up")
        assert open_count(desk) == 1
