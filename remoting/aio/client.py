"""The client side: one connection to each address, with many requests on it at once.

    invoke ── connection of the address (made once, shared) ── opaque, frame, future
    answer ── opaque ── future          request of the peer ── on_request ── answer

Rule: an answer with a code other than 0 is an answer, not an error. An error is raised here only
when no answer came (``ConnectFailed``, ``ConnectionLost``, ``RequestTimedOut``).

Source: remoting/netty/NettyRemotingClient.java.
"""

import asyncio
import inspect
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from remoting.address import failure_text, split_address
from remoting.aio.channel import Channel, FutureWaiter
from remoting.aio.link import Outbox
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.errors import (
    BadCall,
    ConnectFailed,
    ConnectionLost,
    RemotingError,
    RequestTimedOut,
)
from remoting.frame import encode_frame

if TYPE_CHECKING:
    from remoting.aio.tls import ClientTls

LOG = logging.getLogger(__name__)

Answer = Command | None
OnRequest = Callable[[str, Command], Answer | Awaitable[Answer]]
OnExchange = Callable[[str, Command, "Command | RemotingError | None", float], None]
"""Called with address, request, answer (None for oneway) or error, and elapsed ms."""

_CLOSE_GRACE_S: Final = 1.0


def _context_of(tls: "ClientTls") -> ssl.SSLContext:
    # The code for certificates takes longer to load than a plain request takes.
    from remoting.aio.tls import client_context

    return client_context(tls)


class RemotingClient:
    """Sends requests to servers and answers the requests that servers send back.

    Args:
        connect_timeout_s: how long a connection attempt may take.
        on_request: called with (address, request) of a server; its result (or that of its
            awaitable) is sent back, and None sends nothing. Without it such requests are ignored.
        sign: called with every request before it is encoded, to add a signature to its fields;
            it gets the request, the address of the server, and the IP address that this is.
        on_exchange: called after every finished request, for `--explain`.
        tls: the TLS settings of connections; None leaves them plain.

    Raises:
        BadCall: a file that ``tls`` names cannot be used.
    """

    def __init__(
        self,
        *,
        connect_timeout_s: float = 3.0,
        on_request: OnRequest | None = None,
        sign: Callable[[Command, str, str], None] | None = None,
        on_exchange: OnExchange | None = None,
        tls: "ClientTls | None" = None,
    ) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._on_request = on_request
        self._sign = sign
        self._on_exchange = on_exchange
        self._context = None if tls is None else _context_of(tls)
        self._channels: dict[str, Channel] = {}
        self._connecting: dict[str, asyncio.Task[Channel]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._outbox = Outbox()
        self._closed = False

    async def invoke(self, address: str, command: Command, *, timeout_s: float = 5.0) -> Command:
        """Send a request and return the answer, whatever its code.

        ``command`` gets its ``opaque`` (and signature) here, so do not share one object
        between calls that run at the same time.

        Args:
            address: ``host:port`` of the server.
            command: the request.
            timeout_s: the limit for connection, request and answer together.

        Raises:
            ConnectFailed: there was no answer from ``address``.
            ConnectionLost: the connection ended first; the request may have been executed.
            RequestTimedOut: no answer in ``timeout_s``; the request may have been executed.
            BadCall: the command cannot be encoded, the address is invalid, or the client is closed.
        """
        observed = self._on_exchange is not None
        started_s = asyncio.get_running_loop().time() if observed else 0.0
        outcome: Command | RemotingError | None = None
        try:
            channel, left_s = self._channels.get(address), timeout_s
            if channel is None or channel.is_closing or channel.write_paused:
                channel, left_s = await self._writable(address, timeout_s)
            opaque = command.opaque = channel.pending.next_opaque()
            frame = self._frame(command, channel)
            loop = asyncio.get_running_loop()
            asking = FutureWaiter(loop.create_future())
            channel.post(opaque, frame, asking, loop.time() + left_s)
            try:
                outcome = await asking.future
            except BaseException:
                # The caller gave up or failed and no longer waits for the answer.
                channel.pending.pop_waiter(opaque)
                raise
        except TimeoutError:
            outcome = RequestTimedOut.of(address, command.code, timeout_s=timeout_s)
            raise outcome from None
        except RemotingError as error:
            outcome = error
            raise
        finally:
            if observed:
                self._observe(address, command, outcome, started_s)
        return outcome

    async def invoke_oneway(self, address: str, command: Command) -> None:
        """Send a request that is not answered, and return when it is queued for the socket.

        Raises:
            ConnectFailed: there was no answer from ``address``.
            ConnectionLost: the connection ended before the request could be queued.
            BadCall: the command is not a oneway request, or cannot be encoded.
        """
        if not command.is_oneway:
            raise BadCall(f"request code {command.code} is not marked oneway")
        started_s = asyncio.get_running_loop().time()
        outcome: RemotingError | None = None
        try:
            channel = await self._channel(address, self._connect_timeout_s)
            await channel.writable()
            self._check_open(channel)
            command.opaque = channel.pending.next_opaque()
            channel.send(self._frame(command, channel))
        except RemotingError as error:
            outcome = error
            raise
        finally:
            self._observe(address, command, outcome, started_s)

    def standing(self, address: str) -> Channel | None:
        """Return the connection to ``address`` for a caller that writes frames on it.

        Returns:
            None if there is no connection yet or if it takes no bytes now, and if requests are
            signed or reported to ``on_exchange``; use ``invoke`` then.
        """
        channel = self._channels.get(address)
        if (
            channel is None
            or channel.is_closing
            or channel.write_paused
            or self._sign is not None
            or self._on_exchange is not None
        ):
            return None
        return channel

    async def close(self) -> None:
        """Close all connections; requests that still wait fail with ConnectionLost."""
        self._closed = True
        tasks = [*self._connecting.values(), *self._answering]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        channels = list(self._channels.values())
        for channel in channels:
            channel.close()
        if channels:
            _, left = await asyncio.wait([c.lost for c in channels], timeout=_CLOSE_GRACE_S)
            for channel in channels:
                if channel.lost in left:
                    channel.abort()
            await asyncio.gather(*left)

    async def _writable(self, address: str, timeout_s: float) -> tuple[Channel, float]:
        """Return a connection that takes bytes, and the seconds that are left."""
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + timeout_s
        channel = await self._channel(address, min(self._connect_timeout_s, timeout_s))
        if channel.write_paused:
            async with asyncio.timeout_at(deadline_s):
                await channel.writable()
        self._check_open(channel)
        return channel, deadline_s - now_s()

    def _frame(self, command: Command, channel: Channel) -> bytes:
        if self._sign is not None:
            self._sign(command, channel.address, channel.peer_ip)
        return encode_frame(command)

    def _check_open(self, channel: Channel) -> None:
        if channel.is_closing:
            raise ConnectionLost(
                f"connection to {channel.address} ended before the request was sent",
                address=channel.address,
            )

    def _observe(
        self,
        address: str,
        command: Command,
        outcome: Command | RemotingError | None,
        started_s: float,
    ) -> None:
        if self._on_exchange is not None:
            elapsed_ms = (asyncio.get_running_loop().time() - started_s) * 1000
            self._on_exchange(address, command, outcome, elapsed_ms)

    async def _channel(self, address: str, timeout_s: float) -> Channel:
        channel = self._channels.get(address)
        if channel is not None and not channel.is_closing:
            return channel
        if self._closed:
            raise BadCall("the client is closed")
        task = self._connecting.get(address)
        if task is None:
            task = asyncio.create_task(self._connect(address), name=f"connect {address}")
            self._connecting[address] = task
            task.add_done_callback(lambda done: self._connected(address, done))
        # Other callers may wait for the same attempt, which is not cancelled with this one.
        done, _ = await asyncio.wait([task], timeout=timeout_s)
        if not done:
            reason = f"no connection in {timeout_s:g} s"
        elif task.cancelled():
            reason = "the client was closed"
        else:
            try:
                return task.result()
            except TimeoutError:
                reason = f"no connection in {self._connect_timeout_s:g} s"
            except OSError as error:
                reason = failure_text(error)
        raise ConnectFailed(f"cannot connect to {address}: {reason}", address=address)

    async def _connect(self, address: str) -> Channel:
        loop = asyncio.get_running_loop()
        host, port = split_address(address)
        async with asyncio.timeout(self._connect_timeout_s):
            _, channel = await loop.create_connection(
                lambda: Channel(self, address, self._outbox),
                host,
                port,
                ssl=self._context,
                # The name is not compared with the certificate, but TLS requires one.
                server_hostname=None if self._context is None else host,
            )
        return channel

    def _connected(self, address: str, task: "asyncio.Task[Channel]") -> None:
        del self._connecting[address]
        if task.cancelled() or task.exception() is not None:
            return
        channel = task.result()
        if not channel.is_closing:
            self._channels[address] = channel

    def forget(self, channel: Channel) -> None:
        """Forget a lost connection; the next request makes a new one."""
        if self._channels.get(channel.address) is channel:
            del self._channels[channel.address]

    def answer(self, channel: Channel, request: Command) -> None:
        """Let ``on_request`` handle a request of the server, and send back its result."""
        if self._on_request is None:
            return
        task = asyncio.ensure_future(self._answer(channel, request, self._on_request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, channel: Channel, request: Command, handle: OnRequest) -> None:
        try:
            given = handle(channel.address, request)
            response = await given if inspect.isawaitable(given) else given
        except Exception as error:
            LOG.exception("request code %d of %s not handled", request.code, channel.address)
            response = request.response(
                ResponseCode.SYSTEM_ERROR, remark=f"{type(error).__name__}: {error}"
            )
        if response is not None and not request.is_oneway:
            channel.send(encode_frame(response))
