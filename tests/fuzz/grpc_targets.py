"""Targets of the gRPC endpoint: header blocks, connections of HTTP/2, messages."""

import asyncio
import logging
import random
from collections.abc import Iterator

from mqserver.proxy.drafts import send_limits
from mqserver.proxy.http2.frames import (
    END_HEADERS,
    END_STREAM,
    FrameType,
    Setting,
    frame,
    settings,
    window_update,
)
from mqserver.proxy.http2.hpack import BadHeaders, FieldReader, HeaderDecoder, encode
from mqserver.proxy.protocol import requests
from mqserver.proxy.protocol.definitions import Message, Resource, SystemProperties
from mqserver.proxy.protocol.protobuf import ITEMS_MAX, BadMessage, Codec, WireMessage
from storefmt.kernels import forms
from tests.fuzz.target import Target
from tests.server.proxy.http2.peer import REQUEST, Frame, Peer
from tests.server.proxy.test_drafts import SMALL, drafted, random_request

MESSAGES: tuple[type[WireMessage], ...] = tuple(
    found
    for found in vars(requests).values()
    if isinstance(found, type) and issubclass(found, WireMessage) and found is not WireMessage
)


def read_header_blocks(data: bytes) -> None:
    """Read two blocks of one connection, cut where the first byte says, with every decoder."""
    plain, *others = [made() for made in forms("HeaderDecoderCompiled").values()]
    at = data[0] if data else 0
    for block in (data[1:at], data[at:]):
        try:
            fields = plain.decode(block)
        except BadHeaders as error:
            for decoder in others:
                _assert_refused(decoder, block, error)
            raise
        for decoder in others:
            assert decoder.decode(block) == fields
        written = [field for field in fields if "".join(field).isascii()]
        assert HeaderDecoder().decode(encode(*written)) == written


def _assert_refused(decoder: FieldReader, block: bytes, error: BadHeaders) -> None:
    try:
        decoder.decode(block)
    except BadHeaders as other:
        assert str(other) == str(error)  # noqa: PT017
    else:
        raise AssertionError("one decoder refuses a block, the other does not")


def read_connection(data: bytes) -> None:
    """Serve a client whole and in pieces: it hears the same, and nothing of it is kept."""
    step, data = (data[0] % 64 + 1, data[1:]) if data else (1, data)
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    # What the broker would log of each input takes longer than the input.
    logging.disable()
    try:
        assert asyncio.run(_heard([data])) == asyncio.run(_heard(pieces))
    finally:
        logging.disable(logging.NOTSET)


async def _heard(pieces: list[bytes]) -> list[Frame]:
    peer = Peer()
    for piece in pieces:
        peer.say(piece)
    found = sorted(await peer.heard())
    peer.connection.connection_lost(None)
    await peer.heard()
    assert peer.is_gone
    assert not peer.connection.streams
    return found


def read_message(data: bytes) -> None:
    """Read bytes as the message that the first one chooses; it can be written again."""
    if data:
        kind = MESSAGES[data[0] % len(MESSAGES)]
        plain, *others = [made(kind) for made in forms("CompiledCodec").values()]
        for codec in others:
            assert _read(codec, data[1:]) == _read(plain, data[1:])
        found = kind.decode(data[1:])
        # Compared as bytes, because a real number may be none.
        written = found.encode()
        assert kind.decode(written).encode() == written


def _read(codec: Codec, data: bytes) -> str:
    try:
        # As text, because a real number may be none.
        return repr(codec.decode(data, ITEMS_MAX))
    except BadMessage as error:
        return str(error)


def read_plain_send(data: bytes) -> None:
    """Read bytes as a send with every form of the reader of plain ones; what they take is right."""
    for form in forms("PlainSends").values():
        found = form(send_limits(SMALL)).read(data)
        if found is not None:
            assert found == asyncio.run(drafted(SMALL, data))


def _sends() -> Iterator[bytes]:
    draw = random.Random(33)
    for _ in range(12):
        yield random_request(draw).encode()


def _blocks() -> Iterator[bytes]:
    yield b"\x20\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"
    yield b"\x05" + encode(*REQUEST)
    yield b"\x03\x20\x3f\xe1\x1f\x40\x01a\x01b\xbe"


def _connections() -> Iterator[bytes]:
    block = encode(*REQUEST)
    call = frame(FrameType.HEADERS, END_HEADERS, 1, block)
    message = frame(FrameType.DATA, END_STREAM, 1, b"\x00\x00\x00\x00\x02hi")
    yield b"\x07" + call + message
    yield (
        b"\x09" + settings({Setting.INITIAL_WINDOW_SIZE: 3}) + call + message + window_update(1, 9)
    )
    yield (
        b"\x01"
        + frame(FrameType.HEADERS, 0, 1, block[:9])
        + frame(FrameType.CONTINUATION, END_HEADERS, 1, block[9:])
        + frame(FrameType.RST_STREAM, 0, 1, bytes(4))
        + frame(FrameType.PING, 0, 0, bytes(8))
    )


def _messages() -> Iterator[bytes]:
    topic = Resource(name="T")
    system = SystemProperties(message_id="id", tag="tag", keys=["key"], born_timestamp=1 << 40)
    sent = Message(topic=topic, system_properties=system, user_properties={"a": "b"}, body=b"body")
    for number, kind in enumerate(MESSAGES):
        yield bytes((number,)) + kind().encode()
        if kind is requests.SendMessageRequest:
            yield bytes((number,)) + requests.SendMessageRequest(messages=[sent]).encode()


def grpc_targets() -> tuple[Target, ...]:
    """Return the targets of this module."""
    return (
        Target("header_blocks", read_header_blocks, (BadHeaders,), _blocks),
        Target("http2_connection", read_connection, (), _connections),
        Target("grpc_message", read_message, (BadMessage,), _messages),
        Target("plain_send", read_plain_send, (), _sends),
    )
