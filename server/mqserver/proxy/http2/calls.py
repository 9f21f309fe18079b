"""gRPC: what a stream of HTTP/2 carries, as calls of methods.

    request:   HEADERS (path, metadata, grpc-timeout), messages
    response:  HEADERS, messages, HEADERS with the status of the call
    message:   whether it is compressed 1 | size 4 | bytes

    a call:    new ── request complete (at once for a stream) ── the method runs as a task
                 ├─ the method ends ────────────── messages, status OK
                 ├─ it raises CallFailed ────────── that status
                 ├─ its deadline passes ─────────── DEADLINE_EXCEEDED, the task is cancelled
                 └─ the client cancels or is gone ─ the task is cancelled

Rule: a status is sent once, and not at all for a method that was cancelled, because nobody waits
for it.

Source: grpc/doc/PROTOCOL-HTTP2.md, statuscodes.md.
"""

import asyncio
import logging
import time
import urllib.parse
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any, Final, NamedTuple

from mqserver.proxy.http2.deadlines import Deadlines
from mqserver.proxy.http2.frames import END_HEADERS, END_STREAM, Error, FrameType, frame
from mqserver.proxy.http2.hpack import encode
from mqserver.proxy.http2.stream import Stream, StreamReceiver
from remoting.aio.lanes import FairLane
from remoting.aio.starts import Pieces

LOG = logging.getLogger(__name__)

CONTENT_TYPE: Final = "application/grpc"
_PREFIX_SIZE: Final = 5
_UNITS_S: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
LONG_AT_ONCE: Final = 4
"""How many requests with long lists may be decoded and worked on at a time."""
INFLATIONS_MAX: Final = 2
"""How many messages may be inflated at a time; each is charged with its largest possible size."""
INFLATE_RATIO_MAX: Final = 1_040
"""The number of bytes that one byte of deflate can inflate to, rounded up."""
_TIMEOUT_DIGITS_MAX: Final = 8
_TIMEOUT_S_MAX: Final = 365 * 86_400.0
_TEXT_SIZE_MAX: Final = 1_000
"""Longest status text in characters; at twelve bytes for each it still fits into any frame."""
_WINDOW_BITS: Final = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
"""The window bits with which zlib reads each supported compression."""

_PLAIN: Final = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
"""The characters of a status text that are not escaped; other bytes are written as %XX."""
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
        refuse: called with the header of a call, before its body is looked at; returns the answer
            that refuses the call, or None. It may store what it learns in the call.
        prepare: called with each message, in the time that all connections share; returns the
            decoded message and the bytes that this takes in addition to the message; None leaves
            a long message to ``prepare_long``. May raise CallFailed.
        prepare_long: the same for a message that may take long to read; few run at a time.
        takes_stream: whether it takes any number of messages, ``GrpcCall.messages``, instead of
            one, ``GrpcCall.request``.
        post: handles a call without a task: ``GrpcCall.answer`` is called later, or at once.
            Returns False, without any effect, if ``run`` has to handle it.
    """

    run: Callable[["GrpcCall"], Coroutine[Any, Any, bytes | None]]
    takes_stream: bool = False
    refuse: Callable[["GrpcCall"], bytes | None] | None = None
    prepare: Callable[[bytes], tuple[Any, int] | None] | None = None
    prepare_long: Callable[[bytes], tuple[Any, int]] | None = None
    post: Callable[["GrpcCall"], bool] | None = None


class Calls:
    """The methods of a server.

    Args:
        methods: by path, ``/service/method``.
        size_max: the most bytes of a message that is received.
        pieces: work whose length clients choose, a few pieces in a turn; None for its own.
    """

    def __init__(
        self,
        methods: Mapping[str, GrpcMethod],
        *,
        size_max: int,
        pieces: Pieces | None = None,
    ) -> None:
        self.size_max = size_max
        self.pieces = pieces or Pieces()
        self.deadlines = Deadlines()
        self.inflations = FairLane(INFLATIONS_MAX)
        self.long = FairLane(LONG_AT_ONCE)
        # These threads are separate, because work in the default executor must not wait for
        # clients.
        self.threads = ThreadPoolExecutor(INFLATIONS_MAX, thread_name_prefix="grpc-inflate")
        self._methods = methods

    def close(self) -> None:
        """End the threads."""
        self.deadlines.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def open(self, stream: Stream, metadata: dict[str, str], address: str) -> StreamReceiver:
        """Return the call of a new stream; one that cannot be served is answered at once.

        Args:
            stream: the stream.
            metadata: the header fields of the request.
            address: of the client, ``host:port``.
        """
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
        else:
            call.begin(method)
        return call


class GrpcCall(StreamReceiver):
    """One call.

    Attributes:
        metadata: the header fields of the request; names are in lower case.
        address: of the client, ``host:port``.
        connection: of the client.
        context: what ``GrpcMethod.refuse`` learned about the call.
        message: the request of a method that takes one message, until ``request`` is made of it.
        request: what ``GrpcMethod.prepare`` made of it.
    """

    __slots__ = (
        "_bucket", "_calls", "_data", "_deadline_s", "_has_headers", "_held_size",
        "_is_complete", "_is_compressed", "_is_dropped", "_is_posted", "_method", "_stream",
        "_task", "_waiting", "address", "connection", "context", "message", "metadata",
        "request",
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
        self.connection = stream.connection
        self.context: Any = None
        self.message = b""
        self.request: Any = None
        timeout_s = timeout_of(metadata.get("grpc-timeout"))
        self._deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        """When the client gives up, by the clock of the loop."""
        self._calls = calls
        self._stream = stream
        self._method = method
        self._data = bytearray()
        """The bytes of messages that were not read yet."""
        self._held_size = 0
        self._is_complete = False
        self._is_compressed = False
        self._is_dropped = False
        self._is_posted = False
        """Whether an answer will come that no task waits for."""
        self._waiting: asyncio.Future[None] | None = None
        self._has_headers = False
        self._task: asyncio.Task[bytes | None] | None = None
        self._bucket: int | None = None
        """What ``Deadlines`` knows the deadline by."""

    def begin(self, method: GrpcMethod) -> None:
        """Start a method that takes a stream, unless the header of the call is refused."""
        refusal = None if method.refuse is None else method.refuse(self)
        if refusal is not None:
            self._method = None
            self._end(_framed(refusal), _DONE)
        elif method.takes_stream:
            self._start()

    # For the method.

    @property
    def time_left_s(self) -> float | None:
        """How long the client still waits; None when it waits for ever."""
        return None if self._deadline_s is None else self._deadline_s - time.monotonic()

    async def messages(self) -> AsyncIterator[Any]:
        """Yield what ``GrpcMethod.prepare`` makes of the client's messages until it sends no more.

        They stay bytes until they are asked for, so the window of the stream limits them, however
        small they are. Each waits for its share of the time that all connections share, and is
        charged until the next one is asked for.

        Raises:
            CallFailed: a message is wrong.
        """
        while True:
            framed = self._next_message()
            if framed is not None:
                data, is_compressed = framed
                size = len(data)
                message = await self._inflated(data) if is_compressed else data
                prepared = await self._prepared_in_turn(message)
                assert prepared is not None
                request, request_size = prepared
                self.hold_bytes(request_size)
                self.connection.charge()
                self._stream.consumed(_PREFIX_SIZE + size)
                yield request
                self.hold_bytes(-len(message) - request_size)
            elif self._is_complete:
                if self._data:
                    raise CallFailed(CallStatus.INTERNAL, "the request ends within a message")
                return
            else:
                self._waiting = asyncio.get_running_loop().create_future()
                await self._waiting

    async def _prepared_in_turn(self, message: bytes) -> tuple[Any, int] | None:
        loop = asyncio.get_running_loop()
        prepared: asyncio.Future[tuple[Any, int] | None] = loop.create_future()

        def prepare() -> None:
            if prepared.done():
                return
            try:
                prepared.set_result(self._prepared(message))
            except CallFailed as error:
                prepared.set_exception(error)

        self.connection.put_off(prepare)
        return await prepared

    def _prepared(self, message: bytes) -> tuple[Any, int] | None:
        prepare = None if self._method is None else self._method.prepare
        return (message, 0) if prepare is None else prepare(message)

    def answer(self, message: bytes) -> None:
        """Send the only answer of a call that has no task."""
        self._is_posted = False
        if self._is_dropped:
            self.connection.lingering_count -= 1
            return
        self._finished()
        self._end(_framed(message), _DONE)

    async def write(self, message: bytes) -> None:
        """Send one of several answers; wait while the client does not read them."""
        self._stream.send(self._headers(), _framed(message))
        await self._stream.drain()

    # For the connection.

    def received(self, data: bytes) -> None:
        """Add bytes of the request."""
        method = self._method
        if method is None:
            return
        self.hold_bytes(len(data))
        self._data += data
        if method.takes_stream:
            self._wake()
            return
        self._stream.consumed(len(data))
        try:
            if len(self._data) > self._wanted_size() >= _PREFIX_SIZE and self._is_whole():
                # Also an empty one, of which there could be millions.
                raise CallFailed(CallStatus.INTERNAL, "the request has more than 1 message")
        except CallFailed as error:
            self._refuse(error)

    def received_whole(self, data: bytes) -> bool:
        """Accept a whole request of one message; most calls send it in one frame."""
        method, size = self._method, len(data)
        if method is None or method.takes_stream or self._data or size < _PREFIX_SIZE or data[0]:
            return False
        if (
            int.from_bytes(data[1:_PREFIX_SIZE]) != size - _PREFIX_SIZE
            or size > self._calls.size_max
        ):
            return False
        self._is_complete = True
        self.message = data[_PREFIX_SIZE:]
        self.hold_bytes(size - _PREFIX_SIZE)
        self._begin(method)
        return True

    def ended(self) -> None:
        """Handle the end of the request."""
        self._is_complete = True
        method = self._method
        if method is None:
            return
        if method.takes_stream:
            self._wake()
            return
        message = self._next_message()
        if message is None:
            text = (
                "the request ends within a message" if self._data else "the request has no message"
            )
            self._refuse(CallFailed(CallStatus.INTERNAL, text))
            return
        self.message, self._is_compressed = message
        self._begin(method)

    def _begin(self, method: GrpcMethod) -> None:
        """Start a method whose request is complete."""
        try:
            if not self._is_compressed:
                self._prepare()
        except CallFailed as error:
            self._refuse(error)
            return
        self._start()

    def _prepare(self) -> None:
        """Decode the request, unless its message is long."""
        prepared = self._prepared(self.message)
        if prepared is not None:
            self._keep_request(*prepared)

    def _keep_request(self, request: Any, size: int) -> None:
        """Keep a request in place of its message."""
        self.request, self.message = request, b""
        self.hold_bytes(size)

    def _refuse(self, error: CallFailed) -> None:
        """End the call, and ignore the rest of its bytes."""
        self._method = None
        self._data.clear()
        self.fail(error.status, str(error))

    def drop(self) -> None:
        """Free the request, and stop working on it."""
        if self._is_posted and not self._is_dropped:
            self.connection.lingering_count += 1
        self.hold_bytes(-self._held_size)
        # Not left to the garbage collector, which may take long to find large requests.
        self._data.clear()
        self.message, self.request = b"", None
        self._is_dropped = True
        if self._task is not None:
            self._task.cancel()

    def cancelled(self) -> None:
        """Handle the end of the stream."""
        self.drop()
        if self._bucket is not None:
            self._calls.deadlines.remove(self, self._bucket)

    def fail(self, status: CallStatus, text: str) -> None:
        """End the call with an error."""
        words = urllib.parse.quote(text[:_TEXT_SIZE_MAX], safe=_PLAIN, errors="replace")
        fields = [("grpc-status", str(int(status))), ("grpc-message", words)]
        if status is CallStatus.UNIMPLEMENTED:
            fields.append(_COMPRESSIONS)
        self._end(b"", encode(*fields))

    # Messages of the request.

    def _wanted_size(self) -> int:
        """Return how many bytes are needed before the next step can be made."""
        if len(self._data) < _PREFIX_SIZE:
            return _PREFIX_SIZE
        size = int.from_bytes(self._data[1:_PREFIX_SIZE])
        self._check_size(size)
        return _PREFIX_SIZE + size

    def _check_size(self, size: int) -> None:
        if size > self._calls.size_max:
            text = f"gRPC message exceeds maximum size {self._calls.size_max}: {size}"
            raise CallFailed(CallStatus.RESOURCE_EXHAUSTED, text)

    def _is_whole(self) -> bool:
        return len(self._data) >= _PREFIX_SIZE and len(self._data) >= self._wanted_size()

    def _next_message(self) -> tuple[bytes, bool] | None:
        """Return the first message and whether it is compressed; None when it is incomplete.

        Raises:
            CallFailed: it is too large.
        """
        if not self._is_whole():
            return None
        end = self._wanted_size()
        framed = bytes(self._data[_PREFIX_SIZE:end]), bool(self._data[0])
        del self._data[:end]
        self.hold_bytes(-_PREFIX_SIZE)
        return framed

    async def _inflated(self, message: bytes) -> bytes:
        """Return an inflated message.

        A thread inflates it, because 16 MiB would block the loop for 50 ms. Its largest possible
        size is charged first.

        Raises:
            CallFailed: it cannot be inflated, or would have more than ``size_max`` bytes.
        """
        name = self.metadata.get("grpc-encoding", "identity")
        bits = _WINDOW_BITS.get(name)
        if bits is None:
            text = f"Can't find decompressor for {name}"
            raise CallFailed(CallStatus.UNIMPLEMENTED, text)
        # This is a separate task, because the thread goes on when the call is cancelled.
        loop = asyncio.get_running_loop()
        inflated = await asyncio.shield(loop.create_task(self._inflate(message, bits, name)))
        self.hold_bytes(len(inflated) - len(message))
        return inflated

    async def _inflate(self, message: bytes, bits: int, name: str) -> bytes:
        size_max = min(self._calls.size_max, self.connection.share_size)
        limit = min(size_max, len(message) * INFLATE_RATIO_MAX) + 1
        # zlib collects pieces, and joins them at the end.
        size = 2 * limit
        inflater = zlib.decompressobj(bits)
        async with self._calls.inflations.turn(self.connection.ip):
            if self._stream.is_closed:
                return b""
            self.connection.hold_bytes(size)
            self.connection.charge()
            try:
                inflated = await asyncio.get_running_loop().run_in_executor(
                    self._calls.threads, inflater.decompress, message, limit
                )
            except zlib.error as error:
                text = f"a message is not {name}: {error}"
                raise CallFailed(CallStatus.INTERNAL, text) from error
            finally:
                self.connection.hold_bytes(-size)
        if len(inflated) > size_max:
            text = f"gRPC message exceeds maximum size {size_max}: {len(inflated)}"
            raise CallFailed(CallStatus.RESOURCE_EXHAUSTED, text)
        if not inflater.eof:
            raise CallFailed(CallStatus.INTERNAL, f"a message in {name} has no end")
        return inflated

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def hold_bytes(self, size: int) -> None:
        """Count ``size`` more bytes (or fewer, if negative) that the call holds until it ends."""
        self._held_size += size
        self._stream.hold_bytes(size)

    # The method and its answers.

    def _start(self) -> None:
        if self._deadline_s is not None:
            self._bucket = self._calls.deadlines.add(self, self._deadline_s)
        self.connection.start(self._run_method)

    def _run_method(self) -> None:
        method = self._method
        if method is None or self._stream.is_closed or self._is_dropped:
            return
        if method.post is not None and self.request is not None:
            # This comes first, because the answer may come at once.
            self._is_posted = True
            if method.post(self):
                return
            self._is_posted = False
        if self._is_compressed:
            run = self._inflate_and_run(method)
        elif self.message:
            run = self._run_long(method)
        else:
            run = method.run(self)
        self._task = asyncio.get_running_loop().create_task(run)
        self._task.add_done_callback(self._done)

    async def _run_long(self, method: GrpcMethod) -> bytes | None:
        """Run a method whose request may have many objects; few such requests run at a time."""
        ip = self.connection.ip
        async with self._calls.long.turn(ip):
            await self._calls.pieces.turn(ip)
            assert method.prepare_long is not None
            self._keep_request(*method.prepare_long(self.message))
            self.connection.charge()
            return await method.run(self)

    async def _inflate_and_run(self, method: GrpcMethod) -> bytes | None:
        self.message = await self._inflated(self.message)
        prepared = await self._prepared_in_turn(self.message)
        if prepared is None:
            return await self._run_long(method)
        self._keep_request(*prepared)
        self.connection.charge()
        return await method.run(self)

    def _done(self, task: asyncio.Task[bytes | None]) -> None:
        # An error refers to the frames that it passed, and these to the call.
        self._task = None
        self._finished()
        if task.cancelled():
            # If other code cancelled the task, the client would wait for ever.
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

    def _finished(self) -> None:
        """Free the request."""
        self.hold_bytes(-self._held_size)
        self.message, self.request = b"", None

    def late(self) -> None:
        """End the call soon; thousands of calls may have the same deadline."""
        self.connection.put_off(self._late)

    def _late(self) -> None:
        if self._stream.waiting:
            # A status would wait behind the answers that the client does not read.
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
