"""A listening port that takes new connections a few at a time.

    readable ── accept a few ──> take(socket, address) ── next turn of the loop
                  └─ no descriptor or no memory ── rests for REST_S, one line in the log

Rule: however many connections wait, accepting them takes a turn of the loop only a little longer
than serving the open ones. asyncio's own servers accept up to ``backlog`` connections in one turn,
and without a descriptor they log a traceback for each of them.

Source: ours; it takes the place of asyncio/selector_events.py#_accept_connection.
"""

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable
from typing import Final

LOG = logging.getLogger(__name__)

ACCEPTS_A_TURN: Final = 8
"""The new connections of one port in a short turn; each takes about as long as a send."""
ACCEPT_SHARE: Final = 0.25
"""In a long turn, accepting may take this part of the time that passed since the last time. With
eight in each turn, a broker that is busy would let clients wait for seconds that all reconnect."""
ACCEPT_S_MAX: Final = 0.005
REST_S: Final = 0.25
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Take = Callable[[socket.socket, tuple[str, int]], None]
"""Called with a connected non-blocking socket, and with address and port of its peer."""


class Listener:
    """One port, on one or several addresses.

    Args:
        take: called with each new connection, which it owns from then on.
        backlog: the connections that may wait until they are accepted.
        now_s: a clock that is never set.
    """

    def __init__(
        self, take: Take, *, backlog: int, now_s: Callable[[], float] = time.perf_counter
    ) -> None:
        self._take = take
        self._backlog = backlog
        self._now_s = now_s
        self._ended_s = now_s()
        """When the last connections were accepted."""
        self._sockets: dict[socket.socket, asyncio.TimerHandle | None] = {}
        self._is_told = False

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port (the one the system chose when ``port`` is 0).

        Raises:
            OSError: the address cannot be bound.
        """
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, address in {(family, address) for family, _, _, _, address in addresses}:
                sock = socket.create_server(address, family=family, backlog=self._backlog)
                sock.setblocking(False)
                self._sockets[sock] = None
        except OSError:
            self.close()
            raise
        for sock in self._sockets:
            loop.add_reader(sock, self._ready, sock)
        bound: int = next(iter(self._sockets)).getsockname()[1]
        return bound

    def close(self) -> None:
        """Accept no more connections."""
        loop = asyncio.get_running_loop()
        for sock, rest in self._sockets.items():
            if rest is not None:
                rest.cancel()
            loop.remove_reader(sock)
            sock.close()
        self._sockets.clear()

    def _ready(self, sock: socket.socket) -> None:
        began_s, count = self._now_s(), 0
        end_s = began_s + min(ACCEPT_SHARE * (began_s - self._ended_s), ACCEPT_S_MAX)
        while (count < ACCEPTS_A_TURN or self._now_s() < end_s) and self._accept(sock):
            count += 1
        self._ended_s = self._now_s()

    def _accept(self, sock: socket.socket) -> bool:
        """Accept one connection; return False when there is none to accept now."""
        try:
            fresh, address = sock.accept()
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionError:
            # The peer has closed the connection while it waited.
            return True
        except OSError as error:
            self._rest(sock, error)
            return False
        self._is_told = False
        fresh.setblocking(False)
        # asyncio sets this only for sockets that know their protocol, which these do not.
        fresh.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._take(fresh, (address[0], address[1]))
        return True

    def _rest(self, sock: socket.socket, error: OSError) -> None:
        """Accept nothing for a moment; the connections that wait are accepted later."""
        if not self._is_told:
            self._is_told = True
            hint = ", raise `ulimit -n`" if error.errno in _EXHAUSTED else ""
            LOG.warning("no connection can be taken: %s; tried again%s", error, hint)
        loop = asyncio.get_running_loop()
        loop.remove_reader(sock)
        self._sockets[sock] = loop.call_later(REST_S, self._go_on, sock)

    def _go_on(self, sock: socket.socket) -> None:
        self._sockets[sock] = None
        asyncio.get_running_loop().add_reader(sock, self._ready, sock)
