"""The bytes of one connection: frames in, and a queue of bytes out, for client and server.

    socket ── 256 KiB reads ─ FrameReader ── on_frames(all complete frames of the read)
    send ── out list ── one transport.write a loop turn ── socket

Rule: the bytes that are sent in one turn of the loop leave in one write, except a single request
and more than ``write_size`` bytes.
If a peer does not read, nothing is read from it either, and it is disconnected when more than
``write_buffer_max`` bytes wait for it.
"""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, cast

from remoting.errors import BadFrame
from remoting.frame import FrameReader, RawFrame, Take

LOG = logging.getLogger(__name__)

_READ_SIZE: Final = 262_144
PAUSE_SIZE: Final = 262_144
"""The unsent bytes at which we stop reading from a peer."""


class _ReadBuffer(threading.local):
    """The buffer that all connections of a thread read into.

    A read is copied out of it before the next one starts, so thousands of idle connections, and
    thousands of clients with one connection each, need no buffer of their own.
    """

    def __init__(self) -> None:
        # Not the bytearray: under TLS asyncio writes to slices of it, which must not be copies.
        self.view = memoryview(bytearray(_READ_SIZE))


_READ_BUFFER: Final = _ReadBuffer()


class Outbox:
    """The connections that have something to write this turn, and one call at its end."""

    __slots__ = ("_dirty", "_scheduled")

    def __init__(self) -> None:
        self._dirty: list[Link] = []
        self._scheduled = False

    def add(self, link: "Link") -> None:
        """Remember that ``link`` has bytes to write before the turn is over."""
        self._dirty.append(link)
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def defer_writes(self) -> None:
        """Do not schedule a write for connections that are added now; the caller will ``flush``."""
        self._scheduled = True

    def flush(self) -> None:
        """Write all that waits, with one write for each connection."""
        self._scheduled = False
        dirty, self._dirty = self._dirty, []
        for link in dirty:
            link.flush()


class Link(asyncio.BufferedProtocol, ABC):
    """One connection; subclasses handle its frames and its end.

    Args:
        outbox: has the connections with something to write this turn.
        write_buffer_max: the most bytes that may wait for the peer.
        write_size: the most bytes that wait for the end of the turn.
    """

    def __init__(
        self, outbox: Outbox, *, write_buffer_max: int, write_size: int = PAUSE_SIZE
    ) -> None:
        self._outbox = outbox
        self._reader = FrameReader()
        self._take: Take | None = None
        self._out: list[bytes] = []
        self._out_size = 0
        self._write_buffer_max = write_buffer_max
        self._write_size = min(write_size, write_buffer_max)
        # More bytes are written at once, to find out what the peer does not take.
        self._room = self._write_size
        self._transport: asyncio.Transport | None = None
        self._closing = False
        self.write_paused = False
        self.activity = 0
        """Counts reads, and writes that the peer took: while it grows, the peer is alive."""

    @abstractmethod
    def on_frames(self, frames: Sequence[RawFrame]) -> None:
        """Handle the complete frames of one read."""

    @abstractmethod
    def on_bad_frame(self, error: BadFrame) -> None:
        """Handle the error about bytes that are not a frame; the connection is then closed."""

    @property
    def is_closing(self) -> bool:
        """True when nothing more can be sent."""
        return self._closing

    @property
    def unsent_size(self) -> int:
        """The bytes that the peer has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    @property
    def waiting_size(self) -> int:
        """The bytes of an unfinished frame."""
        return self._reader.waiting_size

    # asyncio calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=PAUSE_SIZE)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer into which asyncio reads."""
        return _READ_BUFFER.view

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes of one read."""
        if self._closing:
            return
        self.activity += 1
        try:
            frames = self._reader.feed(bytes(_READ_BUFFER.view[:nbytes]), self._take)
        except BadFrame as error:
            if error.frames:
                self.on_frames(error.frames)
            self.end_badly(error)
            return
        self.on_frames(frames)

    def end_badly(self, error: BadFrame) -> None:
        """Close the connection, because what follows its frames cannot be read."""
        self.on_bad_frame(error)
        self.close()

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not take its answers."""
        self.write_paused = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        self.write_paused = False
        self._room = self._write_size
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # The owner of a connection calls these.

    def send(self, data: bytes) -> None:
        """Queue ``data`` to leave with all else of this turn; it is dropped once closing."""
        if self._closing:
            return
        if not self._out:
            self._outbox.add(self)
        self._out.append(data)
        self._out_size += len(data)
        if self._out_size > self._room:
            self.flush()

    def send_alone(self, data: bytes) -> None:
        """Send ``data`` now, unless something is queued before it.

        This is for a caller that sends nothing else in this turn. It saves one turn of the loop,
        which is a large part of the time of a single request.
        """
        if self._out or self._closing:
            self.send(data)
        else:
            self._out.append(data)
            self.flush()

    def flush(self) -> None:
        """Pass the queue to the transport, and end the connection when too many bytes wait."""
        out, transport = self._out, self._transport
        if not out or transport is None:
            return
        transport.write(out[0] if len(out) == 1 else b"".join(out))
        out.clear()
        self._out_size = 0
        if not self.write_paused:
            self.activity += 1
        else:
            left = self.unsent_size
            self._room = self._write_buffer_max - left
            if left > self._write_buffer_max:
                self._overflow(left)

    def _overflow(self, left: int) -> None:
        LOG.warning("%s does not read: %d bytes wait for it, connection cut", self, left)
        self.abort()

    def close(self) -> None:
        """Send the queued bytes, then close."""
        if not self._closing:
            self.flush()
            self._closing = True
            if self._transport is not None:
                self._transport.close()

    def abort(self) -> None:
        """Close now, whatever is queued."""
        self._closing = True
        self._out.clear()
        self._out_size = 0
        if self._transport is not None:
            self._transport.abort()
