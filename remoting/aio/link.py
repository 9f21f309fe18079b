"""One connection's bytes: frames in, a queue of bytes out. Both ends build on it.

    socket ── 256 KiB reads ─ FrameReader ── on_frames(all complete frames of the read)
    send ── out list ── one transport.write a loop turn ── socket

Rule: what is sent in one turn of the loop leaves in one write, but for a request that is alone.
A peer that does not read is not read from either, and is cut off when what waits for it passes
``write_buffer_max``.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, cast

from remoting.errors import BadFrame
from remoting.frame import FrameReader, RawFrame

LOG = logging.getLogger(__name__)

_READ_SIZE: Final = 262_144
PAUSE_SIZE: Final = 262_144
"""Unsent bytes at which we stop reading from a peer."""


class Outbox:
    """The connections that have something to write this turn, and one call at its end.

    It also lends its connections the one read buffer: a read is copied out of it before the
    next one starts, so thousands of idle connections cost no buffer each.
    """

    __slots__ = ("_dirty", "_loop", "_scheduled", "read_view")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._dirty: list[Link] = []
        self._scheduled = False
        self.read_view = memoryview(bytearray(_READ_SIZE))

    def add(self, link: "Link") -> None:
        """Remember that ``link`` has bytes to write before the turn is over."""
        self._dirty.append(link)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.flush)

    def hold(self) -> None:
        """Schedule nothing for what is added from now on: the caller will ``flush``."""
        self._scheduled = True

    def flush(self) -> None:
        """Write what waits, one write a connection."""
        self._scheduled = False
        dirty, self._dirty = self._dirty, []
        for link in dirty:
            link.flush()


class Link(asyncio.BufferedProtocol):
    """One connection; subclasses say what frames mean and what its end means."""

    def __init__(self, outbox: Outbox, *, write_buffer_max: int) -> None:
        self._outbox = outbox
        self._reader = FrameReader()
        self._out: list[bytes] = []
        self._out_size = 0
        self._write_buffer_max = write_buffer_max
        # Much is written at once, so that it is known what the peer does not take.
        self._room = min(PAUSE_SIZE, write_buffer_max)
        self._transport: asyncio.Transport | None = None
        self._closing = False
        self.write_paused = False
        self.activity = 0
        """Counts reads, and writes that the peer took: while it moves, the peer lives."""

    # What a subclass provides.

    def on_frames(self, frames: Sequence[RawFrame]) -> None:
        """Handle the complete frames of one read."""
        raise NotImplementedError

    def on_bad_frame(self, error: BadFrame) -> None:
        """Learn that the peer sent no frame; the connection is closed right after."""
        raise NotImplementedError

    @property
    def is_closing(self) -> bool:
        """True when nothing more can be sent."""
        return self._closing

    @property
    def unsent_size(self) -> int:
        """Bytes that the peer has not taken yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    @property
    def waiting_size(self) -> int:
        """Bytes of an unfinished frame."""
        return self._reader.waiting_size

    # asyncio calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=PAUSE_SIZE)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Give asyncio the buffer to read into."""
        # Not the bytearray: under TLS asyncio writes to slices of it, which must not be copies.
        return self._outbox.read_view

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes of one read."""
        if self._closing:
            return
        self.activity += 1
        try:
            frames = self._reader.feed(bytes(self._outbox.read_view[:nbytes]))
        except BadFrame as error:
            self.on_bad_frame(error)
            self.close()
            return
        self.on_frames(frames)

    def pause_writing(self) -> None:
        """Stop reading from a peer that does not take what it asked for."""
        self.write_paused = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        self.write_paused = False
        self._room = min(PAUSE_SIZE, self._write_buffer_max)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # What the owner of a connection calls.

    def send(self, data: bytes) -> None:
        """Queue ``data``; it leaves with all else of this turn. Dropped once closing."""
        if self._closing:
            return
        if not self._out:
            self._outbox.add(self)
        self._out.append(data)
        self._out_size += len(data)
        if self._out_size > self._room:
            self.flush()

    def send_alone(self, data: bytes) -> None:
        """Send ``data`` now, unless something waits before it: for who sends nothing else.

        That spares a turn of the loop, which is a good part of what a lone request takes.
        """
        if self._out or self._closing:
            self.send(data)
        else:
            self._out.append(data)
            self.flush()

    def flush(self) -> None:
        """Hand the queue to the transport, and cut the connection off when too much waits."""
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
        """Send what is queued, then close."""
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
