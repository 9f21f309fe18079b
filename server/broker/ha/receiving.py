"""The slave's end of replication: one connection to the master, opened again when it is lost.

    IDLE ──address──> CONNECTING ──> COMPARING ─ same ──> RECEIVING ──> store, flush, report
      ^                   └──────────────┴─ lost ──────────┘ │
      └────────── again after a second <─────────────────────┘
                                         └─ differs ──> DIVERGED, until the log is cut

Rule: bytes are appended exactly where this log ends, or not at all. A report counts only bytes
that are on this disk; queues and index follow in small steps, as in Java. If this log is not a
prefix of the master's, the slave receives nothing and serves no pulls: it reports where the logs
diverge, and an administrator decides what happens.

Source: store/ha/HAService.java#HAClient (which reports what is written, and not flushed).
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from remoting.address import split_address
from server.broker.ha.frames import REPORT, BadStream, Transfer, Transfers
from server.runtime.clock import Clock
from server.store.commitlog.flush import FlushJob
from server.store.errors import StoreFailed, StoreFull
from server.store.store import MessageStore

LOG = logging.getLogger(__name__)

READ_SIZE: Final = 256 << 10
RETRY_S: Final = 1.0
CONNECT_S: Final = 5.0
BUSY_WAIT_S: Final = 0.005
"""Seconds between two steps of building queue entries while bytes keep coming in."""


class SlaveState(Enum):
    """The state of a slave."""

    IDLE = auto()
    """It does not know the address of a master."""
    CONNECTING = auto()
    COMPARING = auto()
    RECEIVING = auto()
    DIVERGED = auto()
    FAILED = auto()
    """Its store has failed; a restart is needed."""
    ENDED = auto()
    """It has become a master, or it stops."""


class SlaveEvent(Enum):
    """What changes the state of a slave."""

    ADDRESS = auto()
    CONNECTED = auto()
    SAME = auto()
    DIFFERS = auto()
    LOST = auto()
    BROKEN = auto()
    END = auto()


_S, _E = SlaveState, SlaveEvent
MOVES: Final[Mapping[tuple[SlaveState, SlaveEvent], SlaveState]] = {
    (_S.IDLE, _E.ADDRESS): _S.CONNECTING,
    (_S.CONNECTING, _E.ADDRESS): _S.CONNECTING,
    (_S.CONNECTING, _E.CONNECTED): _S.COMPARING,
    (_S.CONNECTING, _E.LOST): _S.CONNECTING,
    (_S.COMPARING, _E.SAME): _S.RECEIVING,
    (_S.COMPARING, _E.DIFFERS): _S.DIVERGED,
    (_S.COMPARING, _E.LOST): _S.CONNECTING,
    (_S.COMPARING, _E.BROKEN): _S.FAILED,
    (_S.RECEIVING, _E.LOST): _S.CONNECTING,
    (_S.RECEIVING, _E.DIFFERS): _S.DIVERGED,
    (_S.RECEIVING, _E.BROKEN): _S.FAILED,
    # The new address may be that of a master whose log fits this one.
    (_S.DIVERGED, _E.ADDRESS): _S.CONNECTING,
    **{(state, _E.END): _S.ENDED for state in _S},
}


class Diverged(Exception):
    """This log is not a prefix of the master's; the text says where they diverge."""


class NotTaken(Exception):
    """This disk has no space for received bytes or for the next file; they are asked for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivingSettings:
    """The settings of a slave, in ms."""

    heartbeat_ms: int
    housekeeping_ms: int


Compare = Callable[[], Awaitable[None]]
"""Compares this log with the master's; raises Diverged, or OSError to try again later."""


async def tell_epoch(address: str, epoch: int) -> None:
    """Tell a master of this project, on its HA port, that another master was promoted.

    Args:
        address: ``host:port`` of the HA port.
        epoch: the higher epoch.

    Raises:
        OSError: the master does not listen there or does not accept this machine.
    """
    host, port = split_address(address)
    async with asyncio.timeout(CONNECT_S):
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(REPORT.pack(-epoch))
            # The master closes the connection when it has read the epoch.
            await reader.read(READ_SIZE)
        finally:
            writer.transport.abort()


class Receiver:
    """Copies the log of the master into one store.

    Args:
        store: the store of the slave.
        settings: intervals in ms.
        clock: gives the time of store writes.
        compare: called after each connect, before the first report.
        written: called when messages that were received have become visible in queues.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        settings: ReceivingSettings,
        clock: Clock,
        compare: Compare,
        written: Callable[[], None],
    ) -> None:
        self.state = SlaveState.IDLE
        self.master = ""
        """The master's HA port, ``host:port``; empty while it is unknown."""
        self.divergence = ""
        """Where this log and the master's diverge, so that nothing is received; empty if not."""
        self.problem = ""
        """Why nothing is received at the moment, such as no connection or a full disk."""
        self.heard_ms = 0
        """When the master sent something last."""
        self._store = store
        self.settings = settings
        """Read anew at each use, so that it can be replaced while running."""
        self._clock = clock
        self._compare = compare
        self._written = written
        self._known = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._flushed = asyncio.Event()
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="replica-flush")
        self._reported = -1
        self._taking: asyncio.Handle | None = None
        self._is_busy = False
        self._flushing: tuple[FlushJob, asyncio.Future[None]] | None = None

    def start(self) -> None:
        """Connect as soon as the master's address is known."""
        self._task = asyncio.create_task(self._run(), name="replication")

    def set_master(self, address: str) -> None:
        """Set the ``host:port`` of the master's HA port."""
        if address and (address != self.master or self.state is SlaveState.DIVERGED):
            if address != self.master:
                LOG.info("the master's log comes from %s, not from %r", address, self.master)
            self.master = address
            self._move(SlaveEvent.ADDRESS)
            self._known.set()

    @property
    def reported_state(self) -> SlaveState:
        """The state that an administrator is told.

        Logs that diverge are compared anew with each registration, which changes nothing for an
        administrator until they are the same.
        """
        is_looking = self.state in (SlaveState.CONNECTING, SlaveState.COMPARING)
        return SlaveState.DIVERGED if self.divergence and is_looking else self.state

    async def stop(self) -> None:
        """Receive no more; flush what was received and add it to queues and index.

        Raises:
            OSError: the log cannot be read.
            StoreFailed: the disk did not take it.
        """
        self._move(SlaveEvent.END)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._taking is not None:
            self._taking.cancel()
        if not self._store.is_read_only:
            await self.drain()
        self._disk.shutdown()

    def _move(self, event: SlaveEvent) -> None:
        state = MOVES.get((self.state, event))
        if state is not None and state is not self.state:
            LOG.info("replication: %s, %s -> %s", event.name, self.state.name, state.name)
            self.state = state

    async def _run(self) -> None:
        while self.state not in (SlaveState.FAILED, SlaveState.ENDED):
            if self.state in (SlaveState.IDLE, SlaveState.DIVERGED):
                self._known.clear()
                await self._known.wait()
            try:
                await self._follow()
            except Diverged as error:
                self.divergence = str(error)
                LOG.error("replication stops: %s", error)
                self._move(SlaveEvent.DIFFERS)
            except NotTaken as error:
                self._lost(str(error))
            except StoreFailed as error:
                LOG.error("replication stops: %s", error)
                self.problem = str(error)
                self._move(SlaveEvent.BROKEN)
            except (OSError, BadStream, TimeoutError) as error:
                self._lost(str(error) or "no answer")
            await asyncio.sleep(RETRY_S)

    def _lost(self, why: str) -> None:
        """Note why nothing is received; it is tried again every second, with one warning."""
        level = logging.INFO if why == self.problem else logging.WARNING
        LOG.log(level, "from master %s nothing is received: %s; tried again", self.master, why)
        self.problem = why
        self._move(SlaveEvent.LOST)

    async def _follow(self) -> None:
        """Receive until the connection is lost.

        Raises:
            OSError: the connection was lost or not accepted.
            BadStream: the peer does not speak the replication protocol.
            Diverged: the master has another log.
            NotTaken: the bytes could not be stored now, but may be later.
            StoreFailed: the store has failed.
        """
        host, port = split_address(self.master)
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(host, port, limit=READ_SIZE)
        reporting: asyncio.Task[None] | None = None
        try:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._move(SlaveEvent.CONNECTED)
            await self.drain()
            await self._compare()
            self.divergence = self.problem = ""
            self._move(SlaveEvent.SAME)
            await self._flush_all()
            self._reported = -1
            self._report(writer)
            reporting = asyncio.create_task(self._keep_reporting(writer))
            await self._receive(reader, reporting)
        finally:
            if reporting is not None:
                reporting.cancel()
                await asyncio.gather(reporting, return_exceptions=True)
            writer.transport.abort()

    async def _receive(self, reader: asyncio.StreamReader, reporting: asyncio.Task[None]) -> None:
        transfers = Transfers()
        wait_s = self.settings.housekeeping_ms / 1000
        while True:
            if reporting.done():
                reporting.result()
            async with asyncio.timeout(wait_s):
                data = await reader.read(READ_SIZE)
            if not data:
                raise OSError("it closed the connection")
            self.heard_ms = self._clock.now_ms()
            if self._append(transfers.feed(data)):
                self._flushed.set()

    def _append(self, frames: list[Transfer]) -> bool:
        """Store the bytes of frames; return whether there were any."""
        store, raw = self._store, self._store.raw
        size = 0
        try:
            for log_offset, data in frames:
                if raw.is_empty and log_offset:
                    if not data:
                        continue
                    self._begin(log_offset)
                end = store.written_offset + size
                if log_offset != end:
                    raise BadStream(f"it sends from {log_offset}, this log ends at {end}")
                if data:
                    raw.append(data)
                    size += len(data)
            if size:
                store.write(self._clock.now_ms())
        except (OSError, StoreFull) as error:
            raw.undo()
            raise NotTaken(f"the disk of this slave did not take it: {error}") from error
        self._is_busy = True
        self._take_soon()
        return size > 0

    def _take_soon(self, wait_s: float = 0.0) -> None:
        """Build queue and index entries of received bytes, in small steps between receiving."""
        if self._taking is None:
            self._taking = asyncio.get_running_loop().call_later(wait_s, self._take_some)

    def _take_some(self) -> None:
        self._taking = None
        was_busy, self._is_busy = self._is_busy, False
        if self.state is not SlaveState.RECEIVING:
            return
        try:
            has_more = self._take()
        except (OSError, StoreFailed) as error:
            LOG.error("no entries for queues of what came: %s", error)
            return
        if has_more:
            # While bytes keep coming in, wait ``BUSY_WAIT_S`` between steps, so that a slave that
            # catches up spends about a fifth of its time on entries. Else go on at once.
            self._take_soon(BUSY_WAIT_S if was_busy else 0.0)

    def _take(self) -> bool:
        has_more = self._store.raw.take()
        self._store.write(self._clock.now_ms())
        self._written()
        return has_more

    async def drain(self) -> None:
        """Return when everything that was received is on the disk and in queues and index.

        Raises:
            OSError: the log cannot be read.
            StoreFailed: the disk did not take it.
        """
        await self._flush_all()
        while self._take():
            await asyncio.sleep(0)

    def _begin(self, log_offset: int) -> None:
        """Start an empty log at the offset from which the master sends."""
        if log_offset % self._store.raw.file_size:
            raise Diverged(
                f"the master sends from {log_offset}, where no file of "
                f"{self._store.raw.file_size} bytes begins; mappedFileSizeCommitLog has to be "
                "the master's"
            )
        LOG.warning(
            "this empty log begins at %d, the master's last file: older messages are not here",
            log_offset,
        )
        self._store.raw.start_at(log_offset)

    async def _keep_reporting(self, writer: asyncio.StreamWriter) -> None:
        """Flush received bytes and report them; without new ones, report as a heartbeat."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.heartbeat_ms / 1000):
                    await self._flushed.wait()
            self._flushed.clear()
            await self._flush_all()
            self._report(writer)
            await writer.drain()

    async def _flush_all(self) -> None:
        """Make everything that is written now durable.

        Raises:
            StoreFailed: the disk did not take it.
        """
        store = self._store
        until = store.written_offset
        while store.flushed_offset < until:
            if self._flushing is None:
                job = store.begin_flush()
                if job is None:
                    if store.is_read_only:
                        raise StoreFailed(store.failure)
                    await asyncio.sleep(0.001)
                    continue
                loop = asyncio.get_running_loop()
                self._flushing = job, loop.run_in_executor(self._disk, job.run)
            job, running = self._flushing
            # A task that is cancelled here leaves the job to the next caller, because the store
            # needs ``end_flush`` for every job.
            await asyncio.wait([running])
            self._flushing = None
            store.end_flush(job)
            self._take_soon()

    def _report(self, writer: asyncio.StreamWriter) -> None:
        self._reported = self._store.flushed_offset
        writer.write(REPORT.pack(self._reported))
