"""The listening port of the gRPC endpoint: TLS and plain clients on one port.

    accepted ── first byte ── TLS or plain ── Http2Connection ── Calls ── the methods

Like the proxy of 5.4.0 and all our servers, it accepts TLS and plain connections on one port, with
a self-signed certificate unless the settings name another one.

Source: proxy/grpc/ProxyAndTlsProtocolNegotiator.java (5.4.0).
"""

import asyncio
import socket
import ssl
from functools import partial
from typing import Final

from mqserver.proxy.http2.calls import Calls
from mqserver.proxy.http2.connection import Http2Connection
from mqserver.runtime.access.hostaddress import join_address
from remoting.aio.admission import Admission, AdmissionResult
from remoting.aio.firstbyte import FirstByte
from remoting.aio.listener import Listener
from remoting.aio.resources import PLACES_MAX, Resources
from remoting.aio.tls import ServerContexts, ServerTls, TlsMode

BACKLOG: Final = 1024
GREETING_S: Final = 30.0
"""How long a client may take to begin HTTP/2, including its TLS handshake."""
STOP_S: Final = 1.0
"""How long calls may go on after the port is closed."""
KEEPALIVE_S: Final = 60
"""The silence after which TCP probes a peer, because a client that waits for commands sends
nothing, and one that lost its power does not close its connection."""


class _H2Contexts(ServerContexts):
    """TLS contexts that agree on HTTP/2, which gRPC clients insist on."""

    def current(self) -> ssl.SSLContext:
        context = super().current()
        context.set_alpn_protocols(["h2"])
        return context


class GrpcPort:
    """The port.

    Args:
        calls: the methods.
        tls: whether plain clients are accepted, and the certificate.
        resources: limits that it shares with the other ports of the process.
        per_address_max: the limit on connections of one address; 0 for no limit.

    Attributes:
        port: the port; 0 before the start.
    """

    def __init__(
        self, calls: Calls, *, tls: ServerTls, resources: Resources, per_address_max: int = 0
    ) -> None:
        self.port = 0
        self._calls = calls
        self._contexts = None if tls.mode is TlsMode.DISABLED else _H2Contexts(tls)
        self._resources = resources
        self._admission = Admission(
            connections_max=PLACES_MAX,
            per_address_max=per_address_max,
            places=resources.places,
        )
        self._listener = Listener(self._accept_socket, backlog=BACKLOG)
        self._connections: set[Http2Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._empty = asyncio.Event()

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        Raises:
            OSError: the address cannot be bound.
        """
        self.port = await self._listener.start(host, port)
        return self.port

    async def stop(self) -> None:
        """Accept no more connections and calls, and end those that last longer than STOP_S."""
        self._listener.close()
        for connection in list(self._connections):
            connection.leave()
        try:
            async with asyncio.timeout(STOP_S):
                await self._all_gone()
        except TimeoutError:
            for connection in list(self._connections):
                connection.give_way()
        for task in list(self._opening):
            task.cancel()

    def drop_idle(self, idle_s: float) -> None:
        """Close the connections that have been idle for ``idle_s``: without a call or a byte."""
        end_s = asyncio.get_running_loop().time() - idle_s
        for connection in list(self._connections):
            if not connection.streams and connection.active_s < end_s:
                connection.leave()

    async def _all_gone(self) -> None:
        while self._connections:
            self._empty.clear()
            await self._empty.wait()

    def _accept_socket(self, sock: socket.socket, address: tuple[str, int]) -> None:
        name = join_address(*address)
        verdict = self._admission.enter(address[0])
        if verdict is not AdmissionResult.IN:
            if verdict is AdmissionResult.BUSY:
                # HTTP/2 has no answer to a connection that has not sent a request.
                self._admission.leave(address[0], verdict)
            sock.close()
            return
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
        connection = Http2Connection(
            name,
            lambda stream, metadata: self._calls.open(stream, metadata, name),
            partial(self._gone, address[0]),
            resources=self._resources,
            greeting_s=GREETING_S,
        )
        self._connections.add(connection)
        connection.first_byte = FirstByte(
            sock,
            connection,
            contexts=self._contexts,
            name=name,
            tasks=self._opening,
            handshake_s=GREETING_S,
            handshakes=self._resources.handshakes,
        )

    def _gone(self, ip: str, connection: Http2Connection) -> None:
        self._connections.discard(connection)
        self._admission.leave(ip, AdmissionResult.IN)
        if not self._connections:
            self._empty.set()
