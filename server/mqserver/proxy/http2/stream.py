"""One stream of a connection of HTTP/2, which carries a call.

    open ── both sides sent END_STREAM ──────────────────────────> closed
      └── RST_STREAM of either side, or the connection is lost ──> closed

What a stream sends waits in it while the peer's windows are full. What it receives is bounded by
our windows: that of the connection is filled up as bytes come, that of a stream by its receiver.

Source: RFC 9113, section 5.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from mqserver.proxy.http2.frames import Error, reset, window_update

STREAM_WINDOW: Final = 1 << 20
"""How many bytes a peer may send before the receiver consumes them."""


class StreamReceiver:
    """Receives the bytes of one stream; this class drops them, its subclasses use them."""

    __slots__ = ()

    def received(self, data: bytes) -> None:
        """Handle bytes of the peer."""

    def received_whole(self, data: bytes) -> bool:
        """Handle all bytes of the peer at once; return False, without any effect, if it cannot."""
        return False

    def ended(self) -> None:
        """Handle the end of the peer's bytes."""

    def drop(self) -> None:
        """Free what was received, since the stream is about to be closed."""

    def cancelled(self) -> None:
        """Handle the close of the stream, after which nothing can be sent."""


class StreamConnection(Protocol):
    """What a stream needs of its connection.

    Attributes:
        is_full: whether the peer does not read what was sent to it.
        ip: the address of the peer.
        endings: called when the connection has ended, by what they belong to.
        share_size: the most bytes that one message of the connection may become.
        lingering_count: the calls that ended and whose work goes on; they count as open.
    """

    is_full: bool
    ip: str
    endings: dict[object, Callable[[], None]]
    lingering_count: int
    share_size: int

    def write(self, data: bytes) -> None:
        """Send frames."""

    def send(self, stream: "Stream", before: bytes, data: bytes, last: bytes | None) -> None:
        """Send bytes of a stream as its windows allow."""

    def hold_bytes(self, size: int) -> None:
        """Count ``size`` more held bytes, or fewer if it is negative."""

    def charge(self) -> None:
        """Report what is held to the budget now, which may close the connection."""

    def put_off(self, call: Callable[[], None]) -> None:
        """Call a function soon, in the time that all connections share."""

    def start(self, begin: Callable[[], None]) -> None:
        """Call a function soon; few are called in a turn of the loop, of each address in turn."""

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
        "_consumed_size", "connection", "content_size", "credit", "drained", "header_size", "id",
        "is_closed", "is_ended", "last", "receiver", "room", "waiting",
    )  # fmt: skip

    def __init__(self, connection: StreamConnection, stream_id: int) -> None:
        self.connection = connection
        self.id = stream_id
        self.receiver = StreamReceiver()
        self.is_closed = False
        self.is_ended = False
        """Whether the peer has sent END_STREAM."""
        self.credit = 0
        """The bytes that may be sent beyond the window of all streams; below 0 as they are sent."""
        self.header_size = 0
        """What the header fields of the request cost while the stream is open, in bytes."""
        self.content_size: int | None = None
        """The bytes that the peer still has to send by its header content-length, if it has one."""
        self.room = STREAM_WINDOW
        """The bytes that the peer may send."""
        self.waiting = bytearray()
        """The bytes that wait for a window."""
        self.last: bytes | None = None
        """The frame that ends the stream, after the waiting bytes."""
        self.drained: asyncio.Future[None] | None = None
        self._consumed_size = 0

    def send(self, before: bytes, data: bytes, last: bytes | None = None) -> None:
        """Send bytes as soon as the windows of the peer allow it.

        Args:
            before: frames that go before the bytes, or b"".
            data: the payload of DATA frames, of any size.
            last: a frame that ends our side of the stream; None when more will be sent.
        """
        if not self.is_closed:
            self.connection.send(self, before, data, last)

    async def drain(self) -> None:
        """Wait until the peer accepts more bytes of this stream, or the stream is closed."""
        if (self.waiting or self.connection.is_full) and not self.is_closed:
            self.drained = asyncio.get_running_loop().create_future()
            await self.drained

    def consumed(self, size: int) -> None:
        """Let the peer send as many bytes as were consumed."""
        self._consumed_size += size
        if self._consumed_size >= STREAM_WINDOW // 2 and not self.is_ended and not self.is_closed:
            self.connection.write(window_update(self.id, self._consumed_size))
            self.room += self._consumed_size
            self._consumed_size = 0

    def hold_bytes(self, size: int) -> None:
        """Count ``size`` more bytes held by the receiver, or fewer if it is negative."""
        self.connection.hold_bytes(size)

    def drop(self) -> None:
        """Free what was received and what waits to be sent, since the connection is closed."""
        self.connection.hold_bytes(-len(self.waiting))
        self.waiting.clear()
        self.receiver.drop()

    def reset(self, error: Error) -> None:
        """End the stream at once, and tell the peer why."""
        if not self.is_closed:
            self.connection.write(reset(self.id, error))
            self.connection.close_stream(self)

    def wake(self) -> None:
        """Let the method that waits in ``drain`` go on."""
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)
