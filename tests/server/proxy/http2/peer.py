"""A client of HTTP/2 for tests, which can also do what no real client does."""

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from mqserver.proxy.http2.calls import Calls, GrpcCall, GrpcMethod
from mqserver.proxy.http2.connection import Http2Connection
from mqserver.proxy.http2.frames import (
    END_HEADERS,
    END_STREAM,
    HEAD,
    PREFACE,
    Error,
    FrameType,
    Setting,
    frame,
    settings,
)
from mqserver.proxy.http2.hpack import HeaderDecoder, encode
from remoting.aio.resources import Budget, Resources
from remoting.aio.turns import Turns

REQUEST = (
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/Test/Echo"),
    ("content-type", "application/grpc"),
)


class Frame(NamedTuple):
    """A frame that the server sent."""

    kind: FrameType
    flags: int
    stream: int
    payload: bytes


class Wire(asyncio.Transport):
    """A transport whose other end is the test."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.was_closed = False
        self.reads = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def close(self) -> None:
        self.was_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.was_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


class Peer:
    """A client on a connection of its own.

    Args:
        methods: what is served, by the last part of the path; those of ``echo_methods`` by default.
        size_max: the largest message that the server takes.
        budget: of the server.
        given: settings of the client; None sends no preface.
        greeting_s: how long the client may take until it has sent its preface.
        now_s: the clock by which turns end; the default stands still, so that each is endless.
    """

    def __init__(
        self,
        methods: dict[str, GrpcMethod] | None = None,
        *,
        size_max: int = 1 << 20,
        budget: Budget | None = None,
        given: dict[Setting, int] | None = {},  # noqa: B006  # It is read only.
        greeting_s: float = 10.0,
        now_s: Callable[[], float] = lambda: 1.0,
    ) -> None:
        found = echo_methods() if methods is None else methods
        self.calls = calls = Calls(
            {f"/Test/{name}": found[name] for name in found}, size_max=size_max
        )
        self.is_gone = False
        self.wire = Wire()
        self.resources = Resources(budget=budget or Budget(), turns=Turns(now_s))
        self.connection = Http2Connection(
            "1.2.3.4:5",
            lambda stream, metadata: calls.open(stream, metadata, "1.2.3.4:5"),
            self._gone,
            resources=self.resources,
            greeting_s=greeting_s,
        )
        self._decoder = HeaderDecoder()
        self._next_id = 1
        self.connection.connection_made(self.wire)
        if given is not None:
            self.say(PREFACE + settings(given))

    def _gone(self, connection: Http2Connection) -> None:
        self.is_gone = True

    def say(self, data: bytes) -> None:
        """Send bytes, as one piece, unless the connection is closed."""
        if not self.wire.was_closed:
            self.connection.data_received(data)

    def call(
        self, name: str, *messages: bytes, ends: bool = True, more: tuple[tuple[str, str], ...] = ()
    ) -> int:
        """Begin a call, and return its stream."""
        stream, self._next_id = self._next_id, self._next_id + 2
        fields = (*REQUEST[:2], (":path", f"/Test/{name}"), REQUEST[3], *more)
        self.say(frame(FrameType.HEADERS, END_HEADERS, stream, encode(*fields)))
        for message in messages:
            self.say_message(stream, message)
        if ends:
            self.say(frame(FrameType.DATA, END_STREAM, stream))
        return stream

    def say_message(self, stream: int, message: bytes, *, flag: int = 0) -> None:
        """Send a message in frames of 16 KiB."""
        data = bytes((flag,)) + struct.pack(">I", len(message)) + message
        for at in range(0, len(data), 16_384):
            self.say(frame(FrameType.DATA, 0, stream, data[at : at + 16_384]))

    async def heard(self) -> list[Frame]:
        """Return the frames since the last time, after everything that can happen now."""
        for _ in range(20):
            await asyncio.sleep(0)
        sent, self.wire.sent = self.wire.sent, b""
        found, at = [], 0
        while at < len(sent):
            high, low, kind, flags, stream = HEAD.unpack_from(sent, at)
            start = at + HEAD.size
            at = start + (high << 8 | low)
            found.append(Frame(FrameType(kind), flags, stream, sent[start:at]))
        return found

    async def answer(self, stream: int) -> tuple[list[bytes], dict[str, str]]:
        """Return the messages and the trailers of an answer that is complete now."""
        data = b""
        fields: dict[str, str] = {}
        for each in await self.heard():
            if each.stream == stream and each.kind is FrameType.DATA:
                data += each.payload
            elif each.stream == stream and each.kind is FrameType.HEADERS:
                fields |= dict(self._decoder.decode(each.payload))
        return messages_in(data), fields

    async def goaway(self) -> tuple[Error, str]:
        """Return why the server ended the connection."""
        (told,) = (each for each in await self.heard() if each.kind is FrameType.GOAWAY)
        assert self.wire.was_closed
        return Error(struct.unpack(">I", told.payload[4:8])[0]), told.payload[8:].decode()


def messages_in(data: bytes) -> list[bytes]:
    """Return the messages of a stream's bytes."""
    found = []
    while data:
        end = 5 + struct.unpack(">I", data[1:5])[0]
        found.append(data[5:end])
        data = data[end:]
    return found


def echo_methods() -> dict[str, GrpcMethod]:
    """Return methods that give back what they get: a message, each of a stream, or many."""

    async def echo(call: GrpcCall) -> bytes:
        return call.request

    async def each(call: GrpcCall) -> None:
        async for message in call.messages():
            await call.write(message)

    async def thrice(call: GrpcCall) -> None:
        for _ in range(3):
            await call.write(call.request)

    return {
        "Echo": GrpcMethod(echo),
        "Each": GrpcMethod(each, takes_stream=True),
        "Thrice": GrpcMethod(thrice),
    }


def method(run: Callable[[GrpcCall], Coroutine[Any, Any, bytes | None]]) -> dict[str, GrpcMethod]:
    """Return one method, ``Run``."""
    return {"Run": GrpcMethod(run)}


class Endless:
    """A method that never ends by itself.

    Attributes:
        cancelled: is set when a call of it was cancelled.
    """

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    async def run(self, call: GrpcCall) -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return b""
