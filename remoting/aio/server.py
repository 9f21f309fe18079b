"""The server side: it accepts connections and passes every frame to one function.

    RemotingServer ──< ServerConn (one socket each)
        on_frame(conn, raw)   for every complete frame of a read, before anything is written
        on_close(conn)        once, when the connection is gone

Rule: this module knows frames and sockets, not what a request means. A peer can only harm itself:
bytes that are not a frame, a frame that never ends, silence and a full send queue each close that
one connection. ``resources`` limits what all connections use together, and shares the time of the
loop among them: requests that come faster than they are handled wait in their own connection.

Source: remoting/netty/NettyRemotingServer.java.
"""

import asyncio
import itertools
import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from remoting.aio import costs
from remoting.aio.admission import Admission, AdmissionResult
from remoting.aio.firstbyte import FirstByte
from remoting.aio.link import PAUSE_SIZE, Link, Outbox
from remoting.aio.listener import Listener
from remoting.aio.resources import Resources
from remoting.aio.tls import ServerContexts, ServerTls, TlsMode
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.errors import BadFrame
from remoting.frame import FrameReader, RawFrame, Take, decode_frame, encode_frame
from storefmt.formats.hosts import host_text, pack_host

LOG = logging.getLogger(__name__)

WRITE_BUFFER_MAX: Final = 64 * 1024 * 1024
CONNECTIONS_MAX: Final = 65_536
TOO_MANY: Final = "[OVERLOAD]too many connections, try again later or another broker"
NO_TLS: Final = ServerTls(mode=TlsMode.DISABLED)
HANDSHAKE_S: Final = 10.0
_CLOSE_GRACE_S: Final = 3.0
BACKLOG: Final = 1024


@dataclass(slots=True)
class Watch:
    """What the last sweep saw of a connection, and since when it is so (loop seconds)."""

    activity: tuple[int, int] = (-1, 0)
    active_s: float = 0.0
    frame_count: int = -1
    partial_s: float = 0.0
    opening: bool | None = None
    opening_s: float = 0.0
    closing_s: float = -1.0


class ServerConn(Link):
    """One client's connection.

    Attributes:
        id: number of the connection, unique in this server.
        peer: address and port of the client.
        peer_host: the same packed as in a record, 8 or 20 bytes.
        address: the same as text, ``1.2.3.4:5``.
        local_ip: the address to which the client connected.
        local_port: the port to which the client connected.
    """

    def __init__(self, server: "RemotingServer", number: int) -> None:
        super().__init__(server.outbox, write_buffer_max=server.write_buffer_max)
        self._server = server
        self._on_frame = server.on_frame
        self._is_known = False
        self.id = number
        self.peer: tuple[str, int] = ("", 0)
        self.peer_host = b""
        self.address = f"connection {number}"
        self.local_ip = ""
        self.local_port = 0
        self.frame_count = 0
        self._turns = server.resources.turns
        self._on_bytes: Take | None = None
        self._put_off: deque[RawFrame] = deque()
        """The frames that wait for their turn, or for the peer to take its answers."""
        self._put_off_size = self._kept_size = 0
        self._is_queued = False
        """Whether the turns know that frames wait."""
        self._bad: BadFrame | None = None
        """Why the connection ends after the frames that wait."""
        self._budget = server.resources.budget
        self._is_charged = False
        self.first_byte: FirstByte | None = None
        """The wait for the first byte, None once there is a transport."""
        self.verdict = AdmissionResult.IN
        self.watch = Watch()

    def __str__(self) -> str:
        return self.address

    @property
    def ip(self) -> str:
        """The address to which the bytes of this connection are charged."""
        return self.peer[0]

    def begin(self, sock: socket.socket, peer: tuple[str, int], verdict: AdmissionResult) -> None:
        """Take a new socket that ``Admission`` accepted.

        Args:
            sock: the connected socket.
            peer: address and port of the client.
            verdict: what ``Admission.enter`` returned.

        Raises:
            OSError: the connection is already gone.
        """
        local = sock.getsockname()
        self.verdict = verdict
        if verdict is AdmissionResult.BUSY:
            self._on_frame = _tell_busy
        self.peer = peer
        self.peer_host = pack_host(*peer)
        self.address = host_text(self.peer_host)
        self.local_ip, self.local_port = _plain_ip(local[0]), local[1]
        self._is_known = True
        self.first_byte = FirstByte(
            sock,
            self,
            contexts=self._server.contexts,
            name=self.address,
            tasks=self._server.openings,
            handshake_s=self._server.handshake_s,
            handshakes=self._server.resources.handshakes,
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport, of a plain connection or of a finished handshake."""
        self.first_byte = None
        if self._server.on_bytes is not None and self.verdict is AdmissionResult.IN:
            self._take = self._on_bytes = partial(self._server.on_bytes, self)
        super().connection_made(transport)
        if self._closing:
            self.abort()

    def not_opened(self) -> None:
        """Take note that the connection ended before there was a transport."""
        self.first_byte = None
        self.connection_lost(None)

    @property
    def held_size(self) -> int:
        """The bytes in memory for this peer: its unfinished frame, its unread answers, …"""
        return self.waiting_size + self._put_off_size + self.unsent_size + self._kept_size

    def count_held(self, size: int) -> None:
        """Count ``size`` bytes more (or, if negative, less) that the owner keeps for this peer."""
        self._kept_size += size
        self._charge()

    def _charge(self) -> None:
        size = 0 if self._closing else self.held_size
        if size or self._is_charged:
            self._is_charged = size > 0
            self._budget.charge(self, size)

    def give_way(self) -> None:
        """Close now and drop the received bytes, since memory is short."""
        self._is_charged = False
        self._reader = FrameReader()
        self._drop_put_off()
        self.abort()

    def flush(self) -> None:
        """Write the queued bytes; those that the peer does not take yet are charged to it."""
        super().flush()
        transport = self._transport
        if self._is_charged or (transport is not None and transport.get_write_buffer_size()):
            self._charge()

    def close(self) -> None:
        """Send what is queued, then close."""
        super().close()
        self._give_up_first_byte()

    def abort(self) -> None:
        """Close now, whatever is queued."""
        super().abort()
        self._give_up_first_byte()

    def _give_up_first_byte(self) -> None:
        first_byte, self.first_byte = self.first_byte, None
        if first_byte is not None:
            first_byte.cancel()
            # There is no transport that would call this.
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the owner once that the connection is gone."""
        self._closing = True
        self._out.clear()
        self._give_up_first_byte()
        self._drop_put_off()
        self._charge()
        if self._is_known:
            self._is_known = False
            self._server.forget(self)

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes of one read; those of an unfinished frame are charged to the peer."""
        if self._bad is not None:
            return
        super().buffer_updated(nbytes)
        if self._is_charged or self._reader.waiting_size or self._put_off:
            self._charge()

    def on_frames(self, frames: Sequence[RawFrame]) -> None:
        """Handle the frames of one read in order, as many as there is time for in this turn.

        The others wait for the next turns, and so does what the peer sends meanwhile: however many
        requests come at once, the other connections have their share of the time.
        """
        if not frames:
            return
        self.frame_count += len(frames)
        self._put_off.extend(frames)
        if not self._is_queued and not self.write_paused:
            self._is_queued = True
            self._turns.add(self)
        if self._put_off:
            self._stop_reading()

    def work(self, end_s: float) -> bool:
        """Handle frames until the clock of the turns passes ``end_s``; return whether some wait.

        A client may send more requests at once than it can take answers. When its answers fill
        the socket, the rest of its requests waits until it has read some of them.
        """
        on_frame, put_off, now_s = self._on_frame, self._put_off, self._turns.now_s
        while put_off and not (self._closing or self.write_paused):
            try:
                on_frame(self, put_off.popleft())
            except Exception:
                LOG.exception("%s: request not handled, connection closed", self.address)
                self.close()
            if self._out_size > PAUSE_SIZE:
                self.flush()
            if now_s() >= end_s:
                break
        self._is_queued = bool(put_off) and not (self._closing or self.write_paused)
        if self._put_off_size:
            self._worked()
        return self._is_queued

    def _stop_reading(self) -> None:
        """Read no more until the frames that wait are handled, and charge the peer for them."""
        frames = self._put_off
        size = sum(len(raw.header) + len(raw.body) for raw in frames)
        self._put_off_size = size + costs.FRAME.size * len(frames)
        # What comes all the same must not overtake them.
        self._take = None
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _drop_put_off(self) -> None:
        self._put_off.clear()
        self._put_off_size = 0

    def _worked(self) -> None:
        """Read again if no frames wait any more."""
        if self._closing:
            self._drop_put_off()
        if self._put_off:
            return
        self._put_off_size = 0
        self._charge()
        if self._bad is not None:
            super().end_badly(self._bad)
        elif not self._closing:
            self._take = self._on_bytes
            if not self.write_paused:
                super().resume_writing()

    def end_badly(self, error: BadFrame) -> None:
        """Close the connection when the frames that wait are handled."""
        if self._put_off:
            self._bad = error
        else:
            super().end_badly(error)

    def resume_writing(self) -> None:
        """Handle the frames that wait, then read again."""
        if not self._put_off:
            super().resume_writing()
            return
        self.write_paused = False
        self._room = self._write_size
        if not self._is_queued:
            self._is_queued = True
            # Not within asyncio's own write: it would report an end of the connection there twice.
            asyncio.get_running_loop().call_soon(self._turns.add, self)

    def on_bad_frame(self, error: BadFrame) -> None:
        """Log once why this connection ends."""
        LOG.warning("%s sent no frame, connection closed: %s", self.address, error)

    def send_command(self, cmd: Command) -> None:
        """Queue one command as a frame.

        Raises:
            BadCall: the command cannot be encoded.
        """
        self.send(encode_frame(cmd))


def _tell_busy(conn: ServerConn, raw: RawFrame) -> None:
    request = decode_frame(raw)
    if not request.is_oneway:
        conn.send_command(request.response(ResponseCode.SYSTEM_BUSY, remark=TOO_MANY))
    conn.close()


class RemotingServer:
    """Listens on one port.

    Args:
        on_frame: called with every complete frame; it never waits. An error that it raises closes
            the connection.
        on_close: called once for each connection that is gone.
        idle_s: a connection without traffic is closed after this time.
        partial_frame_s: a frame that is not complete after this time closes its connection.
        write_buffer_max: the bytes that a peer may leave unread before its connection is closed.
        connections_max: connections beyond this number are answered with SYSTEM_BUSY and closed.
        per_address_max: the same for the connections of one address; 0 for no such limit.
        may_connect: returns whether an address may connect; without it everybody may.
        backlog: the connections that may wait until they are accepted.
        tls: how TLS connections and plain ones are treated.
        handshake_s: a TLS handshake that takes longer closes its connection.
        resources: what this port shares with the others of its process.
    """

    def __init__(
        self,
        *,
        on_frame: Callable[[ServerConn, RawFrame], None],
        on_close: Callable[[ServerConn], None],
        idle_s: float = 120.0,
        partial_frame_s: float = 30.0,
        write_buffer_max: int = WRITE_BUFFER_MAX,
        connections_max: int = CONNECTIONS_MAX,
        per_address_max: int = 0,
        may_connect: Callable[[str], bool] | None = None,
        backlog: int = BACKLOG,
        tls: ServerTls = NO_TLS,
        handshake_s: float = HANDSHAKE_S,
        resources: Resources | None = None,
    ) -> None:
        self.on_frame = on_frame
        self.on_close = on_close
        self.on_bytes: Callable[[ServerConn, bytes], int] | None = None
        """May handle the first frames of a read in its own way, see ``remoting.frame.Take``."""
        self.write_buffer_max = write_buffer_max
        self.handshake_s = handshake_s
        self.resources = resources or Resources()
        self._idle_s = idle_s
        self._listener = Listener(self._accept, backlog=backlog)
        self._partial_frame_s = partial_frame_s
        self._admission = Admission(
            connections_max=connections_max,
            per_address_max=per_address_max,
            may_connect=may_connect,
            places=self.resources.places,
        )
        self.contexts = None if tls.mode is TlsMode.DISABLED else ServerContexts(tls)
        self.openings: set[asyncio.Task[None]] = set()
        """The tasks of connections that are about to get a transport."""
        self.connections: set[ServerConn] = set()
        """The open connections."""
        self._numbers = itertools.count(1)
        self.outbox: Outbox
        """The connections that have something to write this turn; ``start`` makes it."""
        self._sweeper: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Event | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port (the one the system chose when ``port`` is 0).

        Raises:
            OSError: the address cannot be bound.
            BadCall: key or certificate of TLS cannot be used.
        """
        if self.contexts is not None:
            self.contexts.check()
        loop = asyncio.get_running_loop()
        # A write that an earlier loop still had to do will never come.
        self.outbox = Outbox()
        self._emptied = asyncio.Event()
        bound = await self._listener.start(host, port)
        self._sweep_later(loop)
        return bound

    async def stop(self) -> None:
        """Stop listening, send what is queued, close every connection, and wait for the end."""
        if self._emptied is None:
            return
        self._listener.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for conn in tuple(self.connections):
            conn.close()
        try:
            async with asyncio.timeout(_CLOSE_GRACE_S if self.connections else None):
                if self.connections:
                    await self._emptied.wait()
        except TimeoutError:
            # A peer that does not read must not keep us from stopping.
            for conn in tuple(self.connections):
                conn.abort()
            await self._emptied.wait()
        await asyncio.gather(*self.openings, return_exceptions=True)
        self._emptied = None

    def _accept(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        """Accept a new connection, or close it if the verdict is ``OUT``."""
        ip = _plain_ip(peer[0])
        verdict = self._admission.enter(ip)
        if verdict is AdmissionResult.OUT:
            sock.close()
            return
        conn = ServerConn(self, next(self._numbers))
        try:
            conn.begin(sock, (ip, peer[1]), verdict)
        except OSError:
            self._admission.leave(ip, verdict)
            sock.close()
            return
        self.connections.add(conn)
        if self._emptied is not None:
            self._emptied.clear()

    def forget(self, conn: ServerConn) -> None:
        """Forget a lost connection, and tell the owner unless it only got SYSTEM_BUSY."""
        self.connections.discard(conn)
        if not self.connections and self._emptied is not None:
            self._emptied.set()
        self._admission.leave(conn.peer[0], conn.verdict)
        if conn.verdict is AdmissionResult.BUSY:
            return
        try:
            self.on_close(conn)
        except Exception:
            LOG.exception("%s: end of the connection not handled", conn.address)

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        def look() -> None:
            self.sweep(loop.time())
            self._sweep_later(loop)

        self._sweeper = loop.call_later(min(self._idle_s, self._partial_frame_s) / 8, look)

    def sweep(self, now_s: float) -> None:
        """Close connections that were silent, unfinished or closing for too long at ``now_s``."""
        for conn in tuple(self.connections):
            watch = conn.watch
            if conn.is_closing:
                if watch.closing_s < 0:
                    watch.closing_s = now_s
                elif now_s - watch.closing_s > _CLOSE_GRACE_S:
                    conn.abort()
                continue
            if conn.first_byte is not None:
                self._sweep_opening(conn, conn.first_byte, now_s)
                continue
            activity = (conn.activity, conn.unsent_size)
            if activity != watch.activity:
                watch.activity, watch.active_s = activity, now_s
            elif now_s - watch.active_s >= self._idle_s:
                LOG.info("%s was idle for %d s, connection closed", conn.address, self._idle_s)
                conn.close()
                continue
            if not conn.waiting_size or conn.frame_count != watch.frame_count:
                watch.frame_count = conn.frame_count if conn.waiting_size else -1
                watch.partial_s = now_s
            elif now_s - watch.partial_s >= self._partial_frame_s and not conn.write_paused:
                LOG.warning(
                    "%s left a frame unfinished for %d s, connection closed",
                    conn.address,
                    self._partial_frame_s,
                )
                conn.close()

    def _sweep_opening(self, conn: ServerConn, first_byte: FirstByte, now_s: float) -> None:
        """Close a connection that sends nothing, or does not end its handshake, for too long."""
        limit_s = self.handshake_s if first_byte.is_securing else self._partial_frame_s
        watch = conn.watch
        if watch.opening is not first_byte.is_securing:
            watch.opening, watch.opening_s = first_byte.is_securing, now_s
        elif now_s - watch.opening_s >= limit_s:
            doing = "did not end its TLS handshake" if first_byte.is_securing else "said nothing"
            LOG.info("%s %s for %d s, connection closed", conn.address, doing, limit_s)
            conn.close()


def _plain_ip(text: str) -> str:
    """Return an address without its zone; a dual-stack socket's IPv4 peer in IPv4 form."""
    ip = text.partition("%")[0]
    # Records and access rules want IPv4.
    return ip[7:] if ip.startswith("::ffff:") and "." in ip else ip
