"""One connection of HTTP/2, as a server has it: frames, streams, flow control.

    bytes ── frames ──┬── HEADERS, CONTINUATION ──> a stream; its fields go to ``on_stream``
                      ├── DATA ───────────────────> its receiver: received, END_STREAM: ended
                      ├── RST_STREAM ─────────────> its receiver: cancelled
                      └── SETTINGS, PING, WINDOW_UPDATE, GOAWAY         answered or noted here

Rule: a peer that breaks the protocol loses its connection, after a GOAWAY that says why. A peer
that does not read is not read from either, so nothing can be made to grow by asking. Bytes that are
held count against the budget that all ports of the process share.

Source: RFC 9113.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, cast

from remoting.aio.firstbyte import FirstByte
from remoting.aio.resources import Budget
from server.proxy.http2.frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    FRAME_SIZE_LIMIT,
    FRAME_SIZE_MAX,
    HEAD,
    INITIAL_WINDOW,
    PADDED,
    PREFACE,
    PRIORITY,
    SETTING,
    STREAM_MASK,
    WINDOW_MAX,
    WORD,
    Error,
    FrameType,
    Setting,
    frame,
    goaway,
    reset,
    settings,
    window_update,
)
from server.proxy.http2.hpack import LIST_SIZE_MAX, BadHeaders, Field, header_decoder
from server.proxy.http2.stream import STREAM_WINDOW, Stream, StreamReceiver

LOG = logging.getLogger(__name__)

STREAMS_MAX: Final = 4096
"""The most calls of one connection at a time; its client waits with further ones."""
CONNECTION_WINDOW: Final = 16 << 20
FRAMES_A_TURN: Final = 256
"""The frames of one connection in a turn of the loop; the dearest of them are two for a call."""
FLUSH_SIZE: Final = 256 << 10
"""So much goes to the transport at once, which then says whether the peer takes it."""
_HEAD_SIZE: Final = HEAD.size
_GREETING: Final = settings(
    {
        Setting.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
        Setting.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
        Setting.MAX_HEADER_LIST_SIZE: LIST_SIZE_MAX,
    }
) + window_update(0, CONNECTION_WINDOW - INITIAL_WINDOW)


class Http2Error(Exception):
    """The peer breaks the protocol, and the connection ends."""

    def __init__(self, error: Error, text: str) -> None:
        super().__init__(text)
        self.error = error


OnStream = Callable[[Stream, list[Field]], StreamReceiver]
"""Returns what takes the bytes of a new stream with these header fields; it may use the stream."""


class Http2Connection(asyncio.Protocol):
    """One connection of a client.

    Args:
        name: the client's address, ``host:port``, for the log.
        on_stream: called with each new stream.
        gone: called once, when the connection has ended.
        budget: counts the bytes that are held.
        greeting_s: how long a client may take until it has sent its preface.
    """

    def __init__(
        self,
        name: str,
        on_stream: OnStream,
        gone: Callable[["Http2Connection"], None],
        *,
        budget: Budget,
        greeting_s: float,
    ) -> None:
        self.first_byte: FirstByte | None = None
        """What opens the connection; set by the port."""
        self.name = name
        self.ip = name.rpartition(":")[0]
        self.streams: dict[int, Stream] = {}
        self.is_full = False
        """Whether the peer does not take what was sent to it."""
        self.active_s = 0.0
        """When the peer sent something, by the clock of the loop."""
        self._on_stream = on_stream
        self._gone = gone
        self._budget = budget
        self._loop = asyncio.get_running_loop()
        self._greeting_timer = self._loop.call_later(greeting_s, self.close)
        self._transport: asyncio.Transport | None = None
        self._is_gone = False
        self._is_greeted = False
        self._is_leaving = False
        self._is_behind = False
        self._rest = b""
        self._decoder = header_decoder()
        self._block: tuple[int, int, bytearray] | None = None
        """Stream, flags and beginning of a header block whose end has not come."""
        self._last_id = 0
        self._window = INITIAL_WINDOW
        self._stream_window = INITIAL_WINDOW
        self._frame_size = FRAME_SIZE_MAX
        self._room = CONNECTION_WINDOW
        self._held_size = 0
        self._charged_size = 0
        self._out: list[bytes] = []
        self._out_size = 0
        self._frame_handlers: tuple[Callable[[int, int, bytes], None], ...] = (
            self._data, self._headers, self._priority, self._reset, self._settings, self._push,
            self._ping, self._goaway, self._window_update, self._continuation,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"gRPC client {self.name}"

    # The transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.active_s = self._loop.time()
        self.write(_GREETING)

    def not_opened(self) -> None:
        """Take note that the connection was not taken."""
        self._end()

    def data_received(self, data: bytes) -> None:
        self.active_s = self._loop.time()
        self._rest = self._rest + data if self._rest else data
        if not self._is_behind:
            self._work()

    def _work(self) -> None:
        """Take frames for one turn of the loop, and go on in the next one if there are more."""
        try:
            self._rest, self._is_behind = self._frames(self._rest)
        except Http2Error as fault:
            self._fail(fault.error, str(fault))
        except BadHeaders as error:
            self._fail(Error.COMPRESSION_ERROR, str(error))
        self._charge()
        if self._is_behind:
            self._read_on()
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_behind = False
        if not self._is_gone:
            self._work()
            self._read_on()

    def _read_on(self) -> None:
        """Read if the peer takes its answers, since what it asks for would have to be kept."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self.is_full or self._is_behind:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def pause_writing(self) -> None:
        self.is_full = True
        self._read_on()

    def resume_writing(self) -> None:
        self.is_full = False
        for stream in list(self.streams.values()):
            if not stream.waiting:
                stream.wake()
        self._read_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._end()

    # The budget.

    @property
    def held_size(self) -> int:
        """The bytes that are held now: unfinished frames and messages, and what waits to go."""
        unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._held_size + len(self._rest) + unsent

    def hold(self, size: int) -> None:
        """Note that a stream holds ``size`` bytes more, or less when it is negative."""
        self._held_size += size

    def give_way(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def _charge(self) -> None:
        size = 0 if self._is_gone else self.held_size
        if size != self._charged_size:
            self._charged_size = size
            self._budget.charge(self, size)

    # The end.

    def leave(self) -> None:
        """Take no new streams; the connection ends with the last one."""
        if not self._is_leaving and self._transport is not None:
            self._is_leaving = True
            self.write(goaway(self._last_id, Error.NO_ERROR))
        if not self.streams:
            self.close()

    def close(self) -> None:
        """End the connection, after what was written."""
        if self._transport is None:
            if self.first_byte is not None:
                self.first_byte.cancel()
            self._end()
        else:
            self._flush()
            self._transport.close()

    def _fail(self, error: Error, text: str) -> None:
        LOG.warning("%s breaks the protocol, it is closed: %s", self, text)
        self._rest, self._is_behind = b"", False
        self.write(goaway(self._last_id, error, text))
        self.close()

    def _end(self) -> None:
        if self._is_gone:
            return
        self._is_gone = True
        self._greeting_timer.cancel()
        for stream in list(self.streams.values()):
            self.close_stream(stream)
        self._charge()
        self._gone(self)

    # What is sent.

    def write(self, data: bytes) -> None:
        """Send frames, together with what else is sent in this turn of the loop."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)
        self._out_size += len(data)
        if self._out_size >= FLUSH_SIZE:
            self._flush()

    def _flush(self) -> None:
        if self._out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._out))
        self._out.clear()
        self._out_size = 0

    def send(self, stream: Stream, before: bytes, data: bytes, last: bytes | None) -> None:
        """See ``Stream.send``."""
        size = len(data)
        if not stream.waiting and size <= min(self._frame_size, self._window, stream.window):
            self._window -= size
            stream.window -= size
            parts = before + frame(FrameType.DATA, 0, stream.id, data) if data else before
            self.write(parts if last is None else parts + last)
            if last is not None:
                self._finished(stream)
            return
        if before:
            self.write(before)
        stream.waiting += data
        stream.last = last
        self.hold(size)
        self._send_waiting(stream)
        self._charge()

    def _send_waiting(self, stream: Stream) -> None:
        """Send what the windows allow."""
        waiting = stream.waiting
        while waiting:
            size = min(len(waiting), self._window, stream.window, self._frame_size)
            if size <= 0:
                return
            self._window -= size
            stream.window -= size
            self.hold(-size)
            self.write(frame(FrameType.DATA, 0, stream.id, bytes(waiting[:size])))
            del waiting[:size]
        if stream.last is not None:
            self.write(stream.last)
            self._finished(stream)
        stream.wake()

    def _finished(self, stream: Stream) -> None:
        """End our side; a peer that still sends gets a reset, because nobody listens."""
        if not stream.is_ended:
            self.write(reset(stream.id, Error.NO_ERROR))
        self.close_stream(stream)

    def close_stream(self, stream: Stream) -> None:
        """Forget a stream."""
        if stream.is_closed:
            return
        stream.is_closed = True
        self.hold(-len(stream.waiting))
        stream.waiting.clear()
        del self.streams[stream.id]
        stream.wake()
        stream.receiver.cancelled()
        if self._is_leaving and not self.streams:
            self.close()

    # What is received.

    def _frames(self, data: bytes) -> tuple[bytes, bool]:
        """Take whole frames; return what is left, and whether there may be more of them."""
        at, end = 0, len(data)
        if not self._is_greeted:
            if not PREFACE.startswith(data[: len(PREFACE)]):
                raise Http2Error(Error.PROTOCOL_ERROR, "it does not begin as HTTP/2 does")
            if end < len(PREFACE):
                return data, False
            at = len(PREFACE)
            self._is_greeted = True
            self._greeting_timer.cancel()
        for _ in range(FRAMES_A_TURN):
            if end - at < _HEAD_SIZE:
                break
            high, low, kind, flags, stream_id = HEAD.unpack_from(data, at)
            size = high << 8 | low
            if size > FRAME_SIZE_MAX:
                raise Http2Error(Error.FRAME_SIZE_ERROR, f"a frame has {size} bytes")
            start = at + _HEAD_SIZE
            if end - start < size:
                break
            at = start + size
            if self._block is not None and kind != FrameType.CONTINUATION:
                raise Http2Error(Error.PROTOCOL_ERROR, "a header block is interrupted")
            if kind < len(self._frame_handlers):
                self._frame_handlers[kind](flags, stream_id & STREAM_MASK, data[start:at])
        else:
            return data[at:], True
        return data[at:] if at else data, False

    def _data(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._room -= size
        stream = self.streams.get(stream_id)
        if stream is not None:
            stream.room -= size
        if self._room < 0 or (stream is not None and stream.room < 0):
            raise Http2Error(Error.FLOW_CONTROL_ERROR, "it sends more than its windows allow")
        if self._room < CONNECTION_WINDOW // 2:
            self.write(window_update(0, CONNECTION_WINDOW - self._room))
            self._room = CONNECTION_WINDOW
        if stream is None or stream.is_ended:
            self._check_used(stream_id)
            return
        if flags & PADDED:
            payload = _unpadded(payload, 0)
            stream.consumed(size - len(payload))
        if flags & END_STREAM:
            stream.is_ended = True
        if payload:
            stream.receiver.received(payload)
        if flags & END_STREAM and not stream.is_closed:
            stream.receiver.ended()

    def _headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not stream_id % 2:
            raise Http2Error(Error.PROTOCOL_ERROR, f"a client cannot open stream {stream_id}")
        skipped = 5 if flags & PRIORITY else 0
        if flags & PADDED:
            payload = _unpadded(payload, skipped)
        elif len(payload) < skipped:
            raise Http2Error(Error.FRAME_SIZE_ERROR, "a HEADERS frame is too short")
        if flags & END_HEADERS:
            self._fields(flags, stream_id, payload[skipped:])
        else:
            self._block = stream_id, flags, bytearray(payload[skipped:])

    def _continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        if self._block is None or self._block[0] != stream_id:
            raise Http2Error(Error.PROTOCOL_ERROR, "a CONTINUATION frame continues nothing")
        _, first_flags, block = self._block
        block += payload
        if len(block) > LIST_SIZE_MAX:
            raise Http2Error(Error.ENHANCE_YOUR_CALM, f"headers of more than {LIST_SIZE_MAX} bytes")
        if flags & END_HEADERS:
            self._block = None
            self._fields(first_flags, stream_id, bytes(block))

    def _fields(self, flags: int, stream_id: int, block: bytes) -> None:
        """Open a stream, or end the bytes of an open one with its trailers."""
        fields = self._decoder.decode(block)
        stream = self.streams.get(stream_id)
        if stream is not None:
            if not flags & END_STREAM or stream.is_ended:
                raise Http2Error(
                    Error.PROTOCOL_ERROR, f"stream {stream_id} has headers in its middle"
                )
            stream.is_ended = True
            stream.receiver.ended()
        elif stream_id > self._last_id:
            # Others are trailers of a call that was answered before they came.
            self._last_id = stream_id
            self._open(stream_id, fields, is_ended=bool(flags & END_STREAM))

    def _open(self, stream_id: int, fields: list[Field], *, is_ended: bool) -> None:
        if self._is_leaving or len(self.streams) >= STREAMS_MAX:
            self.write(reset(stream_id, Error.REFUSED_STREAM))
            return
        stream = Stream(self, stream_id, self._stream_window)
        stream.is_ended = is_ended
        self.streams[stream_id] = stream
        stream.receiver = self._on_stream(stream, fields)
        if is_ended and not stream.is_closed:
            stream.receiver.ended()

    def _reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        _check_size(payload, 4, "RST_STREAM")
        stream = self.streams.get(stream_id)
        if stream is None:
            self._check_used(stream_id)
        else:
            self.close_stream(stream)

    def _settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id or len(payload) % SETTING.size or (flags & ACK and payload):
            raise Http2Error(Error.FRAME_SIZE_ERROR, "a SETTINGS frame has the wrong form")
        if flags & ACK:
            return
        # First, because wider windows send what waits, and that follows the new settings.
        self.write(frame(FrameType.SETTINGS, ACK, 0))
        for setting, value in SETTING.iter_unpack(payload):
            if setting == Setting.INITIAL_WINDOW_SIZE:
                self._set_stream_window(value)
            elif setting == Setting.MAX_FRAME_SIZE:
                if not FRAME_SIZE_MAX <= value <= FRAME_SIZE_LIMIT:
                    raise Http2Error(
                        Error.PROTOCOL_ERROR, f"frames of {value} bytes are not possible"
                    )
                self._frame_size = value

    def _set_stream_window(self, size: int) -> None:
        if size > WINDOW_MAX:
            raise Http2Error(Error.FLOW_CONTROL_ERROR, f"a window of {size} bytes is not possible")
        more, self._stream_window = size - self._stream_window, size
        for stream in list(self.streams.values()):
            self._widen(stream, more)

    def _widen(self, stream: Stream, size: int) -> None:
        stream.window += size
        if stream.window > WINDOW_MAX:
            raise Http2Error(
                Error.FLOW_CONTROL_ERROR, f"the window of stream {stream.id} overflows"
            )
        if stream.waiting:
            self._send_waiting(stream)

    def _window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        _check_size(payload, 4, "WINDOW_UPDATE")
        size = WORD.unpack(payload)[0] & STREAM_MASK
        if not size:
            raise Http2Error(Error.PROTOCOL_ERROR, "a window grows by nothing")
        if stream_id:
            stream = self.streams.get(stream_id)
            if stream is None:
                self._check_used(stream_id)
            else:
                self._widen(stream, size)
            return
        self._window += size
        if self._window > WINDOW_MAX:
            raise Http2Error(Error.FLOW_CONTROL_ERROR, "the window of the connection overflows")
        for stream in list(self.streams.values()):
            if self._window <= 0:
                break
            if stream.waiting:
                self._send_waiting(stream)

    def _ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        _check_size(payload, 8, "PING")
        if not flags & ACK:
            self.write(frame(FrameType.PING, ACK, 0, payload))

    def _priority(self, flags: int, stream_id: int, payload: bytes) -> None:
        _check_size(payload, 5, "PRIORITY")

    def _goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        """The client opens no more streams; it closes the connection itself."""

    def _push(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise Http2Error(Error.PROTOCOL_ERROR, "a client cannot push")

    def _check_used(self, stream_id: int) -> None:
        """Check that a stream was open once; frames of closed ones may still be under way."""
        if stream_id > self._last_id or not stream_id % 2:
            raise Http2Error(Error.PROTOCOL_ERROR, f"stream {stream_id} was never opened")


def _unpadded(payload: bytes, least: int) -> bytes:
    """Return a payload without its padding; at least ``least`` bytes of it are needed."""
    size = len(payload) - 1 - payload[0] if payload else -1
    if size < least:
        raise Http2Error(Error.PROTOCOL_ERROR, "a frame is padded with more bytes than it has")
    return payload[1 : 1 + size]


def _check_size(payload: bytes, size: int, name: str) -> None:
    if len(payload) != size:
        raise Http2Error(
            Error.FRAME_SIZE_ERROR, f"{name} has {len(payload)} bytes instead of {size}"
        )
