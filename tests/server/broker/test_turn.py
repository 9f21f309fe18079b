"""One turn and its answers, with a store and a disk that fail on demand."""

import asyncio
import threading
from collections.abc import Callable
from typing import cast

from remoting.codes import ResponseCode
from remoting.command import Command
from server.broker.answers import SendAnswers
from server.broker.turn import Turn
from server.store.errors import StoreFailed, StoreFull
from server.store.store import MessageStore
from tests.server.doubles import FakeClock, FakeConn

ANSWERS = SendAnswers(region="R", trace_on=True, store_host=b"\x7f\0\0\x01\0\0\0\1")


class Job:
    """A flush that waits until it may run."""

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate

    def run(self) -> None:
        self._gate.wait(5)


class Store:
    """Counts what a turn asks for."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.write_error: StoreFailed | None = None
        self.flush_error: StoreFailed | None = None
        self.is_read_only = False
        self.gate = threading.Event()
        self.gate.set()

    def write(self, now_ms: int) -> None:
        self.calls.append("write")
        if self.write_error is not None:
            raise self.write_error

    def begin_flush(self) -> Job | None:
        self.calls.append("begin")
        return None if self.is_read_only else Job(self.gate)

    def end_flush(self, job: Job) -> None:
        self.calls.append("end")
        if self.flush_error is not None:
            raise self.flush_error


def turn_on(store: Store, *, sync: bool, visible: Callable[[int], None] = lambda _: None) -> Turn:
    turn = Turn(
        cast(MessageStore, store),
        clock=FakeClock(),
        answers=ANSWERS,
        sync_flush=sync,
        after_write=visible,
    )
    turn.open(asyncio.get_running_loop())
    return turn


def acknowledge(turn: Turn, conn: FakeConn, opaque: int, *, waits: bool = True) -> None:
    frame = ANSWERS.stored(0, opaque, queue_id=0, queue_offset=opaque, message_id="x")
    turn.ack(conn, frame, opaque=opaque, serialize=0, waits=waits)  # type: ignore[arg-type]


def outcome(sent: list[Command]) -> list[tuple[int, int]]:
    return [(one.opaque, one.code) for one in sent]


def test_answers_of_one_turn_follow_one_write() -> None:
    async def run() -> tuple[list[str], list[tuple[int, int]], list[ResponseCode]]:
        store, conn, told = Store(), FakeConn(), []
        turn = turn_on(store, sync=False)
        acknowledge(turn, conn, 1)
        acknowledge(turn, conn, 2)
        turn.when_safe(told.append)
        assert conn.sent == []
        await asyncio.sleep(0)
        await turn.close()
        return store.calls[:1], outcome(conn.sent), told

    assert asyncio.run(run()) == (["write"], [(1, 0), (2, 0)], [ResponseCode.SUCCESS])


def test_failed_write_acknowledges_nothing_and_says_why() -> None:
    async def run() -> tuple[list[Command], list[ResponseCode]]:
        store, conn, told = Store(), FakeConn(), []
        turn = turn_on(store, sync=False)
        store.write_error = StoreFull("disk is full; free space")
        acknowledge(turn, conn, 1)
        turn.when_safe(told.append)
        turn.commit()
        store.write_error = None
        acknowledge(turn, conn, 2)
        turn.commit()
        return conn.sent, told

    (refused, stored), told = asyncio.run(run())

    assert (refused.opaque, refused.code) == (1, 14)
    assert "disk is full" in (refused.remark or "")
    assert (stored.opaque, stored.code) == (2, 0)
    assert told == [ResponseCode.SERVICE_NOT_AVAILABLE]


def test_sync_flush_holds_answers_until_the_disk_has_them_and_groups_the_next() -> None:
    async def run() -> tuple[list[str], list[list[tuple[int, int]]]]:
        store, conn, seen = Store(), FakeConn(), []
        turn = turn_on(store, sync=True)
        store.gate.clear()
        acknowledge(turn, conn, 1)
        turn.commit()
        acknowledge(turn, conn, 2)
        turn.commit()
        acknowledge(turn, conn, 3)
        acknowledge(turn, conn, 4, waits=False)
        turn.commit()
        seen.append(outcome(conn.sent))
        store.gate.set()
        await turn.close()
        seen.append(outcome(conn.sent))
        return store.calls, seen

    calls, (before, after) = asyncio.run(run())

    assert before == [(4, 0)]
    assert after == [(4, 0), (1, 0), (2, 0), (3, 0)]
    assert [call for call in calls if call != "write"] == ["begin", "end"] * 2


def test_failed_flush_answers_that_the_disk_is_not_sure_and_refuses_the_rest() -> None:
    async def run() -> tuple[list[tuple[int, int]], list[ResponseCode]]:
        store, conn, told = Store(), FakeConn(), []
        turn = turn_on(store, sync=True)
        store.flush_error = StoreFailed("fsync: input/output error")
        store.gate.clear()
        acknowledge(turn, conn, 1)
        turn.when_safe(told.append)
        turn.commit()
        acknowledge(turn, conn, 2)
        turn.when_safe(told.append)
        turn.commit()
        store.gate.set()
        while turn._flushing is not None:
            await asyncio.sleep(0)
        return outcome(conn.sent), told

    sent, told = asyncio.run(run())

    assert sent == [(1, 10), (2, 14)]
    assert told == [ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.SERVICE_NOT_AVAILABLE]


def test_consumers_are_woken_after_the_write_or_the_flush() -> None:
    async def run(*, sync: bool) -> list[str]:
        store = Store()
        turn = turn_on(store, sync=sync, visible=lambda _: store.calls.append("visible"))
        turn.commit()
        while turn._flushing is not None:
            await asyncio.sleep(0)
        return store.calls

    assert asyncio.run(run(sync=False)) == ["write", "visible"]
    assert asyncio.run(run(sync=True)) == ["write", "begin", "end", "visible"]


def test_store_that_became_read_only_is_not_taken_for_flushed() -> None:
    async def run() -> list[tuple[int, int]]:
        store, conn = Store(), FakeConn()
        store.is_read_only = True
        turn = turn_on(store, sync=True)
        acknowledge(turn, conn, 1)
        turn.commit()
        return outcome(conn.sent)

    assert asyncio.run(run()) == [(1, 10)]
