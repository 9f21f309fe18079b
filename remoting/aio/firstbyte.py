"""Tells a TLS connection from a plain one by its first byte, on one port.

    connected ── nothing is read ── first byte there, looked at and left in the socket
        0x16   TLS handshake, then frames      (disabled: closed, as no frame begins so)
        else   frames                          (enforcing: closed)

Rule: until it is known what a connection is, nothing is read from it and nothing is sent, so no
byte of an answer leaves unprotected. After that a plain connection is as if this had not been.

Source: remoting/netty/NettyRemotingServer.java#HandshakeHandler.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

from remoting.aio.tls import HANDSHAKE_BYTE, ServerContexts, TlsMode
from remoting.errors import BadCall

LOG = logging.getLogger(__name__)

HANDSHAKE_TIMEOUT_S: Final = 10.0
SHUTDOWN_TIMEOUT_S: Final = 3.0

Decided = Callable[[asyncio.Transport | None], None]
"""Told the transport to go on with, None when the connection is to be given up."""


class FirstByte:
    """The look at one connection; ``decided`` is told once, unless it is cancelled.

    Args:
        transport: freshly connected; its reading is paused here.
        protocol: whose transport it is.
        name: the peer, for the log.
        tasks: has the handshakes under way, for who has to wait for their end.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        protocol: asyncio.BaseProtocol,
        *,
        contexts: ServerContexts,
        name: str,
        tasks: set[asyncio.Task[None]],
        decided: Decided,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._protocol = protocol
        self._contexts = contexts
        self._name = name
        self._tasks = tasks
        self._decided = decided
        self._task: asyncio.Task[None] | None = None
        transport.pause_reading()
        # The transport has its own reader on the socket; a copy of the handle may have another.
        self._socket: socket.socket | None = transport.get_extra_info("socket").dup()
        self._loop.add_reader(self._socket, self._look)

    def cancel(self) -> None:
        """Give up: the connection is closed, or gone already."""
        self._let_go()
        if self._task is not None:
            self._task.cancel()
        self._transport.abort()

    def _look(self) -> None:
        if self._socket is None:
            return
        try:
            first = self._socket.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""  # the transport meets the same error, and says so
        self._let_go()
        mode = self._contexts.mode
        if first and first[0] == HANDSHAKE_BYTE:
            self._task = self._loop.create_task(self._secure(), name=f"TLS with {self._name}")
            self._tasks.add(self._task)
            self._task.add_done_callback(self._tasks.discard)
        elif first and mode is TlsMode.ENFORCING:
            LOG.warning("%s speaks plain text and TLS is enforced, connection closed", self._name)
            self._transport.abort()
            self._decided(None)
        else:
            self._decided(self._transport)
            self._transport.resume_reading()

    def _let_go(self) -> None:
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    async def _secure(self) -> None:
        secured: asyncio.Transport | None = None
        try:
            secured = await self._loop.start_tls(
                self._transport,
                self._protocol,
                self._contexts.current(),
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_TIMEOUT_S,
                ssl_shutdown_timeout=SHUTDOWN_TIMEOUT_S,
            )
        except BadCall as error:
            LOG.error("%s wants TLS and there is no certificate: %s", self._name, error)
        except (OSError, TimeoutError) as error:
            LOG.info("%s: no TLS connection: %s", self._name, error)
        if secured is None:
            self._transport.abort()
        self._decided(secured)
