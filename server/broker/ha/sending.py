"""The master's end of replication: the HA port, and one task for each slave.

    log written ──notify──> each task: read ─ in memory ──> frames ──> slave
                                          └ cold ──> a thread reads it first
    slave ──report──> link ──> messages that wait for it are answered

Rule: the loop waits for the disk only after ``COLD_TRIES_MAX`` reads by a thread, and a slave
that does not read blocks only its own task. A slave could read every message, so an address that
is not allowed is refused: its socket is closed before any object is made for it. There are at
most ``SLAVES_MAX`` connections.

Source: store/ha/HAService.java#AcceptSocketService, store/ha/HAConnection.java.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from remoting.aio.listener import Listener
from remoting.aio.resources import Places
from server.broker.ha.frames import BadStream, Reports, framed
from server.broker.ha.links import Links, LinkState, SlaveLink
from server.runtime.access.hostaddress import join_address
from server.runtime.clock import Clock
from server.store.disk.nowait import ColdRead, no_wait
from server.store.store import MessageStore

LOG = logging.getLogger(__name__)

READ_SIZE: Final = 1 << 20
"""Most bytes of the log that are read and handed to a connection at once."""
UNSENT_MAX: Final = 4 << 20
COLD_TRIES_MAX: Final = 3
DRAIN_S: Final = 0.05
SLAVES_MAX: Final = 32
BACKLOG: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingSettings:
    """The settings of a master; times in ms, sizes in bytes."""

    batch_size: int
    heartbeat_ms: int
    housekeeping_ms: int


class _Slave:
    """One connection of a slave; ``news`` is set when there may be something to send."""

    def __init__(self, link: SlaveLink, writer: asyncio.StreamWriter) -> None:
        self.link = link
        self.writer = writer
        self.news = asyncio.Event()


class SlaveServer:
    """Sends the log of one store to the slaves that connect.

    Args:
        store: the store of the master.
        links: what each slave has reported.
        settings: sizes in bytes, intervals in ms.
        clock: gives the time of reports.
        may_connect: tells whether an address is allowed; it gets the peer's ip and the local ip.
        refused_hint: name of the setting that allows addresses, for the log.
        heard_epoch: called with an epoch that a slave sent, and the slave's address.
        places: counts connections against the process's limit.
    """

    def __init__(
        self,
        store: MessageStore,
        links: Links,
        *,
        settings: SendingSettings,
        clock: Clock,
        may_connect: Callable[[str, str], bool],
        refused_hint: str,
        heard_epoch: Callable[[int, str], None] = lambda epoch, address: None,
        places: Places | None = None,
    ) -> None:
        self._places = places or Places()
        self._store = store
        self._links = links
        self.settings = settings
        """Read anew at each use, so that it can be replaced while running."""
        self._clock = clock
        self._may_connect = may_connect
        self._refused_hint = refused_hint
        self._heard_epoch = heard_epoch
        self._listener = Listener(self._accept, backlog=BACKLOG)
        self._slaves: set[_Slave] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._disk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="replication-reads")

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        Raises:
            OSError: the port cannot be opened.
        """
        return await self._listener.start(host, port)

    def notify(self) -> None:
        """Wake the task of every slave, because the log has grown."""
        for slave in self._slaves:
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
        if not self._is_let_in(peer[0], sock.getsockname()[0]):
            sock.close()
            return
        if len(self._tasks) >= SLAVES_MAX:
            LOG.warning("%s is not let in as a slave: %d are connected", peer[0], SLAVES_MAX)
            sock.close()
            return
        if not self._places.take():
            LOG.warning("%s is not let in as a slave: no descriptor is left for it", peer[0])
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
        try:
            reader, writer = await asyncio.open_connection(sock=sock)
        except OSError as error:
            LOG.info("slave %s is gone: %s", address, error)
            sock.close()
            return
        link = SlaveLink(address, now_ms=self._clock.now_ms())
        self._links.links.append(link)
        LOG.info("slave %s is connected", address)
        await self._serve(_Slave(link, writer), reader)

    async def _serve(self, slave: _Slave, reader: asyncio.StreamReader) -> None:
        link = slave.link
        self._slaves.add(slave)
        reports = asyncio.create_task(self._read(slave, reader))
        sending = asyncio.create_task(self._send(slave))
        try:
            done, _ = await asyncio.wait({reports, sending}, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        except BadStream as error:
            LOG.warning("slave %s is disconnected: %s", link.address, error)
        except OSError as error:
            LOG.info("slave %s is gone: %s", link.address, error)
        finally:
            slave.writer.transport.abort()
            for one in (reports, sending):
                one.cancel()
            self._links.links.remove(link)
            self._slaves.discard(slave)
            await asyncio.gather(reports, sending, return_exceptions=True)

    def _is_let_in(self, ip: str, local_ip: str) -> bool:
        if self._may_connect(ip, local_ip):
            return True
        LOG.warning("%s is not let in as a slave; allow it with %s", ip, self._refused_hint)
        return False

    async def _read(self, slave: _Slave, reader: asyncio.StreamReader) -> None:
        """Handle reports until the connection ends or is silent for too long."""
        reports, link = Reports(), slave.link
        wait_s = self.settings.housekeeping_ms / 1000
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    data = await reader.read(64 << 10)
            except TimeoutError:
                raise BadStream(f"it said nothing for {wait_s:g} s") from None
            if not data:
                raise OSError("it closed the connection")
            found = reports.feed(data)
            if link.state is not LinkState.SILENT:
                # Only the newest report matters.
                found = found[-1:]
            for log_offset in found:
                self._take(slave, log_offset)

    def _take(self, slave: _Slave, log_offset: int) -> None:
        store, link = self._store, slave.link
        end, size = store.written_offset, store.raw.file_size
        was_silent = link.state is LinkState.SILENT
        if was_silent and log_offset < 0:
            self._heard_epoch(-log_offset, link.address)
            raise BadStream(f"it follows the promotion with epoch {-log_offset}")
        link.reported(
            log_offset, log_min=store.min_log_offset, log_end=end, last_file=end - end % size
        )
        link.heard_ms = self._clock.now_ms()
        if was_silent:
            LOG.info("slave %s has %d, it gets the log from there on", link.address, log_offset)
            slave.news.set()
        else:
            self._links.settle()

    async def _send(self, slave: _Slave) -> None:
        link, writer = slave.link, slave.writer
        transport = writer.transport
        transport.set_write_buffer_limits(high=UNSENT_MAX)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while link.state is LinkState.SILENT:
            await slave.news.wait()
            slave.news.clear()
        while True:
            slave.news.clear()
            data = await self._bytes_at(link.sent_offset)
            if not data:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.settings.heartbeat_ms / 1000):
                        await slave.news.wait()
                    continue
            parts = framed(link.sent_offset, data, batch_size=self.settings.batch_size)
            link.sent_offset += len(data)
            writer.writelines(parts)
            await writer.drain()

    async def _bytes_at(self, log_offset: int) -> bytes:
        """Return bytes of the log; a thread reads what is not in the page cache.

        Raises:
            BadStream: the bytes were deleted before the slave received them.
        """
        if log_offset < self._store.min_log_offset:
            raise BadStream(f"log offset {log_offset} is deleted here, and it does not have it")
        for tries in range(COLD_TRIES_MAX + 1):
            try:
                with no_wait(tries < COLD_TRIES_MAX):
                    return self._store.raw.read(log_offset, READ_SIZE)
            except ColdRead as cold:
                await asyncio.get_running_loop().run_in_executor(self._disk, cold.warm)
        return b""
