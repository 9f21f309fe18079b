"""The slave's end of replication: one connection to the master, opened again when it is lost.

    IDLE ──address──> CONNECTING ──> COMPARING ─ same ──> RECEIVING ──> store, flush, report
      ^                   └──────────────┴─ lost ──────────┘ │
      └────────── again after a second <─────────────────────┘
                                         └─ differs ──> DIVERGED, until the log is cut

Rule: bytes are appended exactly where this log ends, or not at all. A thread writes them, one write
at a time; when too much waits for it, nothing is read from the master. A report counts only bytes
that are on this disk; queues and index follow in small steps, as in Java. If this log is not a
prefix of the master's, the slave receives nothing and serves no pulls: it reports where the logs
diverge, and an administrator decides what happens.

Source: store/ha/HAService.java#HAClient (which reports what is written, and not flushed).
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum, auto
from typing import Final, cast

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.frames import REPORT, BadStream, Transfer, Transfers
from mqserver.broker.serving.flusher import Flusher
from mqserver.runtime.clock import Clock
from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.commitlog.log_write import LogWrite
from mqserver.store.store import MessageStore
from mqserver.store.store_errors import StoreFailed, StoreFull
from remoting.address import split_address

LOG = logging.getLogger(__name__)

READ_SIZE: Final = 256 << 10
RETRY_S: Final = 1.0
CONNECT_S: Final = 5.0
WRITE_WAIT_MS: Final = 1
"""How long the loop waits for a write before it serves other requests."""
UNWRITTEN_MAX: Final = 8 << 20
"""Bytes that may wait for the disk until nothing more is read from the master."""
REPORTS_UNSENT_MAX: Final = 1024
"""Bytes of reports that may wait for a master that does not read."""
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


class MasterStream(asyncio.Protocol):
    """One connection to the master.

    Args:
        received: called with the bytes of each read; an error of it ends the connection.
    """

    def __init__(self, received: Callable[["MasterStream", bytes], None]) -> None:
        self.transfers = Transfers()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets the error with which the connection ended, or has to end."""
        self.heard_s = asyncio.get_running_loop().time()
        self.transport: asyncio.Transport | None = None
        self._received = received

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        # uvloop's is not a subclass of asyncio's.
        self.transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Store the bytes of one read in the same turn, since the master's answers wait."""
        self.heard_s = asyncio.get_running_loop().time()
        if self.ended.done():
            return
        try:
            self._received(self, data)
        except (OSError, BadStream, Diverged, NotTaken, StoreFailed) as error:
            self.fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait for the end."""
        self.fail(exc or OSError("it closed the connection"))

    def fail(self, error: Exception) -> None:
        """End the connection with an error."""
        if not self.ended.done():
            self.ended.set_exception(error)

    def report(self, log_offset: int) -> None:
        """Tell the master that everything below a log offset is on this disk."""
        transport = self.transport
        # What does not leave now is reported with the next heartbeat.
        if transport is not None and transport.get_write_buffer_size() < REPORTS_UNSENT_MAX:
            transport.write(self.encode_report(log_offset))

    def encode_report(self, log_offset: int) -> bytes:
        """Return the bytes of a report."""
        return REPORT.pack(log_offset)

    def pause(self) -> None:
        """Read nothing more from the master, because the disk is slower than it."""
        if self.transport is not None and self.transport.is_reading():
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read from the master again."""
        if self.transport is not None and not self.transport.is_closing():
            # A master that was not read from was not silent.
            self.heard_s = asyncio.get_running_loop().time()
            self.transport.resume_reading()

    def abort(self) -> None:
        """Close the connection now."""
        self.fail(OSError("it was closed here"))
        # No task may be waiting for the end any more.
        self.ended.exception()
        if self.transport is not None:
            self.transport.abort()


class Receiver:
    """Copies the log of the master into one store.

    Args:
        store: the store of the slave.
        config: the settings, which may change at any time.
        clock: gives the time of store writes.
        compare: called after each connect, before the first report.
        written: called when messages that were received have become visible in queues.
    """

    retry_s = RETRY_S
    """Seconds until it connects again after it lost the connection."""

    def __init__(
        self,
        store: MessageStore,
        *,
        config: BrokerConfig,
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
        self._config = config
        self._clock = clock
        self._compare = compare
        self._written = written
        self._known = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stream: MasterStream | None = None
        """The connection that gets reports."""
        self._entries_timer: asyncio.Handle | None = None
        self._is_busy = False
        self._flusher: Flusher[FlushJob] | None = None
        self._writer: Flusher[LogWrite] | None = None
        self._is_writing = False
        self._flushing: FlushJob | None = None
        self._job_ended = asyncio.Event()
        self._flush_error: Exception | None = None

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
        """The state to show to an administrator.

        Logs that diverge are compared again with each registration, which changes nothing for an
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
        if self._entries_timer is not None:
            self._entries_timer.cancel()
        if not self._store.is_read_only:
            await self.drain()
        for threads in (self._writer, self._flusher):
            if threads is not None:
                threads.close()

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
            await asyncio.sleep(self.retry_s)

    def _lost(self, why: str) -> None:
        """Note why nothing is received; it is tried again every second, with one warning."""
        level = logging.INFO if why == self.problem else logging.WARNING
        LOG.log(level, "receiving nothing from master %s: %s; trying again", self.master, why)
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
        loop = asyncio.get_running_loop()
        host, port = split_address(self.master)
        async with asyncio.timeout(CONNECT_S):
            _, stream = await loop.create_connection(self._make_stream, host, port)
        try:
            self._move(SlaveEvent.CONNECTED)
            await self.drain()
            await self._compare()
            await self._greet(stream)
            self.divergence = self.problem = ""
            self._move(SlaveEvent.SAME)
            await self._flush_all()
            self._stream = stream
            await self._keep_reporting(stream)
        finally:
            self._stream = None
            stream.abort()

    def _make_stream(self) -> MasterStream:
        return MasterStream(self._received)

    async def _greet(self, stream: MasterStream) -> None:
        """Do what the protocol wants before the first report; raises as ``_follow``."""

    async def _keep_reporting(self, stream: MasterStream) -> None:
        """Report where this log ends, now and as a heartbeat, until the connection ends.

        Bytes that came are reported by ``_flushed``, at the end of their flush.
        """
        loop = asyncio.get_running_loop()
        while True:
            stream.report(self._store.flushed_offset)
            silence_s = self._config.ha_housekeeping_interval_ms / 1000
            if self._is_full:
                stream.heard_s = loop.time()
            left_s = stream.heard_s + silence_s - loop.time()
            if left_s <= 0:
                raise TimeoutError(f"it said nothing for {silence_s:g} s")
            wait_s = min(left_s, self._config.ha_send_heartbeat_interval_ms / 1000)
            await asyncio.wait({stream.ended}, timeout=wait_s)
            if stream.ended.done():
                stream.ended.result()

    def _received(self, stream: MasterStream, data: bytes) -> None:
        """Store what came; the end of the write begins to flush it."""
        if stream is not self._stream:
            raise BadStream("it sends before it knows where this log ends")
        self.heard_ms = self._clock.now_ms()
        if self._append(self._decode(stream, data)):
            self._begin_write()
            if self._is_full:
                stream.pause()

    def _decode(self, stream: MasterStream, data: bytes) -> list[Transfer]:
        """Return the bytes of the log in what came; raises BadStream."""
        return stream.transfers.feed(data)

    @property
    def _is_full(self) -> bool:
        """Return whether so much waits for the disk that nothing more should be received."""
        return self._is_writing and self._store.waiting_size > UNWRITTEN_MAX

    def _append(self, frames: list[Transfer]) -> bool:
        """Append the bytes of frames to the log; return whether there were any."""
        raw, count = self._store.raw, 0
        try:
            for log_offset, data in frames:
                if raw.is_empty and log_offset:
                    if not data:
                        continue
                    self._begin(log_offset)
                if log_offset != raw.end:
                    raise BadStream(f"it sends from {log_offset}, but this log ends at {raw.end}")
                if data:
                    raw.append(data)
                    count += 1
        except OSError as error:
            raw.undo()
            raise NotTaken(f"the disk of this slave did not take it: {error}") from error
        return count > 0

    def _begin_write(self) -> None:
        """Write what was received, unless a write is running; its end begins the next one.

        Raises:
            NotTaken: the bytes could not be written now, but may be later.
            StoreFailed: the store has failed.
        """
        if self._is_writing:
            return
        try:
            job = self._store.begin_write(self._clock.now_ms())
        except StoreFull as error:
            raise NotTaken(f"the disk of this slave did not take it: {error}") from error
        if job is None:
            return
        if self._writer is None:
            self._writer = Flusher(asyncio.get_running_loop(), self._written_late)
        self._is_writing = True
        if self._writer.begin(job, wait_ms_max=WRITE_WAIT_MS):
            self._end_write(job)

    def _written_late(self, job: LogWrite) -> None:
        """End a write for whose end the loop did not wait."""
        stream = self._stream
        try:
            self._end_write(job)
        except (NotTaken, StoreFailed) as error:
            LOG.error("could not write bytes of the master's log: %s", error)
            if stream is not None:
                stream.fail(error)
        if stream is not None and not self._is_full:
            stream.resume()

    def _end_write(self, job: LogWrite) -> None:
        """End a write, begin the next one if more was received, and flush; see ``_begin_write``."""
        self._is_writing = False
        self._job_ended.set()
        try:
            self._store.end_write(job)
        except StoreFull as error:
            raise NotTaken(f"the disk of this slave did not take it: {error}") from error
        self._store.show_written(self._clock.now_ms())
        if self._store.is_put:
            self._begin_write()
        self._is_busy = True
        self._make_entries_soon()
        self._begin_flush()

    def _make_entries_soon(self, wait_s: float = 0.0) -> None:
        """Build queue and index entries of received bytes, in small steps between receiving."""
        if self._entries_timer is None:
            self._entries_timer = asyncio.get_running_loop().call_later(
                wait_s, self._make_some_entries
            )

    def _make_some_entries(self) -> None:
        self._entries_timer = None
        was_busy, self._is_busy = self._is_busy, False
        if self.state is not SlaveState.RECEIVING:
            return
        try:
            has_more = self._make_entries()
        except (OSError, StoreFailed) as error:
            LOG.error("could not make queue entries of received records: %s", error)
            return
        if has_more:
            # While bytes keep coming in, wait ``BUSY_WAIT_S`` between steps, so that a slave that
            # catches up spends about a fifth of its time on entries. Else go on at once.
            self._make_entries_soon(BUSY_WAIT_S if was_busy else 0.0)

    def _make_entries(self) -> bool:
        has_more = self._store.raw.make_entries()
        self._store.dispatch_copied(self._clock.now_ms())
        self._written()
        return has_more

    async def drain(self) -> None:
        """Return when everything that was received is on the disk and in queues and index.

        Raises:
            OSError: the log cannot be read.
            StoreFailed: the disk did not take it.
        """
        await self._flush_all()
        while self._make_entries():
            await asyncio.sleep(0)

    def _begin(self, log_offset: int) -> None:
        """Start an empty log at the offset from which the master sends."""
        if log_offset % self._store.raw.file_size:
            raise Diverged(
                f"the master sends from {log_offset}, where no file of "
                f"{self._store.raw.file_size} bytes begins; set mappedFileSizeCommitLog as on the "
                "master"
            )
        LOG.warning(
            "this empty log begins at %d, in the master's last file, and lacks older messages",
            log_offset,
        )
        self._store.raw.start_at(log_offset)

    async def _flush_all(self) -> None:
        """Make everything that is written now durable.

        Raises:
            StoreFailed: the disk did not take it.
        """
        store = self._store
        while self._is_writing:
            self._job_ended.clear()
            await self._job_ended.wait()
        until = store.written_offset
        while store.flushed_offset < until:
            self._begin_flush()
            if self._flushing is not None:
                self._job_ended.clear()
                await self._job_ended.wait()
                if self._flush_error is not None:
                    raise self._flush_error
            elif store.is_read_only:
                raise StoreFailed(store.failure)
            else:
                # Another job flushes this store, which is rare.
                await asyncio.sleep(0.001)

    def _begin_flush(self) -> None:
        """Flush what is written, unless a flush is running; its end begins the next one."""
        job = None if self._flushing is not None else self._store.begin_flush()
        if job is None:
            return
        if self._flusher is None:
            self._flusher = Flusher(asyncio.get_running_loop(), self._flushed)
        self._flushing, self._flush_error = job, None
        self._flusher.begin(job)

    def _flushed(self, job: FlushJob) -> None:
        """Report what is on the disk now, and flush what came meanwhile."""
        self._flushing = None
        self._job_ended.set()
        try:
            self._store.end_flush(job)
        except (OSError, StoreFailed) as error:
            self._flush_error = error
            if self._stream is not None:
                self._stream.fail(error)
            return
        if self._stream is not None:
            self._stream.report(self._store.flushed_offset)
            self._begin_flush()
        self._make_entries_soon()
