"""One turn and its answers, with a store and a disk that fail on demand."""

import asyncio
import threading
from collections.abc import Callable
from typing import cast

import pytest

from mqserver.broker.serving import group_commit as commit_module
from mqserver.broker.serving.answers import SendAnswers
from mqserver.broker.serving.group_commit import GroupCommit
from mqserver.broker.serving.overload import DISK_IS_BUSY, Overload
from mqserver.broker.stats.counters import PutTimes
from mqserver.store.disk.job import DiskJob
from mqserver.store.store import MessageStore
from mqserver.store.store_errors import StoreFailed, StoreFull
from remoting.codes import ResponseCode
from remoting.command import Command
from tests.server.doubles import FakeClock, FakeConn


@pytest.fixture(autouse=True)
def waits_for_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a turn wait for the end of its write, however long a thread takes."""
    monkeypatch.setattr(commit_module, "WRITE_WAIT_MS", 60_000)


@pytest.fixture
def goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a turn wait for no write."""
    monkeypatch.setattr(commit_module, "WRITE_WAIT_MS", 0)


ANSWERS = SendAnswers(region="R", trace_on=True, store_host=b"\x7f\0\0\x01\0\0\0\1")


class Job(DiskJob):
    """A write or a flush that waits until it may run."""

    segment = None
    size = 1
    begin = end = 0

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate

    def work(self) -> None:
        assert self._gate.wait(60)


class Store:
    """Counts what a turn asks for."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.write_error: StoreFailed | None = None
        self.flush_error: StoreFailed | None = None
        self.is_read_only = False
        self.gate = threading.Event()
        self.gate.set()
        self.write_gate = threading.Event()
        self.write_gate.set()
        self.waiting_count = self.waiting_size = self.written_offset = 0
        self.is_put = False
        self.cleaner = self

    def disk_used(self) -> float:
        return 0.5

    def begin_write(self, now_ms: int) -> Job:
        self.calls.append("write")
        self.is_put = False
        return Job(self.write_gate)

    def end_write(self, job: Job) -> None:
        if self.write_error is not None:
            self.is_put = False
            raise self.write_error

    def show_written(self, now_ms: int) -> None:
        self.calls.append("show")

    def begin_flush(self) -> Job | None:
        self.calls.append("begin")
        return None if self.is_read_only else Job(self.gate)

    def end_flush(self, job: Job) -> None:
        self.calls.append("end")
        if self.flush_error is not None:
            raise self.flush_error


def group_commit_on(
    store: Store,
    *,
    sync: bool,
    visible: Callable[[int], None] = lambda _: None,
    clock: FakeClock | None = None,
    sends: "Sends | None" = None,
) -> GroupCommit:
    clock = clock or FakeClock()
    group_commit = GroupCommit(
        cast(MessageStore, store),
        clock=clock,
        answers=ANSWERS,
        sends=sends or Sends([]),
        sync_flush=sync,
        overload=Overload(count_max=3, size_max=1 << 26, busy_ms=1_000, stale_ms=200),
        times=PutTimes(clock.now_ms()),
        after_write=visible,
    )
    group_commit.open(asyncio.get_running_loop())
    return group_commit


async def written(group_commit: GroupCommit) -> None:
    while group_commit._writing is not None:
        await asyncio.sleep(0)


def acknowledge(
    group_commit: GroupCommit, conn: FakeConn, opaque: int, *, waits: bool = True
) -> None:
    frame = ANSWERS.stored(0, opaque, queue_id=0, queue_offset=opaque, message_id="x")
    group_commit.ack(conn, frame, opaques=(opaque,), serialize=0, waits=waits)  # type: ignore[arg-type]


async def flushed(group_commit: GroupCommit) -> None:
    while group_commit._flushing is not None:
        await asyncio.sleep(0)


def outcome(sent: list[Command]) -> list[tuple[int, int]]:
    return [(one.opaque, one.code) for one in sent]


async def test_answers_of_one_turn_follow_one_write() -> None:
    store, conn, told = Store(), FakeConn(), []
    group_commit = group_commit_on(store, sync=False)
    acknowledge(group_commit, conn, 1)
    acknowledge(group_commit, conn, 2)
    group_commit.when_safe(told.append)
    assert conn.sent == []
    await asyncio.sleep(0)
    await group_commit.close()

    assert store.calls[:1] == ["write"]
    assert outcome(conn.sent) == [(1, 0), (2, 0)]
    assert told == [ResponseCode.SUCCESS]


async def test_failed_write_acknowledges_nothing_and_says_why() -> None:
    store, conn, told = Store(), FakeConn(), []
    group_commit = group_commit_on(store, sync=False)
    store.write_error = StoreFull("disk is full; free space")
    acknowledge(group_commit, conn, 1)
    group_commit.when_safe(told.append)
    group_commit.commit()
    store.write_error = None
    acknowledge(group_commit, conn, 2)
    group_commit.commit()

    assert outcome(conn.sent) == [(1, 14), (2, 0)]
    assert "disk is full" in (conn.sent[0].remark or "")
    assert told == [ResponseCode.SERVICE_NOT_AVAILABLE]


async def test_sync_flush_holds_answers_until_the_disk_has_them_and_groups_the_next() -> None:
    store, conn = Store(), FakeConn()
    group_commit = group_commit_on(store, sync=True)
    store.gate.clear()
    for opaque in (1, 2):
        acknowledge(group_commit, conn, opaque)
        group_commit.commit()
    acknowledge(group_commit, conn, 3)
    acknowledge(group_commit, conn, 4, waits=False)
    group_commit.commit()
    assert outcome(conn.sent) == [(4, 0)]
    store.gate.set()
    await group_commit.close()

    assert outcome(conn.sent) == [(4, 0), (1, 0), (2, 0), (3, 0)]
    assert [call for call in store.calls if call not in ("write", "show")] == ["begin", "end"] * 2


async def test_failed_flush_answers_that_the_disk_is_not_sure_and_refuses_the_rest() -> None:
    store, conn, told = Store(), FakeConn(), []
    group_commit = group_commit_on(store, sync=True)
    store.flush_error = StoreFailed("fsync: input/output error")
    store.gate.clear()
    acknowledge(group_commit, conn, 1)
    group_commit.when_safe(told.append)
    group_commit.commit()
    acknowledge(group_commit, conn, 2)
    group_commit.when_safe(told.append)
    group_commit.commit()
    store.gate.set()
    await flushed(group_commit)

    assert outcome(conn.sent) == [(1, 10), (2, 14)]
    assert told == [ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.SERVICE_NOT_AVAILABLE]


async def test_flush_without_a_descriptor_is_in_doubt_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commit_module, "FLUSH_AGAIN_S", 0)

    store, conn = Store(), FakeConn()
    group_commit = group_commit_on(
        store, sync=True, visible=lambda _: store.calls.append("visible")
    )
    store.flush_error = StoreFull("disk sync: too many open files")
    store.gate.clear()
    for opaque in (1, 2):
        acknowledge(group_commit, conn, opaque)
        group_commit.commit()
    store.gate.set()
    await flushed(group_commit)
    store.flush_error = None
    while "visible" not in store.calls:
        await asyncio.sleep(0)
    await group_commit.close()

    assert outcome(conn.sent) == [(1, 10), (2, 10)]
    calls = [call for call in store.calls if call not in ("write", "show")]
    assert calls == ["begin", "end", "begin", "end", "visible", "begin", "end", "visible"]


async def test_consumers_are_woken_after_the_write_or_the_flush() -> None:
    for sync, flush in ((False, []), (True, ["begin", "end"])):
        store = Store()
        group_commit = group_commit_on(
            store, sync=sync, visible=lambda _, calls=store.calls: calls.append("woken")
        )
        group_commit.commit()
        await flushed(group_commit)

        assert store.calls == ["write", "show", *flush, "woken"]


async def test_store_that_became_read_only_is_not_taken_for_flushed() -> None:
    store, conn = Store(), FakeConn()
    store.is_read_only = True
    group_commit = group_commit_on(store, sync=True)
    acknowledge(group_commit, conn, 1)
    group_commit.commit()
    assert outcome(conn.sent) == [(1, 10)]


async def test_disk_that_takes_too_long_refuses_sends_until_it_is_back() -> None:
    store, conn, clock = Store(), FakeConn(), FakeClock()
    group_commit = group_commit_on(store, sync=True, clock=clock)
    refusals = []
    store.gate.clear()
    acknowledge(group_commit, conn, 1)
    group_commit.commit()
    for passed_ms in (1_000, 1):
        clock.ms += passed_ms
        acknowledge(group_commit, conn, clock.ms)
        group_commit.commit()
        refusals.append(group_commit.overload.refusal)
    group_commit.expire(clock.ms, timeout_ms=1_001)
    assert outcome(conn.sent) == [(1, 10)]
    store.gate.set()
    await group_commit.close()
    refusals.append(group_commit.overload.refusal)

    assert refusals == ["", DISK_IS_BUSY, ""]
    assert outcome(conn.sent)[1:] == [(1_001_000, 0), (1_001_001, 0)]


@pytest.mark.usefixtures("goes_on")
async def test_puts_go_on_while_a_write_hangs_and_follow_with_the_next_one() -> None:
    store, conn = Store(), FakeConn()
    group_commit = group_commit_on(store, sync=False)
    store.write_gate.clear()
    acknowledge(group_commit, conn, 1)
    group_commit.commit()
    for opaque in (2, 3):
        store.is_put = True
        acknowledge(group_commit, conn, opaque)
        group_commit.commit()
    assert conn.sent == []
    assert store.calls == ["write"]
    store.write_gate.set()
    await written(group_commit)
    await group_commit.close()

    assert outcome(conn.sent) == [(1, 0), (2, 0), (3, 0)]
    assert store.calls[:4] == ["write", "write", "show", "show"]


@pytest.mark.usefixtures("goes_on")
async def test_failed_write_refuses_what_was_put_behind_it() -> None:
    store, conn, told = Store(), FakeConn(), []
    group_commit = group_commit_on(store, sync=True)
    store.write_gate.clear()
    acknowledge(group_commit, conn, 1)
    group_commit.commit()
    store.is_put = True
    acknowledge(group_commit, conn, 2)
    acknowledge(group_commit, conn, 3, waits=False)
    group_commit.when_safe(told.append)
    group_commit.commit()
    store.write_error = StoreFull("disk is full")
    store.write_gate.set()
    await written(group_commit)

    assert sorted(outcome(conn.sent)) == [(1, 14), (2, 14), (3, 14)]
    assert told == [ResponseCode.SERVICE_NOT_AVAILABLE]


@pytest.mark.usefixtures("goes_on")
async def test_call_without_a_put_waits_for_the_write_that_runs() -> None:
    store, told = Store(), []
    group_commit = group_commit_on(store, sync=False)
    store.write_gate.clear()
    group_commit.commit()
    group_commit.when_safe(told.append)
    group_commit.commit()
    assert told == []
    store.write_gate.set()
    await written(group_commit)
    await group_commit.close()

    assert told == [ResponseCode.SUCCESS]


@pytest.mark.usefixtures("goes_on")
async def test_sends_are_refused_while_a_write_takes_too_long() -> None:
    store, conn, clock = Store(), FakeConn(), FakeClock()
    group_commit = group_commit_on(store, sync=False, clock=clock)
    store.write_gate.clear()
    refusals = []
    acknowledge(group_commit, conn, 1)
    group_commit.commit()
    for passed_ms in (199, 1, 801):
        clock.ms += passed_ms
        group_commit.commit()
        refusals.append(group_commit.overload.refusal)
    store.write_gate.set()
    await written(group_commit)
    await group_commit.close()

    busy = (
        "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, "
        "period in queue: 200ms, size of queue: 0"
    )
    assert refusals == ["", busy, DISK_IS_BUSY]
    assert group_commit.overload.refusal == ""
    assert outcome(conn.sent) == [(1, 0)]


async def test_refused_write_says_how_full_the_disk_is() -> None:
    store, conn = Store(), FakeConn()
    group_commit = group_commit_on(store, sync=False)
    store.write_error = StoreFull("no space")
    acknowledge(group_commit, conn, 1)
    group_commit.commit()
    assert conn.sent[0].remark == (
        "no space; service not available now. It may be caused by one of the following reasons: "
        "the broker's disk is full [CL:  0.50 CQ:  0.50 INDEX:  0.50], messages are put to the "
        "slave, message store has been shut down, etc."
    )


class Sends:
    """Tells when answers are held and let go."""

    def __init__(self, calls: list[str]) -> None:
        self._calls = calls

    def defer_writes(self) -> None:
        self._calls.append("hold")

    def flush(self) -> None:
        self._calls.append("flush")


async def test_answers_of_a_turn_are_let_go_once_also_when_waking_fails() -> None:
    store = Store()

    def fail(now_ms: int) -> None:
        store.calls.append("wake")
        raise OSError("cannot read the messages")

    group_commit = group_commit_on(store, sync=False, visible=fail, sends=Sends(store.calls))
    group_commit.commit()

    assert store.calls == ["write", "show", "hold", "wake", "flush"]
