"""Connections of HTTP/2: frames in any pieces, flow control, limits, and peers that break rules."""

import asyncio
import itertools
import random
import struct

import pytest

from mqserver.proxy.http2.calls import GrpcCall, GrpcMethod
from mqserver.proxy.http2.connection import CONNECTION_WINDOW, FLUSH_SIZE, STREAMS_MAX
from mqserver.proxy.http2.frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    PADDED,
    PREFACE,
    PRIORITY,
    SETTING,
    WINDOW_MAX,
    Error,
    FrameType,
    Setting,
    frame,
    reset,
    settings,
    window_update,
)
from mqserver.proxy.http2.hpack import LIST_SIZE_MAX, encode
from mqserver.proxy.http2.stream import STREAM_WINDOW
from remoting.aio import costs
from remoting.aio.resources import Budget
from remoting.aio.turns import TURN_S
from tests.server.proxy.http2.peer import REQUEST, Endless, Frame, Peer, messages_in, method

OPEN = frame(FrameType.HEADERS, END_HEADERS, 1, encode(*REQUEST))


async def test_a_connection_begins_with_settings_of_both_sides() -> None:
    peer = Peer()

    told, window, ack = await peer.heard()

    assert dict(SETTING.iter_unpack(told.payload)) == {
        Setting.MAX_CONCURRENT_STREAMS: STREAMS_MAX,
        Setting.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
        Setting.MAX_HEADER_LIST_SIZE: LIST_SIZE_MAX,
    }
    assert (window.kind, window.stream) == (FrameType.WINDOW_UPDATE, 0)
    assert struct.unpack(">I", window.payload) == (CONNECTION_WINDOW - 65_535,)
    assert (ack.kind, ack.flags) == (FrameType.SETTINGS, ACK)


async def test_what_is_no_http2_ends_the_connection() -> None:
    peer = Peer(given=None)

    peer.say(b"GET / HTTP/1.1\r\n")

    error, text = await peer.goaway()
    assert error is Error.PROTOCOL_ERROR
    assert text == "it does not begin as HTTP/2 does"


async def test_any_cut_of_the_bytes_gives_the_same_answers() -> None:
    source = random.Random(9113)
    padded = b"\x03" + struct.pack(">BI", 0, 2) + b"hi" + bytes(3)
    block = encode(*REQUEST, ("x", "y" * 200))
    data = (
        PREFACE
        + settings({Setting.MAX_FRAME_SIZE: 32_768})
        + frame(FrameType.HEADERS, 0, 1, block[:50])
        + frame(FrameType.CONTINUATION, 0, 1, block[50:60])
        + frame(FrameType.CONTINUATION, END_HEADERS, 1, block[60:])
        + frame(FrameType.PING, 0, 0, b"12345678")
        + frame(FrameType.HEADERS, END_HEADERS | PRIORITY, 3, bytes(5) + block)
        + frame(FrameType.DATA, END_STREAM | PADDED, 3, padded)
        + frame(0xBB, 0, 3, b"a frame that nobody knows")
        + frame(FrameType.DATA, 0, 1, struct.pack(">BI", 0, 5000) + bytes(2000))
        + frame(FrameType.PRIORITY, 0, 1, bytes(5))
        + frame(FrameType.DATA, END_STREAM, 1, bytes(3000))
    )
    found = set()
    for _ in range(200):
        peer = Peer(given=None)
        at = 0
        while at < len(data):
            size = source.choice((1, 7, 100, 5000))
            peer.say(data[at : at + size])
            at += size
        heard = await peer.heard()
        of_call = {
            stream: b"".join(
                each.payload
                for each in heard
                if each.stream == stream and each.kind is FrameType.DATA
            )
            for stream in (1, 3)
        }
        assert messages_in(of_call[1]) == [bytes(5000)]
        assert messages_in(of_call[3]) == [b"hi"]
        found.add(tuple(sorted(heard)))
        assert peer.connection.held_size == 0

    assert len(found) == 1


def size_of(heard: list[Frame]) -> int:
    """Return how many bytes the DATA frames have."""
    return sum(len(each.payload) for each in heard if each.kind is FrameType.DATA)


async def test_a_large_answer_waits_for_the_windows_of_the_client() -> None:
    peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: 1000})
    stream = peer.call("Echo", b"x" * 5000)

    assert size_of(await peer.heard()) == 1000
    assert len(peer.connection.streams[stream].waiting) == 4005
    assert peer.connection.held_size > 4005 + costs.STREAM.size
    peer.say(window_update(stream, 500))
    assert size_of(await peer.heard()) == 500
    # A smaller window of all streams may be below zero for one of them.
    peer.say(settings({Setting.INITIAL_WINDOW_SIZE: 400}))
    peer.say(window_update(stream, 600))
    assert size_of(await peer.heard()) == 0
    peer.say(settings({Setting.INITIAL_WINDOW_SIZE: 100_000}))
    heard = await peer.heard()

    assert size_of(heard) == 3505
    assert (heard[-1].kind, heard[-1].flags) == (FrameType.HEADERS, END_HEADERS | END_STREAM)
    assert peer.connection.held_size == 0
    assert not peer.connection.streams


async def test_the_window_of_a_connection_is_shared_by_its_streams() -> None:
    peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: 100_000})
    for _ in range(3):
        peer.call("Echo", b"x" * 40_000)

    first = size_of(await peer.heard())
    peer.say(window_update(0, 1 << 20))
    rest = size_of(await peer.heard())

    assert first == 65_535
    assert first + rest == 3 * 40_005


async def test_a_client_may_send_on_as_its_bytes_are_taken() -> None:
    peer = Peer(size_max=40 << 20)
    await peer.heard()

    peer.call("Echo", b"x" * (20 << 20), ends=False)

    updates = [each for each in await peer.heard() if each.kind is FrameType.WINDOW_UPDATE]
    of_connection = sum(struct.unpack(">I", each.payload)[0] for each in updates if not each.stream)
    of_stream = sum(struct.unpack(">I", each.payload)[0] for each in updates if each.stream)
    assert of_connection > (20 << 20) - CONNECTION_WINDOW // 2
    assert of_stream > (20 << 20) - STREAM_WINDOW // 2


async def test_a_stream_that_is_not_read_has_a_bounded_window() -> None:
    peer = Peer()
    stream = peer.call("Each", ends=False)
    # The answers are not taken by the client, so the method does not go on.
    peer.say(settings({Setting.INITIAL_WINDOW_SIZE: 0}))

    for _ in range(70):
        peer.say(frame(FrameType.DATA, 0, stream, struct.pack(">BI", 0, 16_000) + bytes(16_000)))
        await asyncio.sleep(0)

    error, text = await peer.goaway()
    assert error is Error.FLOW_CONTROL_ERROR
    assert text == "it sends more than its windows allow"


async def test_a_connection_that_holds_too_much_is_closed() -> None:
    budget = Budget(100_000)
    peer = Peer(budget=budget)

    peer.call("Echo", b"x" * 200_000, ends=False)

    assert peer.wire.was_closed
    peer.connection.connection_lost(None)
    assert peer.is_gone
    assert budget.used_size == 0


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    peer = Peer()

    peer.connection.pause_writing()
    reads = [peer.wire.reads]
    # A method that writes on waits, too.
    stream = peer.call("Thrice", b"m")
    first = await peer.answer(stream)
    peer.connection.resume_writing()
    reads.append(peer.wire.reads)
    rest = await peer.answer(stream)

    assert reads == [False, True]
    assert first[0] == []
    assert rest[0] == [b"m", b"m", b"m"]


async def test_much_goes_to_the_transport_at_once() -> None:
    async def run(call: GrpcCall) -> None:
        for _ in range(1 + FLUSH_SIZE // 16_000):
            await call.write(bytes(16_000))
        sizes.append(len(peer.wire.sent))

    sizes: list[int] = []
    peer = Peer({"Run": GrpcMethod(run)}, given={Setting.INITIAL_WINDOW_SIZE: 1 << 20})
    peer.say(window_update(0, 1 << 20))
    await peer.heard()

    peer.call("Run", b"")
    await peer.heard()

    assert sizes[0] >= FLUSH_SIZE


async def test_many_small_frames_take_several_turns() -> None:
    readings = itertools.count()
    # Each look at the clock takes 10 us, so a slice has about 100 frames.
    peer = Peer(now_s=lambda: 1.0 + next(readings) * 1e-5)
    await peer.heard()
    pings = b"".join(frame(FrameType.PING, 0, 0, struct.pack(">Q", n)) for n in range(1000))

    peer.say(pings)
    first = len(peer.connection._out)
    reads = [peer.wire.reads]
    # What comes meanwhile waits behind them.
    peer.say(frame(FrameType.PING, 0, 0, struct.pack(">Q", 1000)))
    heard = await peer.heard()
    reads.append(peer.wire.reads)

    assert first <= TURN_S / 1e-5
    assert reads == [False, True]
    assert [struct.unpack(">Q", each.payload)[0] for each in heard] == list(range(1001))


async def test_too_many_calls_are_refused_one_by_one() -> None:
    peer = Peer(method(Endless().run))
    for _ in range(STREAMS_MAX):
        peer.call("Run", b"")
    await peer.heard()

    stream = peer.call("Run", b"")

    heard = await peer.heard()
    assert [each for each in heard if each.stream] == [
        (FrameType.RST_STREAM, 0, stream, struct.pack(">I", Error.REFUSED_STREAM))
    ]
    peer.connection.connection_lost(None)


async def test_a_call_that_is_reset_is_cancelled() -> None:
    endless = Endless()
    peer = Peer(method(endless.run))
    stream = peer.call("Run", b"")
    await peer.heard()

    peer.say(reset(stream, Error.CANCEL))

    assert await peer.heard() == []
    assert endless.cancelled.is_set()
    assert not peer.connection.streams
    # It may still make room for what was under way to it, and may not send on.
    peer.say(window_update(stream, 10) + reset(stream, Error.CANCEL))
    assert not peer.wire.was_closed
    peer.say(frame(FrameType.DATA, END_STREAM, stream, b"late"))
    assert (await peer.goaway())[0] is Error.STREAM_CLOSED


async def test_what_was_under_way_when_we_ended_a_call_is_passed_over() -> None:
    peer = Peer()
    stream = peer.call("Other", ends=False)
    await peer.heard()

    for _ in range(STREAM_WINDOW // 16_384):
        peer.say(frame(FrameType.DATA, 0, stream, bytes(16_384)))
    await peer.heard()
    was_closed = peer.wire.was_closed
    peer.say(frame(FrameType.DATA, 0, stream, b"more than its window"))

    assert not was_closed
    assert (await peer.goaway())[0] is Error.FLOW_CONTROL_ERROR


async def test_a_lost_connection_cancels_its_calls() -> None:
    endless = Endless()
    peer = Peer(method(endless.run))
    peer.call("Run", b"")
    await peer.heard()

    peer.connection.connection_lost(None)
    await peer.heard()

    assert endless.cancelled.is_set()
    assert peer.is_gone


async def test_a_connection_that_leaves_ends_with_its_last_call() -> None:
    event = asyncio.Event()

    async def wait(call: object) -> bytes:
        await event.wait()
        return b"done"

    peer = Peer(method(wait))
    stream = peer.call("Run", b"")
    await peer.heard()

    peer.connection.leave()
    (told,) = await peer.heard()
    late = peer.call("Run", b"")
    (refused,) = await peer.heard()
    assert (refused.kind, refused.stream) == (FrameType.RST_STREAM, late)
    assert refused.payload == struct.pack(">I", Error.REFUSED_STREAM)
    assert not peer.wire.was_closed
    event.set()

    assert (told.kind, told.payload) == (
        FrameType.GOAWAY,
        struct.pack(">II", stream, Error.NO_ERROR),
    )
    assert (await peer.answer(stream))[0] == [b"done"]
    assert peer.wire.was_closed


def _headers(stream: int, payload: bytes, flags: int = END_HEADERS) -> bytes:
    return frame(FrameType.HEADERS, flags, stream, payload)


BREACHES = {
    Error.FRAME_SIZE_ERROR: [
        (b"\xff\xff\xff" + bytes(6), "a frame has 16777215 bytes"),
        (_headers(1, b"", END_HEADERS | PRIORITY), "is too short"),
        (frame(FrameType.SETTINGS, 0, 0, b"x"), "has the wrong form"),
        (frame(FrameType.SETTINGS, ACK, 0, bytes(6)), "has the wrong form"),
        (frame(FrameType.PING, 0, 0, b"x"), "PING has 1 bytes instead of 8"),
        (frame(FrameType.RST_STREAM, 0, 1, b"x"), "RST_STREAM has 1 bytes"),
        (frame(FrameType.WINDOW_UPDATE, 0, 0, b""), "has 0 bytes instead of 4"),
        (frame(FrameType.PRIORITY, 0, 1, b"x"), "PRIORITY has 1 bytes"),
    ],
    Error.PROTOCOL_ERROR: [
        (_headers(2, encode(*REQUEST)), "a client cannot open stream 2"),
        (_headers(0, encode(*REQUEST)), "a client cannot open stream 0"),
        (_headers(1, b"\x09", END_HEADERS | PADDED), "padded with more"),
        (_headers(1, b"", END_HEADERS | PADDED), "padded with more"),
        (OPEN + frame(FrameType.DATA, PADDED, 1, b"\x05abc"), "padded with more"),
        (OPEN + _headers(1, b"\x82"), "stream 1 has headers in its middle"),
        (_headers(1, b"", 0) + frame(FrameType.PING, 0, 0, bytes(8)), "interrupt"),
        (frame(FrameType.CONTINUATION, END_HEADERS, 1), "continues nothing"),
        (frame(FrameType.DATA, 0, 7, b"x"), "stream 7 was never opened"),
        (reset(7, Error.CANCEL), "stream 7 was never opened"),
        (window_update(7, 1), "stream 7 was never opened"),
        (window_update(0, 0), "a window grows by nothing"),
        (settings({Setting.MAX_FRAME_SIZE: 5}), "frames of 5 bytes"),
        (frame(FrameType.PUSH_PROMISE, 0, 1, bytes(4)), "a client cannot push"),
    ],
    Error.COMPRESSION_ERROR: [
        (_headers(1, b"\x80"), "there is no header field 0"),
    ],
    Error.ENHANCE_YOUR_CALM: [
        (
            _headers(1, b"", 0) + frame(FrameType.CONTINUATION, 0, 1, bytes(16_384)) * 2,
            f"headers of more than {LIST_SIZE_MAX} bytes",
        ),
    ],
    Error.FLOW_CONTROL_ERROR: [
        (window_update(0, WINDOW_MAX), "the connection overflows"),
        (settings({Setting.INITIAL_WINDOW_SIZE: WINDOW_MAX + 1}), "is not possible"),
    ],
}


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [(data, error, text) for error, rows in BREACHES.items() for data, text in rows],
)
async def test_a_client_that_breaks_the_protocol_is_told_why(
    data: bytes, error: Error, text: str
) -> None:
    peer = Peer()
    await peer.heard()

    peer.say(data)

    found, told = await peer.goaway()
    assert found is error
    assert text in told


async def test_any_frames_leave_a_working_or_a_closed_connection() -> None:
    source = random.Random(7540)
    block = encode(*REQUEST)
    for _ in range(300):
        peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: source.choice((0, 10, 65_535))})
        for _ in range(30):
            kind = source.randrange(11)
            any_bytes = source.randbytes(source.randrange(20))
            payload = source.choice((block, any_bytes, bytes(4), bytes(8), b"\0\0\0\0\1"))
            peer.say(frame(kind, source.randrange(64), source.randrange(8), payload))
        await peer.heard()
        if not peer.wire.was_closed:
            peer.say(frame(FrameType.PING, 0, 0, b"are you?"))
            assert (FrameType.PING, ACK, 0, b"are you?") in await peer.heard()
        peer.connection.connection_lost(None)
        await peer.heard()
        assert peer.is_gone
        assert not peer.connection.streams
        assert peer.connection.held_size == len(peer.connection._rest)


async def test_a_client_that_says_nothing_is_closed() -> None:
    peer = Peer(given=None, greeting_s=0.001)

    while not peer.wire.was_closed:
        await asyncio.sleep(0.001)
