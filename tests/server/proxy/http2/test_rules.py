"""The rules of RFC 9113 and RFC 7541 that h2spec tries: each breach, and what it ends.

    connection   a GOAWAY with that error        stream   an RST_STREAM with that error
    ignored      neither: the connection answers a PING as before

The ids of the cases name the section and the rule. Further breaches are in ``test_connection``,
header blocks in ``test_hpack``.
"""

import struct

import pytest

from mqserver.proxy.http2.frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    PREFACE,
    PRIORITY,
    Error,
    FrameType,
    Setting,
    frame,
    reset,
    settings,
    window_update,
)
from mqserver.proxy.http2.hpack import LIST_SIZE_MAX, Field, encode
from tests.server.proxy.http2.peer import REQUEST, Endless, Peer, method

RUN: tuple[Field, ...] = (*REQUEST[:2], (":path", "/Test/Run"), REQUEST[3])


def head(*fields: Field, flags: int = END_HEADERS, stream: int = 1) -> bytes:
    return frame(FrameType.HEADERS, flags, stream, encode(*(fields or RUN)))


def data(payload: bytes, flags: int = 0, stream: int = 1) -> bytes:
    return frame(FrameType.DATA, flags, stream, payload)


ENDED = head() + data(bytes(5), END_STREAM)
"""A call whose request is complete, and whose method goes on: half-closed (remote)."""
OPEN = head()
CLOSED = ENDED + reset(1, Error.CANCEL)

CONNECTION: dict[str, tuple[bytes, Error]] = {
    "4.2 a HEADERS frame is too large": (
        b"\x00\x40\x01\x01\x04\x00\x00\x00\x01", Error.FRAME_SIZE_ERROR),
    "4.3 a header block that cannot be decoded": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\x40\x01a\x7f"), Error.COMPRESSION_ERROR),
    "4.3 PRIORITY within a header block": (
        head(flags=0) + frame(FrameType.PRIORITY, 0, 1, bytes(5)), Error.PROTOCOL_ERROR),
    "4.3 HEADERS of another stream within a header block": (
        head(flags=0) + head(stream=3), Error.PROTOCOL_ERROR),
    "5.1 idle: DATA": (data(b"x"), Error.PROTOCOL_ERROR),
    "5.1 idle: RST_STREAM": (reset(1, Error.CANCEL), Error.PROTOCOL_ERROR),
    "5.1 idle: WINDOW_UPDATE": (window_update(1, 1), Error.PROTOCOL_ERROR),
    "5.1 idle: CONTINUATION": (
        frame(FrameType.CONTINUATION, END_HEADERS, 1, b""), Error.PROTOCOL_ERROR),
    "5.1 half-closed (remote): HEADERS": (
        ENDED + head(flags=END_HEADERS | END_STREAM), Error.STREAM_CLOSED),
    "5.1 closed: DATA": (CLOSED + data(b"x"), Error.STREAM_CLOSED),
    "5.1 closed: HEADERS": (CLOSED + head(), Error.STREAM_CLOSED),
    "5.1 closed: CONTINUATION": (
        CLOSED + frame(FrameType.CONTINUATION, END_HEADERS, 1, b""), Error.PROTOCOL_ERROR),
    "5.1.1 an even number": (head(stream=2), Error.PROTOCOL_ERROR),
    "5.1.1 a number below the last": (
        head(stream=5) + head(stream=3), Error.STREAM_CLOSED),
    "6.1 DATA on stream 0": (data(b"x", stream=0), Error.PROTOCOL_ERROR),
    "6.1 padding as long as the frame": (OPEN + data(b"\x03xy", 0x8), Error.PROTOCOL_ERROR),
    "6.2 HEADERS on stream 0": (head(stream=0), Error.PROTOCOL_ERROR),
    "6.2 HEADERS with padding as long as the frame": (
        frame(FrameType.HEADERS, END_HEADERS | 0x8, 1, b"\x05\x82"), Error.PROTOCOL_ERROR),
    "6.3 PRIORITY on stream 0": (frame(FrameType.PRIORITY, 0, 0, bytes(5)), Error.PROTOCOL_ERROR),
    "6.3 PRIORITY of another size": (frame(FrameType.PRIORITY, 0, 1, b"x"), Error.FRAME_SIZE_ERROR),
    "6.4 RST_STREAM on stream 0": (reset(0, Error.CANCEL), Error.PROTOCOL_ERROR),
    "6.4 RST_STREAM of another size": (
        OPEN + frame(FrameType.RST_STREAM, 0, 1, b"x"), Error.FRAME_SIZE_ERROR),
    "6.5 SETTINGS ACK with a payload": (
        frame(FrameType.SETTINGS, ACK, 0, bytes(6)), Error.FRAME_SIZE_ERROR),
    "6.5 SETTINGS on a stream": (frame(FrameType.SETTINGS, 0, 1), Error.PROTOCOL_ERROR),
    "6.5 SETTINGS of another size": (frame(FrameType.SETTINGS, 0, 0, b"x"), Error.FRAME_SIZE_ERROR),
    "6.5.2 ENABLE_PUSH is 2": (settings({Setting.ENABLE_PUSH: 2}), Error.PROTOCOL_ERROR),
    "6.5.2 INITIAL_WINDOW_SIZE of 2^31": (
        settings({Setting.INITIAL_WINDOW_SIZE: 1 << 31}), Error.FLOW_CONTROL_ERROR),
    "6.5.2 MAX_FRAME_SIZE of 16383": (
        settings({Setting.MAX_FRAME_SIZE: 16_383}), Error.PROTOCOL_ERROR),
    "6.5.2 MAX_FRAME_SIZE of 2^24": (
        settings({Setting.MAX_FRAME_SIZE: 1 << 24}), Error.PROTOCOL_ERROR),
    "6.6 PUSH_PROMISE of a client": (
        frame(FrameType.PUSH_PROMISE, END_HEADERS, 1, bytes(4)), Error.PROTOCOL_ERROR),
    "6.7 PING on a stream": (frame(FrameType.PING, 0, 1, bytes(8)), Error.PROTOCOL_ERROR),
    "6.7 PING of another size": (frame(FrameType.PING, 0, 0, b"x"), Error.FRAME_SIZE_ERROR),
    "6.8 GOAWAY on a stream": (frame(FrameType.GOAWAY, 0, 1, bytes(8)), Error.PROTOCOL_ERROR),
    "6.9 WINDOW_UPDATE of 0": (window_update(0, 0), Error.PROTOCOL_ERROR),
    "6.9 WINDOW_UPDATE of another size": (
        frame(FrameType.WINDOW_UPDATE, 0, 0, b"xyz"), Error.FRAME_SIZE_ERROR),
    "6.9.1 the window of the connection overflows": (
        window_update(0, (1 << 31) - 1) * 2, Error.FLOW_CONTROL_ERROR),
    "6.10 CONTINUATION behind END_HEADERS": (
        OPEN + frame(FrameType.CONTINUATION, END_HEADERS, 1, b""), Error.PROTOCOL_ERROR),
    "6.10 CONTINUATION on stream 0": (
        head(flags=0) + frame(FrameType.CONTINUATION, 0, 0, b""), Error.PROTOCOL_ERROR),
    "8.1 trailers without END_STREAM": (OPEN + head(("a", "b")), Error.PROTOCOL_ERROR),
    "10.5.1 a header block of too many bytes": (
        head(flags=0) + frame(FrameType.CONTINUATION, 0, 1, bytes(LIST_SIZE_MAX)),
        Error.ENHANCE_YOUR_CALM),
    "RFC 7541 2.3.3 an index beyond the table": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\xff\x20"), Error.COMPRESSION_ERROR),
    "RFC 7541 4.2 a size of the table behind a field": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\x82\x20"), Error.COMPRESSION_ERROR),
    "RFC 7541 5.2 padding of more than 7 bits": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\x00\x01a\x82\x07\xff"),
        Error.COMPRESSION_ERROR),
    "RFC 7541 5.2 padding of zeros": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\x00\x01a\x81\x00"), Error.COMPRESSION_ERROR),
    "RFC 7541 6.1 index 0": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\x80"), Error.COMPRESSION_ERROR),
    "RFC 7541 6.3 a table larger than allowed": (
        frame(FrameType.HEADERS, END_HEADERS, 1, b"\x3f\xe2\x1f"), Error.COMPRESSION_ERROR),
}  # fmt: skip

STREAM: dict[str, tuple[bytes, Error]] = {
    "5.1 half-closed (remote): DATA": (ENDED + data(b"x"), Error.STREAM_CLOSED),
    "6.9 WINDOW_UPDATE of 0 on a stream": (OPEN + window_update(1, 0), Error.PROTOCOL_ERROR),
    "6.9.1 the window of a stream overflows": (
        OPEN + window_update(1, (1 << 31) - 1), Error.FLOW_CONTROL_ERROR),
    "8.1.1 content-length is more than the body": (
        head(*RUN, ("content-length", "9")) + data(bytes(5), END_STREAM), Error.PROTOCOL_ERROR),
    "8.1.1 content-length is less than the body": (
        head(*RUN, ("content-length", "1")) + data(bytes(5)), Error.PROTOCOL_ERROR),
    "8.1.1 content-length is not a size": (
        head(*RUN, ("content-length", "-1")), Error.PROTOCOL_ERROR),
    "8.1 a pseudo-header field in trailers": (
        OPEN + head((":method", "POST"), flags=END_HEADERS | END_STREAM), Error.PROTOCOL_ERROR),
    "8.2.1 a name in upper case": (head(*RUN, ("X-Test", "ok")), Error.PROTOCOL_ERROR),
    "8.2.2 a field of the connection": (
        head(*RUN, ("connection", "keep-alive")), Error.PROTOCOL_ERROR),
    "8.2.2 te is not trailers": (head(*RUN, ("te", "trailers, deflate")), Error.PROTOCOL_ERROR),
    "8.3 an unknown pseudo-header field": (head((":test", "x"), *RUN), Error.PROTOCOL_ERROR),
    "8.3 a pseudo-header field of responses": (
        head(*RUN[:3], (":status", "200")), Error.PROTOCOL_ERROR),
    "8.3 a pseudo-header field behind a regular one": (
        head(*RUN[1:], RUN[0]), Error.PROTOCOL_ERROR),
    "8.3.1 an empty path": (head(*RUN[:2], (":path", ""), RUN[3]), Error.PROTOCOL_ERROR),
    "8.3.1 no method": (head(*RUN[1:]), Error.PROTOCOL_ERROR),
    "8.3.1 no scheme": (head(RUN[0], *RUN[2:]), Error.PROTOCOL_ERROR),
    "8.3.1 no path": (head(*RUN[:2], RUN[3]), Error.PROTOCOL_ERROR),
    "8.3.1 the method twice": (head(RUN[0], *RUN), Error.PROTOCOL_ERROR),
    "8.3.1 the path twice": (head(RUN[2], *RUN), Error.PROTOCOL_ERROR),
}  # fmt: skip

IGNORED: dict[str, bytes] = {
    "4.1 flags that are not defined": frame(FrameType.PING, ACK | 0xF0, 0, bytes(8)),
    "4.1 the reserved bit of a stream number": frame(FrameType.PRIORITY, 0, 1 << 31 | 1, bytes(5)),
    "5.1 half-closed (remote): WINDOW_UPDATE": ENDED + window_update(1, 1),
    "5.1 half-closed (remote): PRIORITY": ENDED + frame(FrameType.PRIORITY, 0, 1, bytes(5)),
    "5.1 closed: PRIORITY": CLOSED + frame(FrameType.PRIORITY, 0, 1, bytes(5)),
    "5.1 closed: WINDOW_UPDATE and RST_STREAM": CLOSED
    + window_update(1, 1)
    + reset(1, Error.CANCEL),
    "5.3.2 a stream that depends on itself": frame(
        FrameType.HEADERS, END_HEADERS | PRIORITY, 1, struct.pack(">IB", 1, 255) + encode(*RUN)
    ),
    "5.5 an unknown frame": frame(0x16, 0, 0, bytes(8)),
    "6.5.2 an unknown setting": frame(FrameType.SETTINGS, 0, 0, struct.pack(">HI", 0xFF, 1)),
    "6.7 PING ACK": frame(FrameType.PING, ACK, 0, b"not ours"),
    "7 an unknown error code": OPEN + frame(FrameType.RST_STREAM, 0, 1, b"\xff" * 4),
}


@pytest.mark.parametrize(("breach", "error"), CONNECTION.values(), ids=CONNECTION)
async def test_a_breach_ends_the_connection(breach: bytes, error: Error) -> None:
    peer = Peer(method(Endless().run))
    await peer.heard()

    peer.say(breach)

    assert (await peer.goaway())[0] is error
    peer.connection.connection_lost(None)


@pytest.mark.parametrize(("breach", "error"), STREAM.values(), ids=STREAM)
async def test_a_breach_ends_its_stream_alone(breach: bytes, error: Error) -> None:
    peer = Peer(method(Endless().run))
    await peer.heard()

    peer.say(breach)

    heard = await peer.heard()
    assert (FrameType.RST_STREAM, 0, 1, struct.pack(">I", error)) in heard
    assert not peer.wire.was_closed
    assert not peer.connection.streams
    assert peer.connection.held_size == 0


@pytest.mark.parametrize("odd", IGNORED.values(), ids=IGNORED)
async def test_what_a_rule_allows_is_ignored(odd: bytes) -> None:
    peer = Peer(method(Endless().run))
    await peer.heard()

    peer.say(odd + frame(FrameType.PING, 0, 0, b"are you?"))

    heard = await peer.heard()
    assert (FrameType.PING, ACK, 0, b"are you?") in heard
    assert FrameType.RST_STREAM not in {each.kind for each in heard}
    assert not peer.wire.was_closed
    peer.connection.connection_lost(None)


@pytest.mark.parametrize(
    "first",
    [frame(FrameType.PING, 0, 0, bytes(8)), frame(FrameType.SETTINGS, ACK, 0)],
    ids=["a PING", "an acknowledgement"],
)
async def test_3_4_a_client_begins_with_its_settings(first: bytes) -> None:
    peer = Peer(given=None)

    peer.say(PREFACE + first)

    assert (await peer.goaway())[0] is Error.PROTOCOL_ERROR


async def test_6_5_3_settings_are_acknowledged_before_what_they_allow_is_sent() -> None:
    peer = Peer(given={Setting.INITIAL_WINDOW_SIZE: 0})
    peer.call("Echo", b"m")
    await peer.heard()

    peer.say(settings({Setting.INITIAL_WINDOW_SIZE: 100}))

    first, second, *_ = await peer.heard()
    assert (first.kind, first.flags) == (FrameType.SETTINGS, ACK)
    assert second.kind is FrameType.DATA
