"""Frames: the lengths around a header and a body.

    0           4                             8               8 + h
    | i32 length | u8 serialise, u24 h = header size | header | body |     big endian

``length`` counts what follows it: 4 + header + body, at most 16 MiB. A frame that is too long,
has an unknown serialisation byte, or a header longer than itself or than 256 KiB is a BadFrame:
close the connection without an answer, because the start of the next frame is unknown.

Rule: a length is checked as soon as its bytes are there, before memory is allocated for it.

Source: remoting/netty/NettyDecoder.java, remoting/protocol/RemotingCommand.java#decode.
"""

import re
import struct
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from remoting.codes import SerializeType
from remoting.command import Command
from remoting.errors import BadCall, BadFrame
from remoting.serialize import decode_header, encode_header

FRAME_SIZE_MAX: Final = 16_777_216
"""Largest ``length`` of a frame, bytes (Java's com.rocketmq.remoting.frameMaxLength)."""
HEADER_SIZE_MAX: Final = 262_144
"""Largest header that is read, bytes. Java has no such limit, but here all other clients wait while
a header is parsed. The longest field of real clients is the properties of a message: 32,767 bytes,
and six times as many in JSON if each has to be escaped."""

_HEAD: Final = struct.Struct(">iI")
_HEAD_SIZE: Final = 8
_HEADER_SIZE_MASK: Final = 0xFFFFFF
_CODE_FIRST: Final = re.compile(rb'\{"code":(-?\d{1,9})[,}]')
_CODE: Final = struct.Struct(">h")
_BINARY: Final = int(SerializeType.ROCKETMQ)
_CODE_SIZE: Final = len(b'{"code":310,')
_CODES_MAX: Final = 1_024
# The code by the first bytes of a JSON header: a lookup takes a third of the time of a match.
_CODES: Final[dict[bytes, int]] = {}


class RawFrame(NamedTuple):
    """One complete frame whose header is not decoded yet."""

    serialize: int
    header: bytes
    body: bytes


# This takes half the time of calling the class.
_new_frame: Final = cast("Callable[[type[RawFrame], tuple[object, ...]], RawFrame]", tuple.__new__)


Take = Callable[[bytes], int]
"""Handles the first frames of bytes that begin with a frame, and returns how many bytes they have:
0 if all frames go the general way."""


class FrameReader:
    """Cuts a byte stream into frames.

    Bytes of an unfinished frame wait in a list of parts and are joined once, when the frame is
    complete: a frame that arrives in n reads costs n appends, not n copies.

    Args:
        frame_size_max: the largest ``length`` that is accepted, bytes.
        header_size_max: the largest header that is accepted, bytes. A client accepts longer headers
            than a server does, since the answer to a batch names each message in its header.
    """

    __slots__ = ("_frame_size_max", "_header_size_max", "_needed", "_parts", "_waiting")

    def __init__(
        self, *, frame_size_max: int = FRAME_SIZE_MAX, header_size_max: int = HEADER_SIZE_MAX
    ) -> None:
        self._frame_size_max = frame_size_max
        self._header_size_max = header_size_max
        self._parts: list[bytes] = []
        self._waiting = 0
        self._needed = _HEAD_SIZE

    @property
    def waiting_size(self) -> int:
        """Bytes held of a frame that is not complete; 0 between frames."""
        return self._waiting

    def feed(self, data: bytes, take: Take | None = None) -> list[RawFrame]:
        """Take the next bytes of the stream and return the frames they complete, in order.

        Args:
            data: the bytes.
            take: may handle some of the first frames itself.

        Raises:
            BadFrame: the stream is not made of frames; this reader cannot go on. The error has
                the complete frames before that place.
        """
        if self._waiting:
            self._parts.append(data)
            self._waiting += len(data)
            if self._waiting < self._needed:
                return []
            data = b"".join(self._parts)
            self._parts.clear()
            self._waiting = 0
        size = len(data)
        pos = 0 if take is None else take(data)
        frames: list[RawFrame] = []
        while True:
            left = size - pos
            if left < _HEAD_SIZE:
                self._needed = _HEAD_SIZE
                break
            length, mark = _HEAD.unpack_from(data, pos)
            header_size = mark & _HEADER_SIZE_MASK
            if (
                mark >> 24 > 1
                or length > self._frame_size_max
                or length < 4 + header_size
                or header_size > self._header_size_max
            ):
                bad = self._bad_head(length, mark)
                bad.frames = tuple(frames)
                raise bad
            end = pos + 4 + length
            if end > size:
                self._needed = 4 + length
                break
            body_at = pos + _HEAD_SIZE + header_size
            header = data[pos + _HEAD_SIZE : body_at]
            frames.append(_new_frame(RawFrame, (mark >> 24, header, data[body_at:end])))
            pos = end
        if left:
            self._parts.append(data[pos:] if pos else data)
            self._waiting = left
        return frames

    def _bad_head(self, length: int, mark: int) -> BadFrame:
        if length > self._frame_size_max:
            return BadFrame(f"frame of {length} bytes, the limit is {self._frame_size_max}")
        if mark >> 24 > 1:
            return BadFrame(f"serialisation byte {mark >> 24}, expected 0 (JSON) or 1 (ROCKETMQ)")
        header_size = mark & _HEADER_SIZE_MASK
        if length >= 4 + header_size:
            return BadFrame(f"header of {header_size} bytes, the limit is {self._header_size_max}")
        return BadFrame(f"header of {header_size} bytes in a frame of {length}")


def frame_bytes(serialize: int, header: bytes, body: bytes) -> bytes:
    """Return the frame around encoded header bytes.

    Args:
        serialize: the serialisation byte, 0 (JSON) or 1 (ROCKETMQ).
        header: the encoded header.
        body: the body.

    Raises:
        BadCall: the header passes 24 bits or the frame passes ``FRAME_SIZE_MAX``.
    """
    header_size = len(header)
    length = 4 + header_size + len(body)
    if header_size > _HEADER_SIZE_MASK or length > FRAME_SIZE_MAX:
        raise BadCall(f"frame of {length} bytes, the limit is {FRAME_SIZE_MAX}")
    return _HEAD.pack(length, serialize << 24 | header_size) + header + body


def encode_frame(cmd: Command) -> bytes:
    """Return ``cmd`` as one frame, with the header in the command's own serialisation.

    Raises:
        BadCall: the command does not fit the format.
    """
    return frame_bytes(cmd.serialize, encode_header(cmd), cmd.body)


def decode_frame(raw: RawFrame) -> Command:
    """Return the command in a frame.

    Raises:
        BadFrame: the header cannot be read.
    """
    cmd = decode_header(raw.serialize, raw.header)
    cmd.body = raw.body
    return cmd


def peek_code(raw: RawFrame) -> int:
    """Return the code of a frame, without decoding the header if its layout is Java's.

    Raises:
        BadFrame: the header cannot be read.
    """
    serialize, header, _ = raw
    if serialize != _BINARY:
        code = _CODES.get(header[:_CODE_SIZE])
        return _read_code(raw) if code is None else code
    if len(header) < _CODE.size:
        raise BadFrame(f"binary header of {len(header)} bytes, at least 21 expected")
    binary: int = _CODE.unpack_from(header)[0]
    return binary


def _read_code(raw: RawFrame) -> int:
    match = _CODE_FIRST.match(raw.header)
    if match is None:
        return decode_header(raw.serialize, raw.header).code
    code = int(match[1])
    if match.end() <= _CODE_SIZE:
        if len(_CODES) >= _CODES_MAX:
            # A client sends invented codes: empty the table so that it does not grow further.
            _CODES.clear()
        _CODES[raw.header[:_CODE_SIZE]] = code
    return code
