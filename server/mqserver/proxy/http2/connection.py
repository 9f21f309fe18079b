"""One connection of HTTP/2, as a server has it: frames, streams, flow control.

    bytes ── frames ──┬── HEADERS, CONTINUATION ──> a stream; its fields go to ``on_stream``
                      ├── DATA ───────────────────> its receiver: received, END_STREAM: ended
                      ├── RST_STREAM ─────────────> its receiver: cancelled
                      └── SETTINGS, PING, WINDOW_UPDATE, GOAWAY         answered or noted here

Rule: a peer that breaks the protocol loses its connection, after a GOAWAY that says why. Nothing is
read from a peer that does not read, so requests cannot make our buffers grow. The bytes that are
held count against the budget that all ports of the process share.

Source: RFC 9113.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, cast

from mqserver.proxy.http2.frames import (
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
    WORD,
    Error,
    FrameType,
    Http2Error,
    Setting,
    check_size,
    frame,
    goaway,
    reset,
    settings,
    unpadded,
    window_update,
)
from mqserver.proxy.http2.hpack import LIST_SIZE_MAX, BadHeaders, Field, header_decoder
from mqserver.proxy.http2.malformed import (
    NOT_THE_SIZE,
    Head,
    body_size_and_fault,
    fault_of_trailers,
    read_head,
)
from mqserver.proxy.http2.outflow import Outflow
from mqserver.proxy.http2.stream import STREAM_WINDOW, Stream, StreamReceiver
from remoting.aio import costs
from remoting.aio.firstbyte import FirstByte
from remoting.aio.resources import Resources
from remoting.aio.turns import PacedCalls

LOG = logging.getLogger(__name__)

STREAMS_MAX: Final = 1024
"""The limit on concurrent calls of one connection; further ones wait in the client."""
CONTINUATIONS_MAX: Final = 32
"""The limit on CONTINUATION frames of one header block, since they may be empty."""
CUT_MAX: Final = 1024
"""How many streams that we ended before the peer are remembered; their frames may still come."""
CONNECTION_WINDOW: Final = 16 << 20
FRAMES_A_SLICE: Final = 256
"""The limit on frames of one connection in a slice of a turn, whatever the clock says."""
HEADERS_A_SLICE: Final = 32 << 10
"""How many bytes of decoded header fields end a slice, whatever the clock says."""
FLUSH_SIZE: Final = 256 << 10
"""Bytes written to the transport at once; the transport then says whether the peer reads them."""
_HEAD_SIZE: Final = HEAD.size
_GREETING: Final = settings(
    {
        Setting.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
        Setting.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
        Setting.MAX_HEADER_LIST_SIZE: LIST_SIZE_MAX,
    }
) + window_update(0, CONNECTION_WINDOW - INITIAL_WINDOW)


OnStream = Callable[[Stream, dict[str, str]], StreamReceiver]
"""Returns the receiver of a new stream with these header fields; it may use the stream."""


class Http2Connection(asyncio.Protocol):
    """One connection of a client.

    Args:
        name: the client's address, ``host:port``, for the log.
        on_stream: called with each new stream.
        gone: called once, when the connection has ended.
        resources: the memory and the time that all connections share.
        greeting_s: how long a client may take until it has sent its preface.
    """

    def __init__(
        self,
        name: str,
        on_stream: OnStream,
        gone: Callable[["Http2Connection"], None],
        *,
        resources: Resources,
        greeting_s: float,
    ) -> None:
        self.first_byte: FirstByte | None = None
        """The task that opens the connection; set by the port."""
        self.name = name
        self.ip = name.rpartition(":")[0]
        self.streams: dict[int, Stream] = {}
        self.is_full = False
        """Whether the peer does not read what was sent to it."""
        self.active_s = 0.0
        """When the peer last sent something, by the clock of the loop."""
        self._on_stream = on_stream
        self._gone = gone
        self.endings: dict[object, Callable[[], None]] = {}
        """Called when the connection has ended, by their owner."""
        self.lingering_count = 0
        """How many calls have ended but still work; they count as open."""
        self.share_size = resources.budget.size_max // 8
        self._budget = resources.budget
        self._turns = resources.turns
        self._calls = resources.calls
        self._paced = PacedCalls(resources.turns)
        self._loop = asyncio.get_running_loop()
        self._greeting_timer = self._loop.call_later(greeting_s, self.close)
        self._transport: asyncio.Transport | None = None
        self._is_gone = False
        self._is_greeted = False
        self._is_leaving = False
        self._is_queued = False
        """Whether the connection waits for a slice of a turn."""
        self._is_set = False
        """Whether the SETTINGS came that every client begins with."""
        self._rest = b""
        self._decoder = header_decoder()
        self._block: tuple[int, int, bytearray] | None = None
        """Stream, flags and beginning of a header block whose end has not come."""
        self._block_count = 0
        """The CONTINUATION frames of that block."""
        self._header_size = 0
        """The bytes of the header fields that were decoded in this slice."""
        self._last_id = 0
        self._cut: dict[int, int] = {}
        """The bytes that may still come for streams that we ended before the peer did."""
        self._outflow = Outflow(self, self._turns.now_s)
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
        self._end()

    def data_received(self, data: bytes) -> None:
        self.active_s = self._loop.time()
        self._rest = self._rest + data if self._rest else data
        if not self._is_queued:
            self._queue()
        if self._is_queued:
            # Now, since uvloop would go on with up to 32 reads of 256 KiB.
            self._read_on()
            self.charge()

    def _queue(self) -> None:
        """Ask for a slice of the time that all connections share."""
        if not self._is_queued and not self._is_gone:
            self._is_queued = True
            self._turns.add(self)

    def work(self, end_s: float) -> bool:
        """Process frames and send what waits, for one slice; return whether there is more to do."""
        has_more = False
        if not self._is_gone:
            try:
                self._rest, has_more = self._frames(self._rest, end_s)
                has_more |= self._outflow.pump(end_s)
            except Http2Error as fault:
                self._fail(fault.error, str(fault))
            except BadHeaders as error:
                self._fail(Error.COMPRESSION_ERROR, str(error))
            self.charge()
        self._is_queued = has_more and not self._is_gone
        self._read_on()
        return self._is_queued

    def put_off(self, call: Callable[[], None]) -> None:
        """Call a function soon, in the time that all connections share."""
        self._paced.add(call)

    def start(self, begin: Callable[[], None]) -> None:
        """Call a function soon; few are called in a turn of the loop, of each address in turn."""
        self._calls.add(self.ip, begin)

    def _read_on(self) -> None:
        """Go on reading if the peer reads its answers, since they would pile up otherwise."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self.is_full or self._is_queued:
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
        self._queue()

    def connection_lost(self, error: Exception | None) -> None:
        self._end()

    @property
    def held_size(self) -> int:
        """The bytes that are held now: unfinished frames and messages, and unsent bytes."""
        unsent = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._held_size + len(self._rest) + unsent

    def hold_bytes(self, size: int) -> None:
        """Count ``size`` more bytes held by a stream, or fewer if it is negative."""
        self._held_size += size

    def give_way(self) -> None:
        """Close at once, and free what was received."""
        self._rest = b""
        for stream in self.streams.values():
            stream.drop()
        if self._transport is not None:
            self._transport.abort()

    def charge(self) -> None:
        """Report the held bytes to the budget now, which may close this connection."""
        size = self.held_size
        if size != self._charged_size:
            self._charged_size = size
            self._budget.charge(self, size)

    # The end.

    def leave(self) -> None:
        """Accept no new streams; the connection ends with the last one."""
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
        LOG.warning("closing %s, which breaks the protocol: %s", self, text)
        self._rest = b""
        self.write(goaway(self._last_id, error, text))
        self.close()

    def _end(self) -> None:
        if self._is_gone:
            return
        self._is_gone = True
        self._greeting_timer.cancel()
        self._rest = b""
        for stream in list(self.streams.values()):
            self.put_off(partial(self.close_stream, stream))
        for ending in list(self.endings.values()):
            self.put_off(ending)
        self.put_off(self._forget)

    def _forget(self) -> None:
        self.endings.clear()
        self.charge()
        self._gone(self)

    # What is sent.

    def write(self, data: bytes) -> None:
        """Send frames, together with everything else that is sent in this turn of the loop."""
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
        self._outflow.send(stream, before, data, last)
        if stream.waiting:
            self.charge()
            if self._outflow.has_work:
                self._queue()

    def finish(self, stream: Stream) -> None:
        """End our side; a peer that still sends gets a reset, because its bytes are not read."""
        if not stream.is_ended:
            self.write(reset(stream.id, Error.NO_ERROR))
        self.close_stream(stream)

    def close_stream(self, stream: Stream) -> None:
        """Forget a stream."""
        if stream.is_closed:
            return
        stream.is_closed = True
        self.hold_bytes(-len(stream.waiting) - stream.header_size)
        stream.waiting.clear()
        self._outflow.forget(stream)
        if not stream.is_ended:
            self._note_cut(stream.id, stream.room)
        del self.streams[stream.id]
        stream.wake()
        receiver, stream.receiver = stream.receiver, StreamReceiver()
        receiver.cancelled()
        if self._is_leaving and not self.streams:
            self.close()

    def _note_cut(self, stream_id: int, room: int) -> None:
        self._cut[stream_id] = room
        if len(self._cut) > CUT_MAX:
            del self._cut[next(iter(self._cut))]

    # What is received.

    def _frames(self, data: bytes, end_s: float) -> tuple[bytes, bool]:
        """Process whole frames; return the rest, and whether it may contain more of them."""
        pos, end = 0, len(data)
        if not self._is_greeted:
            if not PREFACE.startswith(data[: len(PREFACE)]):
                raise Http2Error(Error.PROTOCOL_ERROR, "it does not begin as HTTP/2 does")
            if end < len(PREFACE):
                return data, False
            pos = len(PREFACE)
            self._is_greeted = True
            self._greeting_timer.cancel()
        self._header_size = 0
        for _ in range(FRAMES_A_SLICE):
            if end - pos < _HEAD_SIZE:
                break
            high, low, kind, flags, stream_id = HEAD.unpack_from(data, pos)
            size = high << 8 | low
            if size > FRAME_SIZE_MAX:
                raise Http2Error(Error.FRAME_SIZE_ERROR, f"a frame has {size} bytes")
            start = pos + _HEAD_SIZE
            if end - start < size:
                break
            pos = start + size
            if self._block is not None and kind != FrameType.CONTINUATION:
                raise Http2Error(Error.PROTOCOL_ERROR, "a header block is interrupted")
            if not self._is_set:
                if kind != FrameType.SETTINGS or flags & ACK:
                    raise Http2Error(Error.PROTOCOL_ERROR, "it does not begin with its SETTINGS")
                self._is_set = True
            if kind < len(self._frame_handlers):
                self._frame_handlers[kind](flags, stream_id & STREAM_MASK, data[start:pos])
            if self._is_gone:
                return b"", False
            if self._header_size > HEADERS_A_SLICE or self._turns.now_s() >= end_s:
                return data[pos:], True
        else:
            return data[pos:], True
        return data[pos:] if pos else data, False

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
        if stream is None:
            self._pass_over(stream_id, size)
            return
        if stream.is_ended:
            stream.reset(Error.STREAM_CLOSED)
            return
        if flags & PADDED:
            payload = unpadded(payload, 0)
            stream.consumed(size - len(payload))
        is_last = bool(flags & END_STREAM)
        if stream.content_size is not None:
            stream.content_size -= len(payload)
            if stream.content_size < 0 or (is_last and stream.content_size):
                self._reset_malformed(stream, NOT_THE_SIZE)
                return
        stream.is_ended = is_last
        if is_last and payload and stream.receiver.received_whole(payload):
            return
        if payload:
            stream.receiver.received(payload)
        if is_last and not stream.is_closed:
            stream.receiver.ended()

    def _headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if not stream_id % 2:
            raise Http2Error(Error.PROTOCOL_ERROR, f"a client cannot open stream {stream_id}")
        skipped = 5 if flags & PRIORITY else 0
        if flags & PADDED:
            payload = unpadded(payload, skipped)
        elif len(payload) < skipped:
            raise Http2Error(Error.FRAME_SIZE_ERROR, "a HEADERS frame is too short")
        if flags & END_HEADERS:
            self._fields(flags, stream_id, payload[skipped:])
        else:
            self._block = stream_id, flags, bytearray(payload[skipped:])
            self._block_count = 0

    def _continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        if self._block is None or self._block[0] != stream_id:
            raise Http2Error(Error.PROTOCOL_ERROR, "a CONTINUATION frame continues nothing")
        _, first_flags, block = self._block
        block += payload
        self._block_count += 1
        if len(block) > LIST_SIZE_MAX:
            raise Http2Error(Error.ENHANCE_YOUR_CALM, f"headers of more than {LIST_SIZE_MAX} bytes")
        if self._block_count > CONTINUATIONS_MAX:
            text = f"headers in more than {CONTINUATIONS_MAX} CONTINUATION frames"
            raise Http2Error(Error.ENHANCE_YOUR_CALM, text)
        if flags & END_HEADERS:
            self._block = None
            self._fields(first_flags, stream_id, bytes(block))

    def _fields(self, flags: int, stream_id: int, block: bytes) -> None:
        """Open a stream, or end the bytes of an open one with its trailers."""
        fields = self._decoder.decode(block)
        head = read_head(fields)
        self._header_size += head[0]
        is_last = bool(flags & END_STREAM)
        stream = self.streams.get(stream_id)
        if stream is not None:
            self._trailers(stream, fields, is_last=is_last)
        elif stream_id > self._last_id:
            self._last_id = stream_id
            self._open(stream_id, fields, head, is_ended=is_last)
        else:
            self._pass_over(stream_id, 0)

    def _trailers(self, stream: Stream, fields: list[Field], *, is_last: bool) -> None:
        if stream.is_ended:
            text = f"stream {stream.id} has headers behind its end"
            raise Http2Error(Error.STREAM_CLOSED, text)
        if not is_last:
            text = f"stream {stream.id} has headers in its middle"
            raise Http2Error(Error.PROTOCOL_ERROR, text)
        fault = fault_of_trailers(fields)
        if fault is None and stream.content_size:
            fault = NOT_THE_SIZE
        if fault is not None:
            self._reset_malformed(stream, fault)
            return
        stream.is_ended = True
        stream.receiver.ended()

    def _open(self, stream_id: int, fields: list[Field], head: Head, *, is_ended: bool) -> None:
        if self._is_leaving or len(self.streams) + self.lingering_count >= STREAMS_MAX:
            self.write(reset(stream_id, Error.REFUSED_STREAM))
            if not is_ended:
                self._note_cut(stream_id, STREAM_WINDOW)
            return
        size, metadata = head
        stream = Stream(self, stream_id)
        stream.is_ended = is_ended
        self.streams[stream_id] = stream
        stream.header_size = costs.STREAM.size + size
        self.hold_bytes(stream.header_size)
        if metadata is None:
            stream.content_size, fault = body_size_and_fault(fields, is_ended=is_ended)
            if fault is not None:
                self._reset_malformed(stream, fault)
                return
            metadata = dict(fields)
        stream.receiver = self._on_stream(stream, metadata)
        if is_ended and not stream.is_closed:
            stream.receiver.ended()

    def _reset_malformed(self, stream: Stream, fault: str) -> None:
        LOG.info("%s sends a malformed request: %s", self, fault)
        stream.reset(Error.PROTOCOL_ERROR)

    def _reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        check_size(payload, 4, "RST_STREAM")
        stream = self.streams.get(stream_id)
        if stream is None:
            self._check_used(stream_id)
        else:
            stream.is_ended = True
            self.close_stream(stream)

    def _settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise Http2Error(Error.PROTOCOL_ERROR, "SETTINGS belongs to the connection")
        if len(payload) % SETTING.size or (flags & ACK and payload):
            raise Http2Error(Error.FRAME_SIZE_ERROR, "a SETTINGS frame has the wrong form")
        if flags & ACK:
            return
        # First, because wider windows send what waits, and that follows the new settings.
        self.write(frame(FrameType.SETTINGS, ACK, 0))
        for setting, value in SETTING.iter_unpack(payload):
            if setting == Setting.INITIAL_WINDOW_SIZE:
                self._outflow.set_stream_window(value)
            elif setting == Setting.MAX_FRAME_SIZE:
                if not FRAME_SIZE_MAX <= value <= FRAME_SIZE_LIMIT:
                    raise Http2Error(
                        Error.PROTOCOL_ERROR, f"frames of {value} bytes are not possible"
                    )
                self._outflow.frame_size = value
            elif setting == Setting.ENABLE_PUSH and value > 1:
                raise Http2Error(Error.PROTOCOL_ERROR, f"ENABLE_PUSH is {value}, not 0 or 1")

    def _window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        check_size(payload, 4, "WINDOW_UPDATE")
        size = WORD.unpack(payload)[0] & STREAM_MASK
        stream = self.streams.get(stream_id)
        if stream_id and stream is None:
            self._check_used(stream_id)
        elif not size and stream is None:
            raise Http2Error(Error.PROTOCOL_ERROR, "a window grows by nothing")
        elif stream is None:
            self._outflow.widen_connection(size)
        elif not size:
            stream.reset(Error.PROTOCOL_ERROR)
        elif not self._outflow.widen(stream, size):
            stream.reset(Error.FLOW_CONTROL_ERROR)

    def _ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        check_size(payload, 8, "PING")
        if stream_id:
            raise Http2Error(Error.PROTOCOL_ERROR, "PING belongs to the connection")
        if not flags & ACK:
            self.write(frame(FrameType.PING, ACK, 0, payload))

    def _priority(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Check the form only, because RFC 9113 deprecates priorities."""
        check_size(payload, 5, "PRIORITY")
        if not stream_id:
            raise Http2Error(Error.PROTOCOL_ERROR, "PRIORITY belongs to a stream")

    def _goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id:
            raise Http2Error(Error.PROTOCOL_ERROR, "GOAWAY belongs to the connection")

    def _push(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise Http2Error(Error.PROTOCOL_ERROR, "a client cannot push")

    def _pass_over(self, stream_id: int, size: int) -> None:
        """Ignore ``size`` bytes of a stream that we ended, if they were under way by then."""
        self._check_used(stream_id)
        left = self._cut.get(stream_id)
        if left is None:
            raise Http2Error(Error.STREAM_CLOSED, f"stream {stream_id} goes on behind its end")
        if size > left:
            raise Http2Error(Error.FLOW_CONTROL_ERROR, "it sends more than its windows allow")
        self._cut[stream_id] = left - size

    def _check_used(self, stream_id: int) -> None:
        """Check that a stream was open once."""
        if stream_id > self._last_id or not stream_id % 2:
            raise Http2Error(Error.PROTOCOL_ERROR, f"stream {stream_id} was never opened")
