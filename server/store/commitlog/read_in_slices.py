"""Reads of much, done in pieces: who else waits goes first in between.

    with pieces:  read_merged ── nobody waits ───────────> all of it
                       └──────── somebody does ── OthersWait(begun) … later, with begun:
                                                  read_merged goes on where it was

Rule: what is begun is used only by a read that picks the same records, so whoever asks again
decides anew what is read. Few reads are begun at a time, and none for ever: after that they are
done at once, whoever waits.
"""

import threading
from collections.abc import Callable
from typing import Final

from server.store.results import Chunk

PIECE_SIZE: Final = 32_768
"""Bytes that are read, at least, before it is asked who waits."""
PAUSES_MAX: Final = 32
"""How often one read lets others go first; a single send takes three turns of the loop."""
BEGUN_MAX: Final = 16

Picked = list[tuple[int, int]]
"""Log offset and size of each record."""


class Begun:
    """What a read of many records has already."""

    __slots__ = ("buffer", "chunks", "group_count", "left", "pause_count", "picked")

    def __init__(self, picked: Picked, *, buffer: bytearray, pause_count: int = 0) -> None:
        self.picked = picked
        self.buffer = buffer
        self.chunks: list[Chunk] = []
        self.left = memoryview(buffer)
        """Room for what is not read yet."""
        self.group_count = 0
        self.pause_count = pause_count


class OthersWait(Exception):
    """A read that lets others go first; ``Pieces.may_go_on`` has to be asked afterwards."""

    def __init__(self, begun: Begun) -> None:
        super().__init__("others wait")
        self.begun = begun


class Pieces:
    """How one thread reads much: in pieces, between which others go first.

    Args:
        is_waited_for: tells whether somebody waits for this thread.
    """

    __slots__ = ("_begun", "_begun_count", "_spare", "is_waited_for")

    def __init__(self, is_waited_for: Callable[[], bool]) -> None:
        self.is_waited_for = is_waited_for
        self._begun: Begun | None = None
        self._begun_count = 0
        self._spare = bytearray()

    def __enter__(self) -> None:
        READING.pieces = self

    def __exit__(self, *exc: object) -> None:
        READING.pieces = None
        self._begun = None

    def begin(self, picked: Picked, *, size: int) -> Begun:
        """Return what there is already of these records, with room for ``size`` bytes in all."""
        known, self._begun = self._begun, None
        if known is not None and known.picked == picked:
            return known
        buffer, self._spare = self._spare, bytearray()
        if len(buffer) < size:
            buffer = bytearray(size)
        return Begun(picked, buffer=buffer, pause_count=0 if known is None else known.pause_count)

    def give_up(self, begun: Begun) -> None:
        """Take back the room of a read that comes to nothing."""
        self._spare = begun.buffer

    def let_others(self, begun: Begun) -> None:
        """Raise ``OthersWait`` if somebody is to go first."""
        has_room = begun.pause_count < PAUSES_MAX and self._begun_count < BEGUN_MAX
        if has_room and self.is_waited_for():
            self._begun_count += 1
            raise OthersWait(begun)

    def may_go_on(self, begun: Begun) -> bool:
        """Tell whether the next read may go on with ``begun``; if not, ask a turn later."""
        begun.pause_count += 1
        if begun.pause_count < PAUSES_MAX and self.is_waited_for():
            return False
        self._begun_count -= 1
        self._begun = begun
        return True


class Reading(threading.local):
    """How this thread reads."""

    pieces: Pieces | None = None


READING: Final = Reading()
