"""One stream of a connection of HTTP/2: what carries a call.

    open ── both sides sent END_STREAM ──────────────────────────> closed
      └── RST_STREAM of either side, or the connection is lost ──> closed

What a stream sends waits in it while the peer's windows are full. What it receives is bounded by
our windows: that of the connection is filled up as bytes come, that of a stream by its receiver.

Source: RFC 9113, section 5.
"""

import asyncio
from typing import Final, Protocol

from server.proxy.http2.frames import Error, reset, window_update

STREAM_WINDOW: Final = 1 << 20
"""The bytes that a peer may send before they are taken."""


class StreamReceiver:
    """Takes the bytes of one stream; this class drops them, its subclasses use them."""

    __slots__ = ()

    def received(self, data: bytes) -> None:
        """Take bytes of the peer."""

    def ended(self) -> None:
        """Take note that the peer sends no more bytes."""

    def cancelled(self) -> None:
        """Take note that the stream is closed, and nothing can be sent any more."""


class StreamConnection(Protocol):
    """What a stream needs of its connection."""

    is_full: bool

    def write(self, data: bytes) -> None:
        """Send frames."""

    def send(self, stream: "Stream", before: bytes, data: bytes, last: bytes | None) -> None:
        """Send bytes of a stream as its windows allow."""

    def hold(self, size: int) -> None:
        """Note that so many bytes more are held."""

    def close_stream(self, stream: "Stream") -> None:
        """Forget a stream."""


class Stream:
    """One stream.

    Attributes:
        id: its number.
        receiver: takes what the peer sends.
        is_closed: whether nothing can be sent any more.
    """

    __slots__ = (
        "_connection", "_consumed_size", "drained", "id", "is_closed", "is_ended", "last",
        "receiver", "room", "waiting", "window",
    )  # fmt: skip

    def __init__(self, connection: StreamConnection, stream_id: int, window: int) -> None:
        self.id = stream_id
        self.receiver = StreamReceiver()
        self.is_closed = False
        self.is_ended = False
        """Whether the peer has sent END_STREAM."""
        self.window = window
        """The bytes that may be sent; below 0 after the peer made its windows smaller."""
        self.room = STREAM_WINDOW
        """The bytes that the peer may send."""
        self.waiting = bytearray()
        """What waits for a window."""
        self.last: bytes | None = None
        """The frame that ends the stream, behind what waits."""
        self.drained: asyncio.Future[None] | None = None
        self._connection = connection
        self._consumed_size = 0

    def send(self, before: bytes, data: bytes, last: bytes | None = None) -> None:
        """Send bytes, as soon as the peer takes them.

        Args:
            before: frames that go before the bytes, or b"".
            data: the payload of DATA frames, of any size.
            last: a frame that ends our side of the stream; None when more will be sent.
        """
        if not self.is_closed:
            self._connection.send(self, before, data, last)

    async def drain(self) -> None:
        """Wait until the peer takes more bytes of this stream, or the stream is closed."""
        if (self.waiting or self._connection.is_full) and not self.is_closed:
            self.drained = asyncio.get_running_loop().create_future()
            await self.drained

    def consumed(self, size: int) -> None:
        """Let the peer send as many bytes again as were taken."""
        self._consumed_size += size
        if self._consumed_size >= STREAM_WINDOW // 2 and not self.is_ended and not self.is_closed:
            self._connection.write(window_update(self.id, self._consumed_size))
            self.room += self._consumed_size
            self._consumed_size = 0

    def hold(self, size: int) -> None:
        """Note that the receiver holds ``size`` bytes more, or less when it is negative."""
        self._connection.hold(size)

    def reset(self, error: Error) -> None:
        """End the stream at once, and tell the peer why."""
        if not self.is_closed:
            self._connection.write(reset(self.id, error))
            self._connection.close_stream(self)

    def wake(self) -> None:
        """Let the method that waits in ``drain`` go on."""
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
