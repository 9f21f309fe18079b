"""The client side without an event loop: one request at a time, over plain blocking sockets.

    drive(coroutine) ── invoke ── connect, send, read until the answer is there ── result

``DirectClient`` has the methods of ``remoting.aio.client.RemotingClient``, so the same code runs
with either of them. Its coroutines never wait for an event loop, they block; ``drive`` runs such a
coroutine to its end. asyncio, threads and TLS take a third of the time of a one-shot command.

Rule: this is for a program that sends some requests and ends. Requests of a server are not answered
here, and a connection on which an exchange did not finish is closed and never used again.
"""

import socket
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Final, TypeVar, cast

from remoting.address import failure_text, split_address
from remoting.command import Command
from remoting.errors import (
    BadCall,
    BadFrame,
    ConnectFailed,
    ConnectionLost,
    RemotingError,
    RequestTimedOut,
)
from remoting.frame import FRAME_SIZE_MAX, FrameReader, decode_frame, encode_frame

if TYPE_CHECKING:
    import ssl

    from remoting.aio.client import OnExchange
    from remoting.aio.tls import ClientTls

T = TypeVar("T")

READ_SIZE: Final = 65_536


def drive(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine that never waits for an event loop to its end; return its result.

    Raises:
        BadCall: it does wait for an event loop, so it needs ``asyncio``.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    work.close()
    raise BadCall(f"{work} waits for an event loop, and none runs here")


class DirectClient:
    """Sends requests to servers, one at a time.

    Args:
        connect_timeout_s: how long a connection attempt may take.
        sign: called with every request before it is encoded, to add a signature to its fields;
            it gets the request, the address of the server, and the IP address that this is.
        on_exchange: called after every finished request.
        tls: the TLS settings of connections; None leaves them plain.

    Raises:
        BadCall: a file that ``tls`` names cannot be used.
    """

    def __init__(
        self,
        *,
        connect_timeout_s: float = 3.0,
        sign: Callable[[Command, str, str], None] | None = None,
        on_exchange: "OnExchange | None" = None,
        tls: "ClientTls | None" = None,
    ) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._sign = sign
        self._on_exchange = on_exchange
        self._context = None if tls is None else _context_of(tls)
        self._sockets: dict[str, socket.socket] = {}
        self._opaque = 0

    def standing(self, address: str) -> None:
        """Return None, since only this client writes on its connections."""

    async def invoke(self, address: str, command: Command, *, timeout_s: float = 5.0) -> Command:
        """Send a request and return the answer, whatever its code; blocks meanwhile.

        Raises:
            ConnectFailed, ConnectionLost, RequestTimedOut, BadCall: as
                ``remoting.aio.client.RemotingClient.invoke``.
        """
        return cast(Command, self._exchange(address, command, timeout_s, wants_answer=True))

    async def invoke_oneway(self, address: str, command: Command) -> None:
        """Send a request that is not answered.

        Raises:
            ConnectFailed, ConnectionLost, BadCall: as ``invoke``.
        """
        if not command.is_oneway:
            raise BadCall(f"request code {command.code} is not marked oneway")
        self._exchange(address, command, self._connect_timeout_s, wants_answer=False)

    async def close(self) -> None:
        """Close all connections."""
        while self._sockets:
            self._sockets.popitem()[1].close()

    def _exchange(
        self, address: str, command: Command, timeout_s: float, *, wants_answer: bool
    ) -> Command | None:
        started_s = time.monotonic()
        outcome: Command | RemotingError | None = None
        try:
            outcome = self._ask(address, command, started_s + timeout_s, wants_answer=wants_answer)
        except TimeoutError:
            outcome = RequestTimedOut.of(address, command.code, timeout_s=timeout_s)
            raise outcome from None
        except RemotingError as error:
            outcome = error
            raise
        finally:
            if self._on_exchange is not None:
                elapsed_ms = (time.monotonic() - started_s) * 1000
                self._on_exchange(address, command, outcome, elapsed_ms)
        return outcome

    def _ask(
        self, address: str, command: Command, until_s: float, *, wants_answer: bool
    ) -> Command | None:
        # The socket is out of the table meanwhile: after an error or Ctrl-C its answer may still
        # arrive, and it must not be read as the answer to another request.
        peer = self._sockets.pop(address, None)
        if peer is None:
            peer = self._connect(address, _left_s(until_s))
        answer: Command | None = None
        try:
            self._opaque += 1
            command.opaque = self._opaque
            if self._sign is not None:
                self._sign(command, address, peer.getpeername()[0])
            peer.settimeout(_left_s(until_s))
            peer.sendall(encode_frame(command))
            if wants_answer:
                answer = _answer_to(command.opaque, peer, until_s)
        except BaseException as error:
            peer.close()
            if isinstance(error, (BadFrame, EOFError, OSError)) and not isinstance(
                error, TimeoutError
            ):
                reason = f": {error}" if str(error) else ""
                raise ConnectionLost(
                    f"connection to {address} ended before the answer{reason}", address=address
                ) from error
            raise
        self._sockets[address] = peer
        return answer

    def _connect(self, address: str, left_s: float) -> socket.socket:
        host, port = split_address(address)
        timeout_s = min(self._connect_timeout_s, left_s)
        try:
            peer = socket.create_connection((host, port), timeout_s)
        except TimeoutError:
            reason = f"no connection in {timeout_s:g} s"
        except OSError as error:
            reason = failure_text(error)
        else:
            return peer if self._context is None else self._secured(peer, address, self._context)
        raise ConnectFailed(f"cannot connect to {address}: {reason}", address=address)

    def _secured(
        self, peer: socket.socket, address: str, context: "ssl.SSLContext"
    ) -> socket.socket:
        try:
            # The name is not compared with the certificate, but ``ssl`` requires one.
            return context.wrap_socket(peer, server_hostname=split_address(address)[0])
        except OSError as error:
            peer.close()
            raise ConnectFailed(
                f"cannot connect to {address}: {failure_text(error)}", address=address
            ) from None


def _answer_to(opaque: int, peer: socket.socket, until_s: float) -> Command:
    """Read until the answer to a request is there; requests of the server are ignored.

    Raises:
        TimeoutError: the answer did not come in time.
        EOFError, OSError, BadFrame: the connection cannot be used any more.
    """
    reader = FrameReader(header_size_max=FRAME_SIZE_MAX)
    while True:
        peer.settimeout(_left_s(until_s))
        data = peer.recv(READ_SIZE)
        if not data:
            raise EOFError
        for raw in reader.feed(data):
            command = decode_frame(raw)
            if command.is_response and command.opaque == opaque:
                return command


def _left_s(until_s: float) -> float:
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _context_of(tls: "ClientTls") -> "ssl.SSLContext":
    # The code for certificates takes longer to load than a plain request takes.
    from remoting.aio.tls import client_context

    return client_context(tls)
