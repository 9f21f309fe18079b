"""From an accepted socket to a transport: tells TLS from plain connections by their first byte.

    WAITING ── nothing is read ── first byte there, looked at and left in the socket
       │ 0x16   SECURING: waits for its turn, TLS handshake, then frames   (disabled: closed)
       └ else   frames                                 (enforcing: closed)

Rule: until the kind of a connection is known, nothing is read from it and nothing is sent, so no
byte of an answer leaves unprotected. A connection that has not sent a byte costs one descriptor
and no transport. A server without TLS does not wait for the byte.

Source: remoting/netty/NettyRemotingServer.java#HandshakeHandler.
"""

import asyncio
import logging
import socket
from typing import Final, Protocol, cast

from remoting.aio.starts import Starts
from remoting.aio.tls import HANDSHAKE_BYTE, ServerContexts, TlsMode
from remoting.errors import BadCall

LOG = logging.getLogger(__name__)

SHUTDOWN_TIMEOUT_S: Final = 3.0


class TransportOwner(Protocol):
    """The protocol that waits for a transport."""

    @property
    def ip(self) -> str:
        """The address of the peer."""

    def not_opened(self) -> None:
        """Record that there is no transport and that the socket is closed."""


class FirstByte:
    """Waits for the first byte of one connection.

    Args:
        sock: the accepted socket; this object owns it until there is a transport.
        conn: the protocol, which gets its transport by ``connection_made``.
        contexts: the TLS contexts, None for a server without TLS.
        name: the peer, for the log.
        tasks: the set of connections that are being opened, so that a server can wait for them.
        handshake_s: how long a handshake may take.
        handshakes: the handshakes of the process.
    """

    def __init__(
        self,
        sock: socket.socket,
        conn: TransportOwner,
        *,
        contexts: ServerContexts | None,
        name: str,
        tasks: set[asyncio.Task[None]],
        handshake_s: float,
        handshakes: Starts,
    ) -> None:
        self.is_securing = False
        """True once a handshake was begun, or waits for its turn."""
        self._loop = asyncio.get_running_loop()
        self._socket = sock
        self._conn = conn
        self._contexts = contexts
        self._name = name
        self._tasks = tasks
        self._handshake_s = handshake_s
        self._handshakes = handshakes
        self._task: asyncio.Task[None] | None = None
        if contexts is None:
            self._begin()
        else:
            self._loop.add_reader(sock, self._look, contexts.mode)

    def cancel(self) -> None:
        """Give up, since the connection is closed or already gone."""
        if self._task is None:
            self._let_go()
        else:
            self._task.cancel()

    def _let_go(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()

    def _look(self, mode: TlsMode) -> None:
        try:
            first = self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        self.is_securing = first[:1] == bytes((HANDSHAKE_BYTE,))
        if first and not self.is_securing and mode is TlsMode.ENFORCING:
            LOG.warning("%s speaks plain text and TLS is enforced, connection closed", self._name)
            first = b""
        if not first:
            self._refuse()
        elif not self.is_securing:
            self._loop.remove_reader(self._socket)
            self._begin()
        elif self._handshakes.add(self._conn.ip, self._begin):
            self._loop.remove_reader(self._socket)
        else:
            LOG.info("too many TLS handshakes wait, the connection of %s is closed", self._name)
            self._refuse()

    def _refuse(self) -> None:
        self._let_go()
        self._conn.not_opened()

    def _begin(self) -> None:
        if self._socket.fileno() < 0:
            # It was given up while it waited for its turn.
            return
        opening = self._secure() if self.is_securing else self._open()
        self._task = self._loop.create_task(opening, name=f"connection of {self._name}")
        self._tasks.add(self._task)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            LOG.error("%s: connection not opened", self._name, exc_info=error)
        if error is not None or task.cancelled():
            # If the task never began to run, the socket is still open.
            self._socket.close()

    async def _open(self) -> None:
        try:
            await self._loop.connect_accepted_socket(
                lambda: cast(asyncio.BaseProtocol, self._conn), self._socket
            )
        except OSError as error:
            LOG.info("%s is gone: %s", self._name, error)
            self._conn.not_opened()

    async def _secure(self) -> None:
        assert self._contexts is not None
        try:
            # In one step: a transport that is made first may read before TLS takes its place.
            await self._loop.connect_accepted_socket(
                lambda: cast(asyncio.BaseProtocol, self._conn),
                self._socket,
                ssl=self._contexts.current(),
                ssl_handshake_timeout=self._handshake_s,
                ssl_shutdown_timeout=SHUTDOWN_TIMEOUT_S,
            )
        except BadCall as error:
            LOG.error(
                "%s asks for TLS, but the server has no usable certificate: %s", self._name, error
            )
        except (OSError, TimeoutError) as error:
            LOG.info("%s: no TLS connection: %s", self._name, error)
        else:
            return
        self._socket.close()
        self._conn.not_opened()
