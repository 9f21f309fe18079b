"""Which event leads a slave where, and what a slave reports to a master that a test plays."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha import receiving
from mqserver.broker.ha.frames import HEADER, REPORT
from mqserver.broker.ha.receiving import MOVES, Compare, Receiver, SlaveEvent, SlaveState
from mqserver.broker.serving.flusher import Flusher
from mqserver.runtime.clock import SystemClock
from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.commitlog.log_write import LogWrite
from mqserver.store.store import MessageStore
from tests.server.store.stores import START_MS, open_store, put_all, small_config
from tests.waiting import TIMEOUT_S, until


def after(*events: SlaveEvent) -> SlaveState:
    state = SlaveState.IDLE
    for event in events:
        state = MOVES.get((state, event), state)
    return state


def test_slave_receives_only_after_its_log_was_compared() -> None:
    assert after(SlaveEvent.ADDRESS, SlaveEvent.CONNECTED) is SlaveState.COMPARING
    assert after(SlaveEvent.ADDRESS, SlaveEvent.CONNECTED, SlaveEvent.SAME) is SlaveState.RECEIVING
    leading = {event for (_, event), state in MOVES.items() if state is SlaveState.RECEIVING}
    assert leading == {SlaveEvent.SAME}


@pytest.mark.parametrize(
    "event", [SlaveEvent.CONNECTED, SlaveEvent.SAME, SlaveEvent.LOST, SlaveEvent.BROKEN]
)
def test_slave_whose_log_parts_stays_so_until_it_is_told_of_a_master(event: SlaveEvent) -> None:
    parted = (SlaveEvent.ADDRESS, SlaveEvent.CONNECTED, SlaveEvent.DIFFERS)
    assert after(*parted, event) is SlaveState.DIVERGED
    assert after(*parted, SlaveEvent.ADDRESS) is SlaveState.CONNECTING


def test_slave_whose_disk_breaks_stops_whatever_it_was_at() -> None:
    for events in ((SlaveEvent.CONNECTED,), (SlaveEvent.CONNECTED, SlaveEvent.SAME)):
        assert after(SlaveEvent.ADDRESS, *events, SlaveEvent.BROKEN) is SlaveState.FAILED


def test_every_state_can_end_and_nothing_follows() -> None:
    assert {state for state, event in MOVES if event is SlaveEvent.END} == set(SlaveState)
    assert {event for state, event in MOVES if state is SlaveState.ENDED} == {SlaveEvent.END}


async def equal() -> None:
    """Find that the logs do not differ."""


class Master:
    """A master that a test plays; it knows the connection that its slave made last."""

    def __init__(self, log: bytes, slave: MessageStore, receiver: Receiver) -> None:
        self.log, self.slave, self.receiver = log, slave, receiver
        self.connections: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.Queue()
        )

    async def reports(self, reader: asyncio.StreamReader) -> int:
        """Return the next report."""
        async with asyncio.timeout(TIMEOUT_S):
            data = await reader.readexactly(REPORT.size)
        return int(REPORT.unpack(data)[0])

    def send(self, writer: asyncio.StreamWriter, start: int, end: int) -> None:
        """Send bytes of the log in one frame."""
        writer.write(HEADER.pack(start, end - start) + self.log[start:end])


@asynccontextmanager
async def played(
    root: Path,
    *,
    greeting: bytes = b"",
    housekeeping_ms: int = 60_000,
    compare: Compare = equal,
) -> AsyncIterator[Master]:
    """Yield a master with some messages, whose slave has none and connects to it."""
    source = open_store(small_config(root / "m"))
    put_all(source, range(8))
    log = source.raw.read(0, 1 << 20)
    source.close(START_MS)
    slave = open_store(small_config(root / "s"))
    slave.is_copy = True

    receiver = Receiver(
        slave,
        config=BrokerConfig(
            ha_send_heartbeat_interval_ms=600_000, ha_housekeeping_interval_ms=housekeeping_ms
        ),
        clock=SystemClock(),
        compare=compare,
        written=lambda: None,
    )
    master = Master(log, slave, receiver)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        master.connections.put_nowait((reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    receiver.start()
    receiver.set_master(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield master
    finally:
        await receiver.stop()
        server.close()
        while not master.connections.empty():
            master.connections.get_nowait()[1].close()
        slave.close(START_MS)


async def test_only_what_is_on_the_disk_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with played(tmp_path) as master:
        reader, writer = await master.connections.get()
        assert await master.reports(reader) == 0
        half, end = len(master.log) // 2, len(master.log)
        # The disk keeps the first flush waiting.
        jobs: list[FlushJob] = []
        await until(lambda: master.receiver.state is SlaveState.RECEIVING, what="it receives")
        begin = Flusher.begin

        def begin_writes(flusher: Any, job: LogWrite | FlushJob, *, wait_ms_max: int = 0) -> bool:
            if isinstance(job, LogWrite):
                return begin(flusher, job, wait_ms_max=wait_ms_max)
            jobs.append(job)
            return False

        monkeypatch.setattr(Flusher, "begin", begin_writes)
        master.send(writer, 0, half)
        await until(lambda: jobs, what="a flush")
        master.send(writer, half, end)
        await until(lambda: master.slave.written_offset == end, what="it has written all")

        assert master.slave.flushed_offset == 0
        jobs[0].do_work()
        master.receiver._flushed(jobs[0])
        assert await master.reports(reader) == half
        # What came during the first flush is in the next one.
        assert [job.until for job in jobs] == [half, end]
        jobs[1].do_work()
        master.receiver._flushed(jobs[1])
        assert await master.reports(reader) == end
        writer.close()


async def test_slave_whose_flush_fails_reports_nothing_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(job: FlushJob) -> None:
        job.error = OSError(5, "input/output error")

    async with played(tmp_path) as master:
        reader, writer = await master.connections.get()
        assert await master.reports(reader) == 0
        monkeypatch.setattr(FlushJob, "segment", None)
        monkeypatch.setattr(FlushJob, "do_work", broken)
        master.send(writer, 0, len(master.log))

        async with asyncio.timeout(TIMEOUT_S):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
        await until(lambda: master.receiver.state is SlaveState.FAILED, what="it has failed")
        assert "input/output error" in master.receiver.problem
        assert master.slave.flushed_offset == 0
        writer.close()


async def test_master_that_sends_before_it_was_asked_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[Exception] = []
    fail = receiving.MasterStream.fail

    def noted(self: receiving.MasterStream, error: Exception) -> None:
        failures.append(error)
        fail(self, error)

    async def compare() -> None:
        await until(lambda: failures, what="the greeting")

    monkeypatch.setattr(receiving.MasterStream, "fail", noted)
    async with played(tmp_path, greeting=HEADER.pack(0, 0), compare=compare) as master:
        await until(lambda: master.receiver.problem, what="it is left")

        assert master.receiver.problem == "it sends before it knows where this log ends"


async def test_master_that_is_silent_is_left(tmp_path: Path) -> None:
    async with played(tmp_path, housekeeping_ms=20) as master:
        await until(lambda: master.receiver.problem, what="it is left")

        assert master.receiver.problem == "it said nothing for 0.02 s"
