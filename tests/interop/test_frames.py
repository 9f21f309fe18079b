"""Frames that are not as a client writes them, byte by byte at the real broker and at ours.

    the frame of a case, then GOOD ─> so many answers, that to GOOD among them; or an end

Rule: what is waited for is an answer or the end of the connection, never that none comes.
"""

import asyncio
import json
import struct
from collections.abc import Mapping
from typing import Final

import pytest

from remoting.frame import FrameReader, decode_frame
from tests.interop.kit.servers import Broker, Servers
from tests.waiting import TIMEOUT_S

Outcome = list[tuple[int, int]] | None
LAST: Final = 99
"""The opaque of GOOD."""


def text(opaque: int = 7, **changes: object) -> bytes:
    """Return the JSON header of a question for an offset."""
    fields: dict[str, object] = {
        "code": 30,
        "extFields": {"topic": "TBW102", "queueId": "0"},
        "flag": 0,
        "language": "JAVA",
        "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": 407,
    }
    return json.dumps({**fields, **changes}).encode()


def pair(key: bytes, value: bytes) -> bytes:
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value


def binary(opaque: int = 7, *, language: int = 0, remark: bytes = b"", more: bytes = b"") -> bytes:
    """Return the same header in the other serialisation."""
    ext = pair(b"topic", b"TBW102") + pair(b"queueId", b"0") + more
    head = struct.pack(">hbhii", 30, language, 407, opaque, 0)
    return b"".join(
        (head, struct.pack(">i", len(remark)), remark, struct.pack(">i", len(ext)), ext)
    )


def frame(header: bytes, body: bytes = b"", *, kind: int = 0, header_size: int = -1) -> bytes:
    """Return a frame; ``header_size`` is what it says of its header."""
    said = len(header) if header_size < 0 else header_size
    return struct.pack(">iI", 4 + len(header) + len(body), kind << 24 | said) + header + body


GOOD: Final = frame(text(LAST))
GBK: Final = "中文".encode("gbk")
ANSWERED: Final[Mapping[str, tuple[bytes, int]]] = {
    "good": (frame(text()), 1),
    "the other serialisation": (frame(binary(), kind=1), 1),
    "both in one piece": (frame(text(7)) + frame(binary(8), kind=1), 2),
    "a body that is not asked for": (frame(text(), b"body"), 1),
    "a text that is no UTF-8": (frame(text().replace(b"TBW102", GBK)), 1),
    "the same, other serialisation": (frame(binary(remark=GBK, more=pair(b"k", GBK)), kind=1), 1),
    "half of a surrogate pair": (frame(text().replace(b"TBW102", b"\xed\xa0\x80")), 1),
    "a key twice": (frame(text().replace(b'"queueId": "0"', b'"queueId": "x", "queueId": "0"')), 1),
    "a key twice, other serialisation": (frame(binary(more=pair(b"queueId", b"1")), kind=1), 1),
    "values that are no text": (frame(text(extFields={"topic": "TBW102", "queueId": 0})), 1),
    "unknown language": (frame(text(language="KLINGON")), 1),
    "unknown language, other serialisation": (frame(binary(language=99), kind=1), 1),
    "no version": (frame(text(version=None)), 1),
    "negative opaque": (frame(text(-5)), 1),
    "an answer that nobody waits for": (frame(text(flag=1)), 0),
    "one-way": (frame(text(flag=2)), 0),
}
"""What is sent before GOOD, and how many answers it gets."""
ENDED: Final[Mapping[str, bytes]] = {
    "length 0": bytes(4),
    "length 4, no header": struct.pack(">ii", 4, 0),
    "negative length": struct.pack(">i", -1),
    "length over the limit": struct.pack(">ii", 16_777_217, 0),
    "header longer than the frame": frame(text(), header_size=len(text()) + 1),
    "header shorter than its text": frame(text(), header_size=len(text()) - 1),
    "unknown serialisation": frame(text(), kind=2),
    "another protocol": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
    "no JSON": frame(b"{nonsense"),
    "a JSON list": frame(b"[]"),
    "a cut header, other serialisation": frame(binary()[:10], kind=1),
}


async def outcome(address: str, data: bytes, *, count: int, piece_size: int = 0) -> Outcome:
    """Return opaque and code of ``count`` answers in the order of opaques, None for an end."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    frames, size = FrameReader(), piece_size or len(data)
    found: list[tuple[int, int]] = []
    try:
        async with asyncio.timeout(TIMEOUT_S):
            for at in range(0, len(data), size):
                writer.write(data[at : at + size])
                await writer.drain()
            # Requests of one connection are answered in any order.
            while count == 0 or len(found) < count:
                received = await reader.read(65_536)
                if not received:
                    return None
                commands = [decode_frame(raw) for raw in frames.feed(received)]
                found.extend((command.opaque, command.code) for command in commands)
    except ConnectionError:
        return None
    finally:
        writer.close()
    return sorted(found)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_frame_is_answered_as_by_java(java_broker: Broker, our_broker: Broker, name: str) -> None:
    data, count = ANSWERED[name]

    java, ours = (
        asyncio.run(outcome(broker.address, data + GOOD, count=count + 1))
        for broker in (java_broker, our_broker)
    )

    assert ours == java
    assert java is not None


@pytest.mark.parametrize("name", ENDED)
def test_a_frame_that_is_none_ends_the_connection(servers: Servers, name: str) -> None:
    data = ENDED[name] + GOOD

    assert asyncio.run(outcome(servers.broker.address, data, count=0)) is None


def test_frames_that_come_byte_by_byte_are_answered(servers: Servers) -> None:
    data = frame(text(7)) + frame(binary(8), kind=1) + GOOD

    found = asyncio.run(outcome(servers.broker.address, data, count=3, piece_size=1))

    assert found == [(7, 0), (8, 0), (LAST, 0)]
