"""gRPC: what a stream of HTTP/2 carries, as calls of methods.

    request:   HEADERS (path, metadata, grpc-timeout), messages
    response:  HEADERS, messages, HEADERS with the status of the call
    message:   whether it is compressed 1 | size 4 | bytes

    a call:    new ── request complete (at once for a stream) ── the method runs as a task
                 ├─ the method ends ────────────── messages, status OK
                 ├─ it raises CallFailed ────────── that status
                 ├─ its deadline passes ─────────── DEADLINE_EXCEEDED, the task is cancelled
                 └─ the client cancels or is gone ─ the task is cancelled

Rule: a status is sent once, and none for a method that was cancelled.

Source: grpc/doc/PROTOCOL-HTTP2.md, statuscodes.md.
"""

import asyncio
import logging
import time
import urllib.parse
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple

from server.proxy.http2.frames import END_HEADERS, END_STREAM, Error, FrameType, frame
from server.proxy.http2.hpack import Field, encode
from server.proxy.http2.stream import Stream, StreamReceiver

LOG = logging.getLogger(__name__)

CONTENT_TYPE: Final = "application/grpc"
_PREFIX_SIZE: Final = 5
_UNITS_S: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_TIMEOUT_DIGITS_MAX: Final = 8
_TIMEOUT_S_MAX: Final = 365 * 86_400.0
_TEXT_SIZE_MAX: Final = 1_000
"""The characters of a status text; written as twelve bytes each, they still fit in any frame."""
_WINDOW_BITS: Final = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""How zlib reads the compressions that we take."""

_PLAIN: Final = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
"""What a status text shows as it is; other bytes are written as %XX."""
_HEADERS: Final = encode((":status", "200"), ("content-type", CONTENT_TYPE))
_DONE: Final = encode(("grpc-status", "0"))
_COMPRESSIONS: Final = ("grpc-accept-encoding", ",".join(("identity", *_WINDOW_BITS)))


class CallStatus(IntEnum):
    """How a call ended."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13


class CallFailed(Exception):
    """A call ends with a status that is not OK."""

    def __init__(self, status: CallStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class GrpcMethod(NamedTuple):
    """A method: it returns its answer, or None after it has written its answers.

    Attributes:
        run: the method.
        takes_stream: whether it takes any number of messages, ``GrpcCall.messages``, instead of
            one, ``GrpcCall.message``.
    """

    run: Callable[["GrpcCall"], Coroutine[Any, Any, bytes | None]]
    takes_stream: bool = False


class Calls:
    """The methods of a server.

    Args:
        methods: by path, ``/service/method``.
        size_max: the most bytes of a message that is received.
    """

    def __init__(self, methods: Mapping[str, GrpcMethod], *, size_max: int) -> None:
        self.size_max = size_max
        self._methods = methods

    def open(self, stream: Stream, fields: list[Field], address: str) -> StreamReceiver:
        """Return the call of a new stream; one that cannot be served is answered at once.

        Args:
            stream: the stream.
            fields: the header fields of the request.
            address: of the client, ``host:port``.
        """
        metadata = dict(fields)
        path = metadata.get(":path", "")
        if metadata.get(":method") != "POST" or not metadata.get("content-type", "").startswith(
            CONTENT_TYPE
        ):
            refusal = encode((":status", "415"))
            stream.send(
                b"", b"", frame(FrameType.HEADERS, END_HEADERS | END_STREAM, stream.id, refusal)
            )
            return StreamReceiver()
        method = self._methods.get(path)
        call = GrpcCall(self, stream, metadata, address, method)
        if method is None:
            call.fail(CallStatus.UNIMPLEMENTED, f"Method not found: {path[1:]}")
        return call


class GrpcCall(StreamReceiver):
    """One call.

    Attributes:
        metadata: the header fields of the request; names are in lower case.
        address: of the client, ``host:port``.
        message: the request of a method that takes one message.
    """

    __slots__ = (
        "_calls", "_data", "_deadline", "_deadline_s", "_has_headers", "_held_size", "_is_complete",
        "_messages", "_method", "_stream", "_task", "_waiting", "address", "message", "metadata",
    )  # fmt: skip

    def __init__(
        self,
        calls: Calls,
        stream: Stream,
        metadata: dict[str, str],
        address: str,
        method: GrpcMethod | None,
    ) -> None:
        self.metadata = metadata
        self.address = address
        self.message = b""
        timeout_s = timeout_of(metadata.get("grpc-timeout"))
        self._deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        """When the client gives up, by the clock of the loop."""
        self._calls = calls
        self._stream = stream
        self._method = method
        self._data = bytearray()
        """The beginning of a message."""
        self._held_size = 0
        self._messages: deque[tuple[bytes, bool]] = deque()
        """Messages that are complete, and whether each is compressed."""
        self._is_complete = False
        self._waiting: asyncio.Future[None] | None = None
        self._has_headers = False
        self._task: asyncio.Task[bytes | None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        if method is not None and method.takes_stream:
            self._start(method)

    # For the method.

    @property
    def time_left_s(self) -> float | None:
        """How long the client still waits; None when it waits for ever."""
        return None if self._deadline_s is None else self._deadline_s - time.monotonic()

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the messages of the client until it sends no more."""
        while True:
            while self._messages:
                data, is_compressed = self._messages.popleft()
                message = await self._inflated(data) if is_compressed else data
                self._hold(-len(message))
                self._stream.consumed(_PREFIX_SIZE + len(data))
                yield message
            if self._is_complete:
                return
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting

    async def write(self, message: bytes) -> None:
        """Send one of several answers; wait while the client does not take them."""
        self._stream.send(self._headers(), _framed(message))
        await self._stream.drain()

    # For the connection.

    def received(self, data: bytes) -> None:
        """Take bytes of the request."""
        if self._method is None:
            return
        self._hold(len(data))
        if not self._method.takes_stream:
            self._stream.consumed(len(data))
        self._data += data
        try:
            while len(self._data) >= self._wanted_size():
                self._take()
        except CallFailed as error:
            self.fail(error.status, str(error))

    def ended(self) -> None:
        """Take note that the request is complete."""
        self._is_complete = True
        if self._method is None:
            return
        if self._data:
            self.fail(CallStatus.INTERNAL, "the request ends within a message")
        elif self._method.takes_stream:
            self._wake()
        elif len(self._messages) != 1:
            self.fail(CallStatus.INTERNAL, f"the request has {len(self._messages)} messages, not 1")
        else:
            self.message, is_compressed = self._messages.popleft()
            self._start(self._method, is_compressed=is_compressed)

    def cancelled(self) -> None:
        """Take note that the stream is closed."""
        self._hold(-self._held_size)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._task is not None:
            self._task.cancel()

    def fail(self, status: CallStatus, text: str) -> None:
        """End the call with an error."""
        words = urllib.parse.quote(text[:_TEXT_SIZE_MAX], safe=_PLAIN, errors="replace")
        fields = [("grpc-status", str(int(status))), ("grpc-message", words)]
        if status is CallStatus.UNIMPLEMENTED:
            fields.append(_COMPRESSIONS)
        self._end(b"", encode(*fields))

    # Messages of the request.

    def _wanted_size(self) -> int:
        """Return how many bytes must be there before anything can be done with them."""
        if len(self._data) < _PREFIX_SIZE:
            return _PREFIX_SIZE
        size = int.from_bytes(self._data[1:_PREFIX_SIZE])
        self._check_size(size)
        return _PREFIX_SIZE + size

    def _check_size(self, size: int) -> None:
        if size > self._calls.size_max:
            text = f"gRPC message exceeds maximum size {self._calls.size_max}: {size}"
            raise CallFailed(CallStatus.RESOURCE_EXHAUSTED, text)

    def _take(self) -> None:
        """Take the first message; it is complete."""
        end = self._wanted_size()
        self._messages.append((bytes(self._data[_PREFIX_SIZE:end]), bool(self._data[0])))
        del self._data[:end]
        self._hold(-_PREFIX_SIZE)
        self._wake()

    async def _inflated(self, message: bytes) -> bytes:
        """Return a message as it was before it was compressed.

        A thread does it: 16 MiB would hold the loop for 50 ms.

        Raises:
            CallFailed: it cannot be inflated, or would have more than ``size_max`` bytes.
        """
        name = self.metadata.get("grpc-encoding", "identity")
        bits = _WINDOW_BITS.get(name)
        if bits is None:
            text = f"Can't find decompressor for {name}"
            raise CallFailed(CallStatus.UNIMPLEMENTED, text)
        inflater = zlib.decompressobj(bits)
        try:
            found = await asyncio.to_thread(inflater.decompress, message, self._calls.size_max + 1)
        except zlib.error as error:
            text = f"a message is not {name}: {error}"
            raise CallFailed(CallStatus.INTERNAL, text) from error
        self._check_size(len(found))
        if not inflater.eof:
            raise CallFailed(CallStatus.INTERNAL, f"a message in {name} has no end")
        self._hold(len(found) - len(message))
        return found

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _hold(self, size: int) -> None:
        self._held_size += size
        self._stream.hold(size)

    # The method and its answers.

    def _start(self, method: GrpcMethod, *, is_compressed: bool = False) -> None:
        loop = asyncio.get_running_loop()
        run = self._inflate_and_run(method) if is_compressed else method.run(self)
        self._task = loop.create_task(run)
        self._task.add_done_callback(self._done)
        if self._deadline_s is not None:
            self._deadline = loop.call_at(self._deadline_s, self._late)

    async def _inflate_and_run(self, method: GrpcMethod) -> bytes | None:
        self.message = await self._inflated(self.message)
        return await method.run(self)

    def _done(self, task: asyncio.Task[bytes | None]) -> None:
        self._hold(-self._held_size)
        if task.cancelled():
            # Somebody else's cancellation would leave the client waiting.
            self.fail(CallStatus.CANCELLED, "the call was cancelled")
            return
        error = task.exception()
        if error is None:
            answer = task.result()
            self._end(b"" if answer is None else _framed(answer), _DONE)
        elif isinstance(error, CallFailed):
            self.fail(error.status, str(error))
        else:
            LOG.error("a call of a gRPC client failed", exc_info=error)
            self.fail(CallStatus.UNKNOWN, f"{type(error).__name__}: {error}")

    def _late(self) -> None:
        if self._stream.waiting:
            # A status would come behind what the client does not read.
            self._stream.reset(Error.CANCEL)
        else:
            self.fail(CallStatus.DEADLINE_EXCEEDED, "the deadline of the call has passed")

    def _headers(self) -> bytes:
        """Return the HEADERS frame that goes before the first answer, and b"" later."""
        if self._has_headers:
            return b""
        self._has_headers = True
        return frame(FrameType.HEADERS, END_HEADERS, self._stream.id, _HEADERS)

    def _end(self, data: bytes, trailers: bytes) -> None:
        """Send the last bytes and the trailers; nothing happens when the stream is closed.

        Without an answer, the trailers are in the only HEADERS frame.
        """
        before = b"" if not data and not self._has_headers else self._headers()
        block = trailers if self._has_headers else _HEADERS + trailers
        last = frame(FrameType.HEADERS, END_HEADERS | END_STREAM, self._stream.id, block)
        self._stream.send(before, data, last)


def timeout_of(text: str | None) -> float | None:
    """Return the seconds of a header ``grpc-timeout``; None if it cannot be used."""
    digits, unit = (text[:-1], text[-1]) if text else ("", "")
    if len(digits) > _TIMEOUT_DIGITS_MAX or not digits.isdecimal() or unit not in _UNITS_S:
        return None
    return min(int(digits) * _UNITS_S[unit], _TIMEOUT_S_MAX)


def _framed(message: bytes) -> bytes:
    return b"\x00" + len(message).to_bytes(4) + message
