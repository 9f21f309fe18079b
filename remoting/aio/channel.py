"""The client's end of one connection: it sends requests and passes each answer to its waiter.

    post ── opaque, frame ── socket ── answer ── opaque ── AnswerWaiter.stored or .answered
                  no answer in time, connection gone ───── AnswerWaiter.failed

Rule: a waiter is called once and must not raise. One timer for each connection watches its
deadlines. A late answer is dropped; a request of the peer goes to the owner.

Source: remoting/netty/NettyRemotingAbstract.java#processResponseCommand, #scanResponseTable.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, Protocol

from remoting.aio.link import Link, Outbox
from remoting.command import Command
from remoting.conn import PendingRequests
from remoting.errors import BadCall, BadFrame, ConnectionLost
from remoting.fast_path import Stored, read_first_stored, read_stored
from remoting.frame import FRAME_SIZE_MAX, FrameReader, RawFrame, decode_frame, encode_frame

LOG = logging.getLogger(__name__)

WRITE_BUFFER_MAX: Final = 512 * 1024 * 1024
WRITE_SIZE: Final = 16_384
"""Requests of so many bytes leave before the end of the turn, so that the server begins while the
client makes the next ones; else the two would work by turns."""


class AnswerWaiter(Protocol):
    """Waits for one answer."""

    def answered(self, answer: Command) -> None:
        """Take the answer."""

    def stored(self, stored: Stored) -> None:
        """Take the answer of a broker that stored a message."""

    def failed(self, error: ConnectionLost | TimeoutError) -> None:
        """Take the reason why no answer came."""


class FutureWaiter:
    """A waiter for any answer.

    Attributes:
        future: gets the answer or the error.
    """

    __slots__ = ("future",)

    def __init__(self, future: "asyncio.Future[Command]") -> None:
        self.future = future

    def answered(self, answer: Command) -> None:
        """Take the answer."""
        if not self.future.done():
            self.future.set_result(answer)

    def stored(self, stored: Stored) -> None:
        """Take an answer that has the form of an answer to a send."""
        self.answered(decode_frame(stored.raw))

    def failed(self, error: ConnectionLost | TimeoutError) -> None:
        """Take the error."""
        if not self.future.done():
            self.future.set_exception(error)


class Owner(Protocol):
    """The owner of connections."""

    def forget(self, channel: "Channel") -> None:
        """Forget a lost connection."""

    def answer(self, channel: "Channel", request: Command) -> None:
        """Handle a request of the peer."""


class Channel(Link):
    """The connection to one address."""

    def __init__(self, owner: Owner, address: str, outbox: Outbox) -> None:
        super().__init__(outbox, write_buffer_max=WRITE_BUFFER_MAX, write_size=WRITE_SIZE)
        self._reader = FrameReader(header_size_max=FRAME_SIZE_MAX)
        self._take = self._take_stored
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._resumed: asyncio.Event | None = None
        self.address = address
        self.pending: PendingRequests[AnswerWaiter] = PendingRequests()
        self.lost = self._loop.create_future()

    def __str__(self) -> str:
        return self.address

    @property
    def peer_ip(self) -> str:
        """The IP address of the peer; empty while there is no connection."""
        peer = None if self._transport is None else self._transport.get_extra_info("peername")
        return "" if peer is None else str(peer[0])

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all requests that wait."""
        self._closing = True
        self._out.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._resumed is not None:
            self._resumed.set()
        self._owner.forget(self)
        reason = f": {exc}" if exc is not None else ""
        text = f"connection to {self.address} ended before the answer{reason}"
        for waiter in self.pending.drain():
            waiter.failed(ConnectionLost(text, address=self.address))
        if not self.lost.done():
            self.lost.set_result(None)

    def on_frames(self, frames: Sequence[RawFrame]) -> None:
        """Match answers with requests, and pass requests of the peer to the owner."""
        for raw in frames:
            stored = read_stored(raw)
            if stored is not None:
                self._pass_on(stored)
                continue
            try:
                cmd = decode_frame(raw)
            except BadFrame as error:
                self.on_bad_frame(error)
                self.abort()
                return
            if cmd.is_response:
                waiter = self.pending.pop_waiter(cmd.opaque)
                if waiter is not None:
                    waiter.answered(cmd)
            else:
                self._owner.answer(self, cmd)

    def _take_stored(self, data: bytes) -> int:
        """Handle the answers to sends at the beginning of a read; return their size."""
        answers, size = read_first_stored(data)
        for stored in answers:
            self._pass_on(stored)
        return size

    def _pass_on(self, stored: Stored) -> None:
        waiter = self.pending.pop_waiter(stored.opaque)
        if waiter is not None:
            waiter.stored(stored)

    def on_bad_frame(self, error: BadFrame) -> None:
        """Log why the connection ends."""
        LOG.warning("%s sent no frame, connection closed: %s", self.address, error)

    def resume_writing(self) -> None:
        """Let waiting senders continue."""
        super().resume_writing()
        if self._resumed is not None:
            self._resumed.set()

    async def writable(self) -> None:
        """Wait until the peer has taken enough of the bytes that were sent."""
        while self.write_paused and not self._closing:
            if self._resumed is None:
                self._resumed = asyncio.Event()
            self._resumed.clear()
            await self._resumed.wait()

    def ask(self, command: Command, waiter: AnswerWaiter, *, timeout_s: float) -> None:
        """Send a request, which gets its number here, and pass its outcome to ``waiter``.

        Raises:
            BadCall: the request cannot be encoded.
        """
        command.opaque = self.pending.next_opaque()
        frame = encode_frame(command)
        self.post(command.opaque, frame, waiter, self._loop.time() + timeout_s)

    def post(self, opaque: int, frame: bytes, waiter: AnswerWaiter, deadline_s: float) -> None:
        """Send a request and pass its outcome to ``waiter``.

        Args:
            opaque: the number in the request, a fresh ``pending.next_opaque()``.
            frame: the request as one frame.
            waiter: is called once, with the answer or the error.
            deadline_s: the time until which to wait, by the clock of the loop.

        Raises:
            BadCall: the loop of this connection has ended, so the answer could not be delivered.
        """
        if self._loop.is_closed():
            raise BadCall(
                f"the connection to {self.address} is of an event loop that has ended; "
                "a client lives in one loop: make it in the loop, and the process, that uses it"
            )
        # Rounded up: a caller that tries again while time is left must find none left then.
        deadline_ms = int(deadline_s * 1000) + 1
        alone = not self.pending
        self.pending.put(opaque, waiter, deadline_ms)
        if self._timer is None or deadline_ms < self._timer_ms:
            self._wake_at(deadline_ms)
        # If others wait for answers, more requests are likely to leave with this in one write.
        if alone:
            self.send_alone(frame)
        else:
            self.send(frame)

    def _wake_at(self, deadline_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        self._timer = self._loop.call_at(deadline_ms / 1000, self._expire)

    def _expire(self) -> None:
        self._timer = None
        # A timer may fire a clock tick early; 1 ms covers it, so that it need not fire twice.
        for waiter in self.pending.expired(int(self._loop.time() * 1000) + 1):
            waiter.failed(TimeoutError())
        deadline_ms = self.pending.next_deadline_ms()
        if deadline_ms is not None:
            self._wake_at(deadline_ms)
