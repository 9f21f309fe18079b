"""gRPC calls: statuses, deadlines, compression, streams each way, and requests that are wrong."""

import asyncio
import gzip
import struct
import zlib

import pytest

from mqserver.proxy.http2.calls import CallFailed, CallStatus, GrpcCall, GrpcMethod, timeout_of
from mqserver.proxy.http2.frames import (
    END_HEADERS,
    END_STREAM,
    FRAME_SIZE_MAX,
    Error,
    FrameType,
    Setting,
    frame,
)
from mqserver.proxy.http2.hpack import HeaderDecoder, encode
from tests.server.proxy.http2.peer import REQUEST, Endless, Peer, method
from tests.waiting import until


async def test_an_answer_has_headers_a_message_and_a_status() -> None:
    peer = Peer()

    messages, fields = await peer.answer(peer.call("Echo", b"hello"))

    assert messages == [b"hello"]
    assert fields == {":status": "200", "content-type": "application/grpc", "grpc-status": "0"}


@pytest.mark.parametrize("size", [0, 16_379, 16_380, 50_000])
async def test_messages_have_any_size(size: int) -> None:
    peer = Peer()

    assert await peer.answer(peer.call("Echo", bytes(size))) == (
        [bytes(size)],
        {":status": "200", "content-type": "application/grpc", "grpc-status": "0"},
    )


async def test_a_method_may_write_several_messages() -> None:
    peer = Peer()

    messages, fields = await peer.answer(peer.call("Thrice", b"m"))

    assert messages == [b"m", b"m", b"m"]
    assert fields["grpc-status"] == "0"


async def test_a_stream_is_answered_while_it_goes_on() -> None:
    peer = Peer()
    stream = peer.call("Each", b"1", b"2", ends=False)

    first = await peer.answer(stream)
    peer.say_message(stream, b"3")
    second = await peer.answer(stream)
    peer.say(frame(FrameType.DATA, END_STREAM, stream))
    third = await peer.answer(stream)

    assert first[0] == [b"1", b"2"]
    assert "grpc-status" not in first[1]
    assert second == ([b"3"], {})
    assert third == ([], {"grpc-status": "0"})


async def test_a_request_may_end_with_trailers() -> None:
    peer = Peer()
    stream = peer.call("Echo", b"m", ends=False)

    peer.say(frame(FrameType.HEADERS, END_HEADERS | END_STREAM, stream, encode(("a", "b"))))

    assert (await peer.answer(stream))[0] == [b"m"]


async def test_a_method_that_fails_has_a_status_and_a_text() -> None:
    async def fail(call: GrpcCall) -> bytes:
        raise CallFailed(CallStatus.INVALID_ARGUMENT, "50 % of Größe\n")

    peer = Peer(method(fail))

    messages, fields = await peer.answer(peer.call("Run", b""))

    assert messages == []
    assert fields["grpc-status"] == "3"
    assert fields["grpc-message"] == "50 %25 of Gr%C3%B6%C3%9Fe%0A"


async def test_a_fault_of_ours_is_logged_and_told(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(call: GrpcCall) -> bytes:
        raise RuntimeError("a fault")

    peer = Peer(method(fail))

    _, fields = await peer.answer(peer.call("Run", b""))

    assert (fields["grpc-status"], fields["grpc-message"]) == ("2", "RuntimeError: a fault")
    assert "a call of a gRPC client failed" in caplog.text


async def test_a_method_that_fails_later_keeps_what_it_wrote() -> None:
    async def fail(call: GrpcCall) -> None:
        await call.write(b"first")
        raise CallFailed(CallStatus.INTERNAL, "then not")

    peer = Peer({"Run": GrpcMethod(fail)})

    messages, fields = await peer.answer(peer.call("Run", b""))

    assert messages == [b"first"]
    assert fields["grpc-status"] == "13"


async def test_an_unknown_method_is_unimplemented() -> None:
    peer = Peer()

    _, fields = await peer.answer(peer.call("Other", b"m", ends=False))

    assert (fields["grpc-status"], fields["grpc-message"]) == ("12", "Method not found: Test/Other")
    assert not peer.wire.was_closed


async def test_a_status_text_fits_in_a_frame() -> None:
    async def fail(call: GrpcCall) -> bytes:
        raise CallFailed(CallStatus.INTERNAL, "\U0001f600" * 10_000 + "\ud800")

    peer = Peer(method(fail))
    stream = peer.call("Run", b"")

    told = [each for each in await peer.heard() if each.stream == stream]

    assert [each.kind for each in told] == [FrameType.HEADERS]
    assert len(told[0].payload) < FRAME_SIZE_MAX


@pytest.mark.parametrize(
    "fields",
    [
        ((":method", "GET"), *REQUEST[1:]),
        (*REQUEST[:3], ("content-type", "application/json")),
        REQUEST[:3],
    ],
)
async def test_what_is_no_grpc_is_refused(fields: tuple[tuple[str, str], ...]) -> None:
    peer = Peer()
    await peer.heard()

    peer.say(frame(FrameType.HEADERS, END_HEADERS | END_STREAM, 1, encode(*fields)))

    (told,) = await peer.heard()
    assert HeaderDecoder().decode(told.payload) == [(":status", "415")]


async def test_the_deadline_of_the_client_ends_a_call() -> None:
    endless = Endless()
    peer = Peer(method(endless.run))

    stream = peer.call("Run", b"", more=(("grpc-timeout", "1m"),))
    await asyncio.wait_for(endless.cancelled.wait(), 30)

    assert (await peer.answer(stream))[1]["grpc-status"] == "4"


async def test_a_client_that_takes_nothing_until_its_deadline_is_reset() -> None:
    peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: 0})

    stream = peer.call("Thrice", b"m", more=(("grpc-timeout", "100m"),))
    while peer.connection.streams:
        await asyncio.sleep(0.001)

    assert (await peer.heard())[-1] == (
        FrameType.RST_STREAM, 0, stream, struct.pack(">I", Error.CANCEL),
    )  # fmt: skip
    assert peer.connection.held_size == 0


def test_a_timeout_has_one_of_six_units() -> None:
    assert [timeout_of(text) for text in ("2H", "3M", "4S", "5m", "6u", "7n")] == [
        7200.0, 180.0, 4.0, 0.005, pytest.approx(6e-6), pytest.approx(7e-9),
    ]  # fmt: skip
    assert [timeout_of(text) for text in (None, "", "5", "S", "-1S", "1.5S", "1x")] == [None] * 7
    assert timeout_of("99999999H") == 365 * 86_400
    assert timeout_of("9" * 9 + "S") is timeout_of("9" * 10_000 + "S") is None


async def test_a_method_knows_how_long_its_client_waits() -> None:
    told = []

    async def run(call: GrpcCall) -> bytes:
        told.append(call.time_left_s)
        return b""

    peer = Peer(method(run))
    peer.call("Run", b"")
    peer.call("Run", b"", more=(("grpc-timeout", "1H"),))
    await peer.heard()

    assert told[0] is None
    assert 3000 < told[1] <= 3600


@pytest.mark.parametrize("called", ["Echo", "Each"])
@pytest.mark.parametrize(
    ("name", "packed"),
    [("gzip", gzip.compress(b"m" * 5000)), ("deflate", zlib.compress(b"m" * 5000))],
    ids=["gzip", "deflate"],
)
async def test_a_message_may_be_compressed(called: str, name: str, packed: bytes) -> None:
    peer = Peer()
    stream = peer.call(called, ends=False, more=(("grpc-encoding", name),))

    peer.say_message(stream, packed, flag=1)
    peer.say(frame(FrameType.DATA, END_STREAM, stream))
    await until(lambda: b"grpc-status" in peer.wire.sent)

    assert (await peer.answer(stream))[0] == [b"m" * 5000]
    assert peer.connection.held_size == 0


@pytest.mark.parametrize(
    ("name", "packed", "status", "text"),
    [
        ("gzip", gzip.compress(bytes(5_000_000)), "8", "exceeds maximum size 1048576"),
        ("gzip", b"no gzip", "13", "a message is not gzip"),
        ("gzip", gzip.compress(b"m" * 5000)[:-9], "13", "a message in gzip has no end"),
        ("snappy", b"m", "12", "Can't find decompressor for snappy"),
        ("identity", b"m", "12", "Can't find decompressor for identity"),
    ],
    ids=["bomb", "no gzip", "cut", "unknown", "none named"],
)
async def test_a_wrong_compression_is_refused(
    name: str, packed: bytes, status: str, text: str
) -> None:
    peer = Peer()
    stream = peer.call("Echo", ends=False, more=(("grpc-encoding", name),))

    peer.say_message(stream, packed, flag=1)
    peer.say(frame(FrameType.DATA, END_STREAM, stream))
    await until(lambda: b"grpc-status" in peer.wire.sent)

    _, fields = await peer.answer(stream)
    assert fields["grpc-status"] == status
    assert text in fields["grpc-message"]


async def test_a_message_that_is_too_large_is_refused_by_its_prefix() -> None:
    peer = Peer(size_max=100)
    stream = peer.call("Echo", ends=False)

    peer.say(frame(FrameType.DATA, 0, stream, struct.pack(">BI", 0, 101)))

    _, fields = await peer.answer(stream)
    assert fields["grpc-status"] == "8"
    assert fields["grpc-message"] == "gRPC message exceeds maximum size 100: 101"


@pytest.mark.parametrize(
    ("messages", "rest", "text"),
    [
        ((), b"", "the request has no message"),
        ((b"1", b"2"), b"", "the request has more than 1 message"),
        ((b"1",), b"\x00\x00", "the request has more than 1 message"),
        ((), b"\x00\x00", "the request ends within a message"),
    ],
)
async def test_a_request_has_one_message(
    messages: tuple[bytes, ...], rest: bytes, text: str
) -> None:
    peer = Peer()

    stream = peer.call("Echo", *messages, ends=False)
    peer.say(frame(FrameType.DATA, END_STREAM, stream, rest))

    _, fields = await peer.answer(stream)
    assert (fields["grpc-status"], fields["grpc-message"]) == ("13", text)
    assert peer.connection.held_size == 0


async def test_a_cancellation_from_elsewhere_is_told() -> None:
    async def give_up(call: GrpcCall) -> bytes:
        raise asyncio.CancelledError

    peer = Peer(method(give_up))

    _, fields = await peer.answer(peer.call("Run", b""))

    assert fields["grpc-status"] == "1"
