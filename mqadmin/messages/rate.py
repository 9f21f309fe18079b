"""``--rate``: so many a second at most.

Rule: turns are spread evenly, and a pause is not caught up with: a broker that was slow for a
minute is not hit by that minute's messages at once.
"""

import asyncio
from time import perf_counter


class RateLimit:
    """Holds whoever awaits ``turn`` back.

    Args:
        rate: turns a second; None does not hold back.
    """

    def __init__(self, rate: float | None) -> None:
        self._pause_s = 1 / rate if rate else 0.0
        self._next_s = 0.0

    async def turn(self) -> None:
        """Wait for the next turn."""
        if not self._pause_s:
            return
        at_s = max(self._next_s, perf_counter())
        self._next_s = at_s + self._pause_s
        await asyncio.sleep(at_s - perf_counter())
