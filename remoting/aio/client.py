"""The asking side: one connection an address, many requests on it at once.

    invoke ── connection of the address (made once, shared) ── opaque, frame, future
    answer ── opaque ── future          request of the peer ── on_request ── answer

Rule: an answer with a code other than 0 is an answer, not an error; what raises here is that
no answer came (``ConnectFailed``, ``ConnectionLost``, ``RequestTimedOut``). One timer a
connection looks after its deadlines. A late answer is dropped.

Source: remoting/netty/NettyRemotingClient.java.
"""

import asyncio
import inspect
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from remoting.address import failure_text, split_address
from remoting.aio.link import Link, Outbox
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.conn import PendingRequests
from remoting.errors import (
    BadCall,
    BadFrame,
    ConnectFailed,
    ConnectionLost,
    RemotingError,
    RequestTimedOut,
)
from remoting.frame import RawFrame, decode_frame, encode_frame

if TYPE_CHECKING:
    from remoting.aio.tls import ClientTls

LOG = logging.getLogger(__name__)

Answer = Command | None
OnRequest = Callable[[str, Command], Answer | Awaitable[Answer]]
OnExchange = Callable[[str, Command, "Command | RemotingError | None", float], None]
"""Called with address, request, answer (None for oneway) or error, and elapsed ms."""

WRITE_BUFFER_MAX: Final = 512 * 1024 * 1024
_CLOSE_GRACE_S: Final = 1.0


def _context_of(tls: "ClientTls") -> ssl.SSLContext:
    # Certificates take longer to load the code for than a plain request takes.
    from remoting.aio.tls import client_context

    return client_context(tls)


class _Channel(Link):
    """The connection to one address."""

    def __init__(self, client: "RemotingClient", address: str, outbox: Outbox) -> None:
        super().__init__(outbox, write_buffer_max=WRITE_BUFFER_MAX)
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._resumed: asyncio.Event | None = None
        self.address = address
        self.pending: PendingRequests[asyncio.Future[Command]] = PendingRequests()
        self.lost = self._loop.create_future()

    def __str__(self) -> str:
        return self.address

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all that waits."""
        self._closing = True
        self._out.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._resumed is not None:
            self._resumed.set()
        self._client.forget(self)
        reason = f": {exc}" if exc is not None else ""
        for future in self.pending.drain():
            if not future.done():
                future.set_exception(
                    ConnectionLost(
                        f"connection to {self.address} ended before the answer{reason}",
                        address=self.address,
                    )
                )
        if not self.lost.done():
            self.lost.set_result(None)

    def on_frames(self, frames: Sequence[RawFrame]) -> None:
        """Match answers, hand over requests."""
        for raw in frames:
            try:
                cmd = decode_frame(raw)
            except BadFrame as error:
                self.on_bad_frame(error)
                self.abort()
                return
            if cmd.is_response:
                future = self.pending.take(cmd.opaque)
                if future is not None and not future.done():
                    future.set_result(cmd)
            else:
                self._client.answer(self, cmd)

    def on_bad_frame(self, error: BadFrame) -> None:
        """Say why the connection ends."""
        LOG.warning("%s sent no frame, connection closed: %s", self.address, error)

    def resume_writing(self) -> None:
        """Let senders go on."""
        super().resume_writing()
        if self._resumed is not None:
            self._resumed.set()

    async def writable(self) -> None:
        """Wait until the peer took enough of what was sent."""
        while self.write_paused and not self._closing:
            if self._resumed is None:
                self._resumed = asyncio.Event()
            self._resumed.clear()
            await self._resumed.wait()

    def expect(self, timeout_s: float) -> tuple[int, "asyncio.Future[Command]"]:
        """Return the opaque for a request and the future of its answer."""
        future: asyncio.Future[Command] = self._loop.create_future()
        # Rounded up: who tries again while there is time left must not find some then.
        deadline_ms = int((self._loop.time() + timeout_s) * 1000) + 1
        opaque = self.pending.add(future, deadline_ms)
        if self._timer is None or deadline_ms < self._timer_ms:
            self._wake_at(deadline_ms)
        return opaque, future

    def _wake_at(self, deadline_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        self._timer = self._loop.call_at(deadline_ms / 1000, self._expire)

    def _expire(self) -> None:
        self._timer = None
        # A timer may fire a clock tick early; 1 ms covers it, so that it need not fire twice.
        for future in self.pending.expired(int(self._loop.time() * 1000) + 1):
            if not future.done():
                future.set_exception(TimeoutError())
        deadline_ms = self.pending.next_deadline_ms()
        if deadline_ms is not None:
            self._wake_at(deadline_ms)


class RemotingClient:
    """Asks servers and answers what they ask back.

    Args:
        connect_timeout_s: how long a connection attempt may take.
        on_request: gets (address, request) of a server; what it returns (or its awaitable
            gives) is sent back, None sends nothing. Without it such requests are ignored.
        sign: called with every request before it is encoded, to add a signature to its fields.
        on_exchange: told about every finished request, for `--explain`.
        tls: how connections are secured; None leaves them plain.

    Raises:
        BadCall: a file that ``tls`` names cannot be used.
    """

    def __init__(
        self,
        *,
        connect_timeout_s: float = 3.0,
        on_request: OnRequest | None = None,
        sign: Callable[[Command], None] | None = None,
        on_exchange: OnExchange | None = None,
        tls: "ClientTls | None" = None,
    ) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._on_request = on_request
        self._sign = sign
        self._on_exchange = on_exchange
        self._context = None if tls is None else _context_of(tls)
        self._channels: dict[str, _Channel] = {}
        self._connecting: dict[str, asyncio.Task[_Channel]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._outbox: Outbox | None = None
        self._closed = False

    async def invoke(self, address: str, command: Command, *, timeout_s: float = 5.0) -> Command:
        """Send a request and return the answer, whatever its code.

        ``command`` gets its ``opaque`` (and signature) here, so do not share one object
        between calls that run at the same time.

        Raises:
            ConnectFailed: nobody answered at ``address``.
            ConnectionLost: the connection ended first; the request may have been executed.
            RequestTimedOut: no answer in ``timeout_s``; the request may have been executed.
            BadCall: the command cannot be encoded, the address is none, the client is closed.
        """
        observed = self._on_exchange is not None
        started_s = asyncio.get_running_loop().time() if observed else 0.0
        outcome: Command | RemotingError | None = None
        try:
            channel, left_s = self._channels.get(address), timeout_s
            if channel is None or channel.is_closing or channel.write_paused:
                channel, left_s = await self._writable(address, timeout_s)
            command.opaque, future = channel.expect(left_s)
            opaque = command.opaque
            try:
                self._send(channel, command)
                outcome = await future
            except BaseException:
                # Whoever gives up, nothing waits for the answer any more.
                channel.pending.take(opaque)
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
        """Send a request that is not answered; returns when it is queued for the socket.

        Raises:
            ConnectFailed: nobody answered at ``address``.
            ConnectionLost: the connection ended before the request could be queued.
            BadCall: the command is no oneway request or cannot be encoded.
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
            self._send(channel, command)
        except RemotingError as error:
            outcome = error
            raise
        finally:
            self._observe(address, command, outcome, started_s)

    async def close(self) -> None:
        """Close all connections; what still waits fails with ConnectionLost."""
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

    async def _writable(self, address: str, timeout_s: float) -> tuple[_Channel, float]:
        """Return a connection that takes bytes, and how much of the time is left."""
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + timeout_s
        channel = await self._channel(address, min(self._connect_timeout_s, timeout_s))
        if channel.write_paused:
            async with asyncio.timeout_at(deadline_s):
                await channel.writable()
        self._check_open(channel)
        return channel, deadline_s - now_s()

    def _send(self, channel: _Channel, command: Command) -> None:
        if self._sign is not None:
            self._sign(command)
        channel.send(encode_frame(command))

    def _check_open(self, channel: _Channel) -> None:
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

    async def _channel(self, address: str, timeout_s: float) -> _Channel:
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
        try:
            # Shielded: other callers wait for the same attempt.
            return await asyncio.wait_for(asyncio.shield(task), timeout_s)
        except TimeoutError:
            reason = f"no connection in {timeout_s:g} s"
        except OSError as error:
            reason = failure_text(error)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            reason = "the client was closed"
        raise ConnectFailed(f"cannot connect to {address}: {reason}", address=address)

    async def _connect(self, address: str) -> _Channel:
        loop = asyncio.get_running_loop()
        if self._outbox is None:
            self._outbox = Outbox(loop)
        outbox = self._outbox
        host, port = split_address(address)
        async with asyncio.timeout(self._connect_timeout_s):
            _, channel = await loop.create_connection(
                lambda: _Channel(self, address, outbox),
                host,
                port,
                ssl=self._context,
                # No name is compared; without one there would be no TLS at all.
                server_hostname=None if self._context is None else host,
            )
        return channel

    def _connected(self, address: str, task: "asyncio.Task[_Channel]") -> None:
        del self._connecting[address]
        if task.cancelled() or task.exception() is not None:
            return
        channel = task.result()
        if not channel.is_closing:
            self._channels[address] = channel

    def forget(self, channel: _Channel) -> None:
        """Let a lost connection go; the next request makes a new one."""
        if self._channels.get(channel.address) is channel:
            del self._channels[channel.address]

    def answer(self, channel: _Channel, request: Command) -> None:
        """Let the owner handle a request of the server, and send what it gives back."""
        if self._on_request is None:
            return
        task = asyncio.ensure_future(self._answer(channel, request, self._on_request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, channel: _Channel, request: Command, handle: OnRequest) -> None:
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
