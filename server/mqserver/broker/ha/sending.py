"""The master's end of replication: the HA port, and one connection and task for each slave.

    log written ──notify──> read ─ in memory ──> frames ──> slave, in the same turn
                              └ cold, or the slave was behind ──> its task: a thread reads first
    slave ──report──> link ──> messages that wait for it are answered, in the same turn

Rule: the loop waits for the disk only after ``COLD_TRIES_MAX`` reads by a thread, and a slave
that does not read blocks only its own task. A slave could read every message, so an address that
is not allowed is refused: its socket is closed before any object is made for it. There are at
most ``SLAVES_MAX`` connections.

Source: store/ha/HAService.java#AcceptSocketService, store/ha/HAConnection.java.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, cast

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.frames import BadStream, Reports, transfer_frames
from mqserver.broker.ha.links import Links, LinkState, SlaveLink
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import Clock
from mqserver.store.disk.nowait import ColdRead, no_wait
from mqserver.store.store import MessageStore
from remoting.aio.listener import Listener
from remoting.aio.resources import Places

LOG = logging.getLogger(__name__)

READ_SIZE: Final = 1 << 20
"""Most bytes of the log that are read and handed to a connection at once."""
UNSENT_MAX: Final = 4 << 20
COLD_TRIES_MAX: Final = 3
DRAIN_S: Final = 0.05
SLAVES_MAX: Final = 32
BACKLOG: Final = 100


class SlaveConn(asyncio.Protocol):
    """One connection of a slave.

    Args:
        link: what the slave has reported.
        reported: called with the log offsets of the reports of each read; it may raise BadStream.
    """

    def __init__(self, link: SlaveLink, reported: Callable[["SlaveConn", list[int]], None]) -> None:
        self.link = link
        self.news = asyncio.Event()
        """Set when there is something to do for the task of this connection."""
        self.is_idle = False
        """The task has sent all it could, and waits for news."""
        self.is_full = False
        """The slave does not read fast enough, so nothing is sent at the moment."""
        self.heard_s = asyncio.get_running_loop().time()
        self.failure: Exception | None = None
        """Why the connection has ended, or has to."""
        self.transport: asyncio.Transport | None = None
        self._reports = Reports()
        self._reported = reported

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        # uvloop's is not a subclass of asyncio's.
        self.transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=UNSENT_MAX)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Handle the reports of one read at once, since answers to sends wait for them."""
        self.heard_s = asyncio.get_running_loop().time()
        try:
            self.feed(data)
        except BadStream as error:
            self.fail(error)

    def feed(self, data: bytes) -> None:
        """Decode reports and handle them; raises BadStream."""
        self._reported(self, self._reports.feed(data))

    def pause_writing(self) -> None:
        """Send nothing until the slave has read what was sent."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Let the task go on."""
        self.is_full = False
        self.news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the task."""
        self.fail(exc or OSError("it closed the connection"))

    def fail(self, error: Exception) -> None:
        """End the connection with an error."""
        self.failure = self.failure or error
        self.is_idle = False
        self.news.set()


class SlaveServer:
    """Sends the log of one store to the slaves that connect.

    Args:
        store: the store of the master.
        links: what each slave has reported.
        config: the settings, which may change at any time.
        clock: gives the time of reports.
        may_connect: returns whether an address is allowed; it gets the peer's ip and the local ip.
        heard_epoch: called with an epoch that a slave sent, and the slave's address.
        places: counts connections against the process's limit.
    """

    def __init__(
        self,
        store: MessageStore,
        links: Links,
        *,
        config: BrokerConfig,
        clock: Clock,
        may_connect: Callable[[str, str], bool],
        heard_epoch: Callable[[int, str], None],
        places: Places,
    ) -> None:
        self._places = places
        self._store = store
        self._links = links
        self._config = config
        self._clock = clock
        self._may_connect = may_connect
        self._heard_epoch = heard_epoch
        self._listener = Listener(self._accept, backlog=BACKLOG)
        self._slaves: set[SlaveConn] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="replication-reads")

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        Raises:
            OSError: the port cannot be opened.
        """
        return await self._listener.start(host, port)

    def notify(self) -> None:
        """Send the new end of the log to every slave, or wake its task where that cannot be.

        Most bytes leave here, in the turn that wrote them: a message of SYNC_MASTER waits for
        them, and to wake a task for each turn costs more than to send.
        """
        for slave in self._slaves:
            if slave.is_idle and not self._send_now(slave):
                slave.news.set()

    async def drain(self) -> None:
        """Return when no message waits for a slave any more."""
        while self._links.waiting_count:
            await asyncio.sleep(DRAIN_S)
            self._links.expire(self._clock.now_ms())

    async def stop(self) -> None:
        """Close the port and every connection."""
        self._listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._links.close()
        self._disk.shutdown()

    def _accept(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        why = ""
        if not self._may_connect(peer[0], sock.getsockname()[0]):
            why = "; allow it with slaveAddresses"
        elif len(self._tasks) >= SLAVES_MAX:
            why = f": {SLAVES_MAX} slaves are connected"
        elif not self._places.reserve():
            why = ": no file descriptor is left"
        if why:
            LOG.warning("refused %s as a slave%s", peer[0], why)
            sock.close()
            return
        address = join_address(*peer)
        task = asyncio.create_task(self._connected(sock, address), name=f"slave {address}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._places.give_back()

    async def _connected(self, sock: socket.socket, address: str) -> None:
        link = self._make_link(address)
        slave = self._make_conn(link)
        self._links.links.append(link)
        self._slaves.add(slave)
        try:
            await asyncio.get_running_loop().create_connection(lambda: slave, sock=sock)
            LOG.info("slave %s is connected", address)
            await self._serve(slave)
        except BadStream as error:
            LOG.warning("slave %s is disconnected: %s", address, error)
        except OSError as error:
            LOG.info("lost slave %s: %s", address, error)
        finally:
            if slave.transport is None:
                sock.close()
            else:
                slave.transport.abort()
            self._links.links.remove(link)
            self._slaves.discard(slave)
            self._gone(slave)

    def _make_link(self, address: str) -> SlaveLink:
        return SlaveLink(address, now_ms=self._clock.now_ms())

    def _make_conn(self, link: SlaveLink) -> SlaveConn:
        return SlaveConn(link, self._reported)

    def _gone(self, slave: SlaveConn) -> None:
        """Called when the connection of a slave has ended."""

    def _reported(self, slave: SlaveConn, log_offsets: list[int]) -> None:
        """Handle the reports of one read; raises BadStream."""
        if slave.failure is not None:
            return
        if slave.link.state is not LinkState.SILENT:
            # Only the newest report matters.
            log_offsets = log_offsets[-1:]
        for log_offset in log_offsets:
            self._handle_report(slave, log_offset)

    def _handle_report(self, slave: SlaveConn, log_offset: int) -> None:
        store, link = self._store, slave.link
        end, size = store.written_offset, store.raw.file_size
        was_silent = link.state is LinkState.SILENT
        if was_silent and log_offset < 0:
            self._heard_epoch(-log_offset, link.address)
            raise BadStream(f"it follows a master with epoch {-log_offset}")
        link.reported(
            log_offset, log_min=store.min_log_offset, log_end=end, last_file=end - end % size
        )
        link.heard_ms = self._clock.now_ms()
        if was_silent:
            LOG.info(
                "slave %s has the log up to %d; sending it from there on", link.address, log_offset
            )
            slave.news.set()
        else:
            self._links.settle()

    async def _serve(self, slave: SlaveConn) -> None:
        """Send what ``notify`` leaves to this task, and heartbeats, until the connection ends.

        Raises:
            BadStream: the slave broke the protocol, was silent for too long, or lacks bytes that
                were deleted here.
            OSError: the connection has ended, or the log cannot be read.
        """
        loop, link = asyncio.get_running_loop(), slave.link
        while True:
            slave.news.clear()
            if slave.failure is not None:
                raise slave.failure
            silence_s = self._config.ha_housekeeping_interval_ms / 1000
            left_s = slave.heard_s + silence_s - loop.time()
            if left_s <= 0:
                raise BadStream(f"it said nothing for {silence_s:g} s")
            may_send = link.state is LinkState.SENDING and not slave.is_full
            if may_send and (data := await self._bytes_at(link.sent_offset)):
                self._send(slave, data)
                continue
            slave.is_idle = True
            try:
                async with asyncio.timeout(
                    min(left_s, self._config.ha_send_heartbeat_interval_ms / 1000)
                ):
                    await slave.news.wait()
            except TimeoutError:
                if link.state is LinkState.SENDING and not slave.is_full:
                    self._send(slave, b"")
            finally:
                slave.is_idle = False

    def _send_now(self, slave: SlaveConn) -> bool:
        """Send what can be sent without waiting; return whether nothing is left to its task."""
        link = slave.link
        if link.state is LinkState.SILENT or slave.is_full:
            # The task is woken when this changes.
            return True
        try:
            with no_wait():
                data = self._read(link.sent_offset)
        except ColdRead as cold:
            cold.drop()
            return False
        except (BadStream, OSError):
            # The task meets the same error, and ends the connection.
            return False
        if data:
            self._send(slave, data)
        return link.sent_offset == self._store.written_offset

    def _send(self, slave: SlaveConn, data: bytes) -> None:
        """Send the next bytes of the log; b"" sends a heartbeat."""
        link = slave.link
        if slave.failure is None and slave.transport is not None:
            parts = transfer_frames(
                link.sent_offset, data, batch_size=self._config.ha_transfer_batch_size
            )
            link.sent_offset += len(data)
            slave.transport.writelines(parts)

    def _read(self, log_offset: int) -> bytes:
        """Return bytes of the log; raises BadStream if they were deleted before they were sent."""
        if log_offset < self._store.min_log_offset:
            raise BadStream(f"it needs log offset {log_offset}, which is deleted here")
        return self._store.raw.read(log_offset, READ_SIZE)

    async def _bytes_at(self, log_offset: int) -> bytes:
        """Return bytes of the log; a thread reads what is not in the page cache.

        Raises:
            BadStream: the bytes were deleted before the slave received them.
        """
        for tries in range(COLD_TRIES_MAX + 1):
            try:
                with no_wait(tries < COLD_TRIES_MAX):
                    return self._read(log_offset)
            except ColdRead as cold:
                await asyncio.get_running_loop().run_in_executor(self._disk, cold.warm)
        return b""
