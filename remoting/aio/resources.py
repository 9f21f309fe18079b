"""What the connections of a process share: descriptors, memory for bytes in flight, and time.

    Places   descriptors for connections; when none is left, a new connection is closed at once
    Budget   bytes of unfinished frames, of answers that a peer has not read, and of what is
             kept for a connection (``ServerConn.count_held``); when it is used up, connections are
             closed, first those that hold most of the address that holds most
    Turns    the time of the event loop; what does not fit into a turn waits for the next one
    Starts   TLS handshakes and gRPC calls, a few of which start in a turn
    pieces   work for gRPC calls whose length their clients choose, a few pieces in a turn

Rule: all ports of a process share one object of each, since descriptors and memory belong to the
process. A connection that holds little is never closed for one that holds much. A holder reports
its size when that grows; before a connection is closed, its current size is asked again.

Source: ours; Java's broker accepts everything until its process has no descriptors or no memory.
"""

import heapq
import logging
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, Protocol

from remoting.aio.starts import (
    CALLS_A_TURN,
    HANDSHAKES_A_TURN,
    HANDSHAKES_WAITING,
    Pieces,
    Starts,
)
from remoting.aio.turns import Turns

LOG = logging.getLogger(__name__)

PLACES_MAX: Final = 65_536
IN_FLIGHT_SIZE_MAX: Final = 1 << 30
"""The limit of bytes in flight where the size of the memory is unknown."""
RELIEF: Final = 8
"""Connections are closed until an eighth of the budget is free, so that this happens rarely."""


class Holder(Protocol):
    """A connection or a client, as the budget sees it."""

    @property
    def ip(self) -> str:
        """The address to which its bytes are charged."""

    @property
    def held_size(self) -> int:
        """The bytes that it holds now."""

    def give_way(self) -> None:
        """Close, and hold nothing any more."""


class Budget:
    """The bytes in flight of a process.

    Args:
        size_max: the most bytes that may be held.
    """

    def __init__(self, size_max: int = IN_FLIGHT_SIZE_MAX) -> None:
        self.size_max = size_max
        self.used_size = 0
        """The bytes that are held, by the last report of each holder."""
        self._sizes: dict[Holder, int] = {}

    def charge(self, holder: Holder, size: int) -> None:
        """Note that ``holder`` now holds ``size`` bytes in all; this may close it."""
        self.used_size += size - self._sizes.pop(holder, 0)
        if size:
            self._sizes[holder] = size
            if self.used_size > self.size_max:
                self._relieve()

    def _relieve(self) -> None:
        """Close connections until there is room again."""
        sizes = {holder: holder.held_size for holder in self._sizes}
        self._sizes = {holder: size for holder, size in sizes.items() if size}
        self.used_size = sum(self._sizes.values())
        enough = self.size_max - self.size_max // RELIEF
        if self.used_size <= enough:
            return
        for holder in self._largest(self.used_size - enough):
            LOG.warning(
                "%s holds %d bytes in flight, and of %d in all there are too many: it is closed",
                holder, self._sizes[holder], self.size_max,
            )  # fmt: skip
            self.used_size -= self._sizes.pop(holder)
            holder.give_way()

    def _largest(self, size: int) -> list[Holder]:
        """Return the connections to close so that ``size`` bytes become free."""
        held: dict[str, int] = defaultdict(int)
        by_ip: dict[str, list[Holder]] = defaultdict(list)
        for holder in sorted(self._sizes, key=self._sizes.__getitem__):
            held[holder.ip] += self._sizes[holder]
            by_ip[holder.ip].append(holder)
        addresses = [(-of_ip, ip) for ip, of_ip in held.items()]
        heapq.heapify(addresses)
        holders: list[Holder] = []
        while size > 0:
            of_ip, ip = addresses[0]
            holder = by_ip[ip].pop()
            holders.append(holder)
            size -= self._sizes[holder]
            heapq.heapreplace(addresses, (of_ip + self._sizes[holder], ip))
        return holders


class Places:
    """The descriptors that connections of a process may take.

    Args:
        count_max: the most descriptors.
    """

    def __init__(self, count_max: int = PLACES_MAX) -> None:
        self.count_max = count_max
        self.count = 0

    def reserve(self) -> bool:
        """Reserve a place; return False if all of them are in use."""
        if self.count >= self.count_max:
            return False
        self.count += 1
        return True

    def give_back(self) -> None:
        """Give a place back."""
        self.count -= 1


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that all ports of one process share."""

    places: Places = field(default_factory=Places)
    budget: Budget = field(default_factory=Budget)
    turns: Turns = field(default_factory=Turns)
    handshakes: Starts = field(
        default_factory=lambda: Starts(HANDSHAKES_A_TURN, waiting_max=HANDSHAKES_WAITING)
    )
    calls: Starts = field(default_factory=lambda: Starts(CALLS_A_TURN))
    pieces: Pieces = field(default_factory=Pieces)
