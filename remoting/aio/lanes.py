"""Lets a few pieces of expensive work run at a time, and the addresses that wait in turn.

    async with lane.turn(ip):      at most ``count_max`` bodies at once
        ...                        the next one is of the next address that waits

Rule: an address with a thousand waiting requests delays another address by one of them.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairLane:
    """Places for expensive work.

    Args:
        count_max: how much of it runs at a time.
    """

    def __init__(self, count_max: int) -> None:
        self._free_count = count_max
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def waiting_count(self) -> int:
        """The work that waits for a place."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, ip: str) -> AsyncIterator[None]:
        """Wait for a place, and give it back at the end.

        Args:
            ip: the address for which the work is done.
        """
        await self._enter(ip)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, ip: str) -> None:
        if self._free_count and not self._waiting:
            self._free_count -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(ip, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            raise

    def _leave(self) -> None:
        """Give a place to the next address, and let that one wait behind the others."""
        while self._waiting:
            ip = next(iter(self._waiting))
            waiting = self._waiting.pop(ip)
            place = waiting.popleft()
            if waiting:
                self._waiting[ip] = waiting
            if not place.done():
                place.set_result(None)
                return
        self._free_count += 1
