"""The port of the gRPC endpoint: TLS and plain clients, and the gRPC server behind it.

    client ── first byte ── TLS or plain ── relay ── 127.0.0.1:PORT ── grpcio
                                              └── peers: which client comes from which port

5.4.0's proxy takes TLS and plain connections on one port, with a self-signed certificate unless it
is given one; grpcio has one kind on a port. So the connection ends here, with the TLS of all our
servers, and its bytes go on to a gRPC server on the loopback interface.

Rule: grpcio is loaded and its server started when the first client connects, so an endpoint that
nobody uses costs a listening socket.

Source: proxy/grpc/ProxyAndTlsProtocolNegotiator.java (5.4.0).
"""

import asyncio
import importlib
import importlib.util
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, cast

from remoting.aio.firstbyte import FirstByte
from remoting.aio.listener import Listener
from remoting.aio.resources import Resources
from remoting.aio.tls import ServerContexts, ServerTls, TlsMode
from server.runtime.access.hostaddress import join_address

LOG = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
PACKAGE: Final = "grpc"
MISSING: Final = "gRPC clients need the package grpcio: pip install 'mqadmin[proxy]'"
BACKLOG: Final = 1024
HANDSHAKE_S: Final = 30.0
PLACES: Final = 3
"""The descriptors of a connection: the client's, and both ends of the one to the gRPC server."""


def has_grpc() -> bool:
    """Return whether grpcio is installed; it is not loaded."""
    return importlib.util.find_spec(PACKAGE) is not None


class _H2Contexts(ServerContexts):
    """TLS contexts that agree on HTTP/2, which gRPC clients insist on."""

    def current(self) -> ssl.SSLContext:
        context = super().current()
        context.set_alpn_protocols(["h2"])
        return context


class Front:
    """The listening port.

    Args:
        backend: starts the gRPC server and returns its port; called with the first connection.
        tls: which clients are taken, and the certificate.
        resources: limits that it shares with the other ports of the process.

    Attributes:
        peers: the address of each client by the loopback port that the gRPC server sees.
        port: the port; 0 before the start.
    """

    def __init__(
        self, backend: Callable[[], Awaitable[int]], *, tls: ServerTls, resources: Resources
    ) -> None:
        self.peers: dict[int, str] = {}
        self.port = 0
        self._backend = backend
        self._contexts = None if tls.mode is TlsMode.DISABLED else _H2Contexts(tls)
        self._places = resources.places
        self._listener = Listener(self._take, backlog=BACKLOG)
        self._relays: set[_Relay] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._ready: asyncio.Future[int] | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        Raises:
            OSError: the address cannot be bound.
        """
        self.port = await self._listener.start(host, port)
        return self.port

    def close(self) -> None:
        """Take no more connections, and end those that are open."""
        self._listener.close()
        for relay in list(self._relays):
            relay.close()
        for task in list(self._opening):
            task.cancel()

    def _take(self, sock: socket.socket, address: tuple[str, int]) -> None:
        if not all(self._places.take() for _ in range(PLACES)):
            LOG.warning("no descriptor is left for gRPC client %s, connection closed", address)
            sock.close()
            return
        relay = _Relay(self, join_address(*address))
        self._relays.add(relay)
        relay.first_byte = FirstByte(
            sock,
            relay,
            contexts=self._contexts,
            name=join_address(*address),
            tasks=self._opening,
            handshake_s=HANDSHAKE_S,
        )

    def gone(self, relay: "_Relay") -> None:
        """Forget a connection that ended."""
        if relay in self._relays:
            self._relays.discard(relay)
            for _ in range(PLACES):
                self._places.give_back()

    async def backend(self) -> int:
        """Return the port of the gRPC server, which is started by the first who asks."""
        if self._ready is None:
            self._ready = asyncio.ensure_future(self._backend())
        return await asyncio.shield(self._ready)


class _Relay(asyncio.Protocol):
    """One connection of a client; its bytes go to the gRPC server and back."""

    def __init__(self, front: Front, name: str) -> None:
        self.first_byte: FirstByte | None = None
        self._front = front
        self._name = name
        self._transport: asyncio.Transport | None = None
        self._inner: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._port = 0
        self._task: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(HANDSHAKE_S, self.close)

    # The client's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._patience.cancel()
        self._transport = cast(asyncio.Transport, transport)
        self._transport.pause_reading()
        self._task = asyncio.ensure_future(self._join())

    def not_opened(self) -> None:
        """Take note that the connection was not taken."""
        self._ended()

    def data_received(self, data: bytes) -> None:
        if self._inner is None:
            # uvloop may read once more after it was told to pause.
            self._early.append(data)
        else:
            self._inner.write(data)

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_reading()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended()

    def close(self) -> None:
        """End the connection."""
        if self._transport is None:
            if self.first_byte is not None:
                self.first_byte.cancel()
            self._ended()
        else:
            self._transport.close()

    def _ended(self) -> None:
        self._patience.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._inner is not None:
            self._inner.close()
        self._front.peers.pop(self._port, None)
        self._front.gone(self)

    async def _join(self) -> None:
        """Connect to the gRPC server; nothing is read from the client before that."""
        assert self._transport is not None
        try:
            port = await self._front.backend()
            loop = asyncio.get_running_loop()
            inner, _ = await loop.create_connection(lambda: _Inner(self), LOOPBACK, port)
        except (OSError, ImportError) as error:
            LOG.error("gRPC client %s is not served: %s", self._name, error)
            self._transport.abort()
            return
        self._inner = inner
        self._port = inner.get_extra_info("sockname")[1]
        self._front.peers[self._port] = self._name
        inner.writelines(self._early)
        self._early.clear()
        self._transport.resume_reading()

    # The gRPC server's side.

    def answered(self, data: bytes) -> None:
        """Pass on what the gRPC server sends."""
        if self._transport is not None:
            self._transport.write(data)

    def hold(self, is_full: bool) -> None:
        """Read from the client only as fast as the gRPC server does."""
        if self._transport is None or self._transport.is_closing():
            return
        if is_full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()


class _Inner(asyncio.Protocol):
    """The connection to the gRPC server."""

    def __init__(self, relay: _Relay) -> None:
        self._relay = relay

    def data_received(self, data: bytes) -> None:
        self._relay.answered(data)

    def pause_writing(self) -> None:
        self._relay.hold(True)

    def resume_writing(self) -> None:
        self._relay.hold(False)

    def connection_lost(self, error: Exception | None) -> None:
        self._relay.close()
