"""The DATA frames that a connection has to send, and the windows of the peer that hold them back.

    send ── both windows and the socket are open ──> written at once
      └── waits in its stream ──┬── ready    only the connection's window or the socket is closed
                                └── parked   its own window is closed
    pump: the ready streams in turn, PIECE_SIZE of each

Rule: the cost of a frame does not depend on the number of open streams, so a peer cannot make its
frames expensive. The initial window of all streams is one number, to which each stream adds its
own updates; when that number grows, all parked streams become ready together, as soon as no other
stream is ready.

Source: RFC 9113, sections 5.2 and 6.9.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

from mqserver.proxy.http2.frames import (
    FRAME_SIZE_MAX,
    INITIAL_WINDOW,
    WINDOW_MAX,
    Error,
    FrameType,
    Http2Error,
    frame,
)
from mqserver.proxy.http2.stream import Stream

PIECE_SIZE: Final = 64 << 10
"""How many bytes of one stream are sent before it is the next stream's turn."""


class OutflowConnection(Protocol):
    """The connection, as its outflow sees it."""

    is_full: bool

    def write(self, data: bytes) -> None:
        """Send frames."""

    def hold_bytes(self, size: int) -> None:
        """Count ``size`` more bytes, or fewer if it is negative."""

    def finish(self, stream: Stream) -> None:
        """End our side of a stream."""


class Outflow:
    """What waits to be sent on one connection.

    Args:
        sender: the connection.
        now_s: a clock that is never set.

    Attributes:
        frame_size: the largest payload that the peer accepts.
        walked_count: the streams that were looked at, for tests.
    """

    def __init__(self, sender: OutflowConnection, now_s: Callable[[], float]) -> None:
        self.frame_size = FRAME_SIZE_MAX
        self.walked_count = 0
        self._sender = sender
        self._now_s = now_s
        self._window = INITIAL_WINDOW
        self._stream_window = INITIAL_WINDOW
        self._ready: OrderedDict[Stream, None] = OrderedDict()
        self._parked: OrderedDict[Stream, None] = OrderedDict()
        self._has_grown = False
        """Whether the window of all streams grew since the parked ones were looked at."""

    @property
    def has_work(self) -> bool:
        """Whether a stream may be able to send."""
        is_open = self._window > 0 and not self._sender.is_full
        return is_open and bool(self._ready or (self._has_grown and self._parked))

    def send(self, stream: Stream, before: bytes, data: bytes, last: bytes | None) -> None:
        """See ``Stream.send``."""
        size = len(data)
        if (
            not stream.waiting
            and not self._sender.is_full
            and size <= min(self.frame_size, self._window, self._window_of(stream))
        ) or (not size and not stream.waiting):
            self._window -= size
            stream.credit -= size
            parts = before + frame(FrameType.DATA, 0, stream.id, data) if data else before
            self._sender.write(parts if last is None else parts + last)
            if last is not None:
                self._sender.finish(stream)
            return
        if before:
            self._sender.write(before)
        stream.waiting += data
        stream.last = last
        self._sender.hold_bytes(size)
        if stream not in self._parked:
            self._ready[stream] = None
        if self.has_work:
            self._send_piece()

    def forget(self, stream: Stream) -> None:
        """Send nothing more of a stream."""
        self._ready.pop(stream, None)
        self._parked.pop(stream, None)

    def pump(self, end_s: float) -> bool:
        """Send what waits until the clock passes ``end_s``; return whether more can be sent."""
        while self.has_work:
            self._send_piece()
            if self._now_s() >= end_s:
                return self.has_work
        return False

    # The windows.

    def set_stream_window(self, size: int) -> None:
        """Set the window of all streams."""
        if size > WINDOW_MAX:
            raise Http2Error(Error.FLOW_CONTROL_ERROR, f"a window of {size} bytes is not possible")
        self._has_grown |= size > self._stream_window
        self._stream_window = size

    def widen(self, stream: Stream, size: int) -> bool:
        """Let one stream send ``size`` more bytes; return False when its window overflows."""
        stream.credit += size
        if self._stream_window + stream.credit > WINDOW_MAX:
            return False
        if stream in self._parked:
            del self._parked[stream]
            self._ready[stream] = None
        return True

    def widen_connection(self, size: int) -> None:
        """Let all streams together send ``size`` more bytes."""
        self._window += size
        if self._window > WINDOW_MAX:
            raise Http2Error(Error.FLOW_CONTROL_ERROR, "the window of the connection overflows")

    def _window_of(self, stream: Stream) -> int:
        """Return how many bytes a stream may send; fewer than 0 after a window was made smaller."""
        size = self._stream_window + stream.credit
        if size > WINDOW_MAX:
            raise Http2Error(
                Error.FLOW_CONTROL_ERROR, f"the window of stream {stream.id} overflows"
            )
        return size

    # The streams.

    def _send_piece(self) -> None:
        """Send a piece of the next stream, and put the stream where it belongs then."""
        self.walked_count += 1
        if not self._ready:
            self._ready, self._parked, self._has_grown = self._parked, self._ready, False
        stream, _ = self._ready.popitem(last=False)
        left = PIECE_SIZE
        waiting = stream.waiting
        while waiting and left > 0 and not self._sender.is_full:
            window = self._window_of(stream)
            size = min(len(waiting), self._window, window, self.frame_size)
            if size <= 0:
                if window <= 0:
                    self._parked[stream] = None
                    return
                break
            self._window -= size
            stream.credit -= size
            left -= size
            self._sender.hold_bytes(-size)
            self._sender.write(frame(FrameType.DATA, 0, stream.id, bytes(waiting[:size])))
            del waiting[:size]
        if waiting:
            self._ready[stream] = None
            return
        if stream.last is not None:
            self._sender.write(stream.last)
            self._sender.finish(stream)
        stream.wake()
