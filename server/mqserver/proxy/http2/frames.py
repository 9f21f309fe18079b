"""The frames of HTTP/2: their kinds, flags, errors and settings, and how ours are written.

    size 3 | kind 1 | flags 1 | stream 4 | payload      the stream 0 is the connection itself

Source: RFC 9113, sections 4, 6 and 7.
"""

import struct
from enum import IntEnum
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client sends first."""
HEAD: Final = struct.Struct(">HBBBI")
"""Size (16 and 8 bits), kind, flags and stream of a frame."""
SETTING: Final = struct.Struct(">HI")
WORD: Final = struct.Struct(">I")
STREAM_MASK: Final = (1 << 31) - 1
WINDOW_MAX: Final = (1 << 31) - 1
INITIAL_WINDOW: Final = 65_535
"""The bytes of a connection and of each stream that may be sent before any setting."""
FRAME_SIZE_MAX: Final = 16_384
"""The largest payload, unless a setting allows more."""
FRAME_SIZE_LIMIT: Final = (1 << 24) - 1

# The flags.
END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY: Final = 0x20


class FrameType(IntEnum):
    """The kind of a frame."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


class Error(IntEnum):
    """Why a stream or a connection ends; only the codes that are sent here."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


class Http2Error(Exception):
    """The peer breaks the protocol, and the connection ends."""

    def __init__(self, error: Error, text: str) -> None:
        super().__init__(text)
        self.error = error


class Setting(IntEnum):
    """The settings that mean something here."""

    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame; the payload has at most FRAME_SIZE_LIMIT bytes."""
    size = len(payload)
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + payload


def settings(values: dict[Setting, int]) -> bytes:
    """Return a SETTINGS frame."""
    payload = b"".join(SETTING.pack(setting, value) for setting, value in values.items())
    return frame(FrameType.SETTINGS, 0, 0, payload)


def window_update(stream_id: int, size: int) -> bytes:
    """Return a frame that allows ``size`` more bytes; the stream 0 means the connection."""
    return frame(FrameType.WINDOW_UPDATE, 0, stream_id, WORD.pack(size))


def reset(stream_id: int, error: Error) -> bytes:
    """Return a frame that ends a stream."""
    return frame(FrameType.RST_STREAM, 0, stream_id, WORD.pack(error))


def goaway(last_id: int, error: Error, text: str = "") -> bytes:
    """Return a frame that ends a connection; ``last_id`` is the last stream that was served."""
    payload = WORD.pack(last_id) + WORD.pack(error) + text.encode()
    return frame(FrameType.GOAWAY, 0, 0, payload)


def unpadded(payload: bytes, least: int) -> bytes:
    """Return a payload without its padding; at least ``least`` bytes of it are needed."""
    size = len(payload) - 1 - payload[0] if payload else -1
    if size < least:
        raise Http2Error(Error.PROTOCOL_ERROR, "a frame is padded with more bytes than it has")
    return payload[1 : 1 + size]


def check_size(payload: bytes, size: int, name: str) -> None:
    """Check that the payload of a frame of this name has ``size`` bytes."""
    if len(payload) != size:
        raise Http2Error(
            Error.FRAME_SIZE_ERROR, f"{name} has {len(payload)} bytes instead of {size}"
        )
