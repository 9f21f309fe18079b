"""Limits on how much a command may show or check, and on how fast it may send.

Rule: turns of ``--rate`` are spread evenly, and a pause is not made up for, so that a broker that
was slow for a minute does not get that minute's messages at once.
"""

import asyncio
from time import perf_counter


class Limit:
    """An amount that is used up in parts; None means no limit."""

    def __init__(self, amount: int | None) -> None:
        self._left = amount

    def spend(self, amount: int = 1) -> bool:
        """Use up a part and return True; return False from the first time too little is left."""
        if self._left is None:
            return True
        is_enough = amount <= self._left
        self._left = self._left - amount if is_enough else -1
        return is_enough


class RateLimit:
    """Delays the callers of ``turn``, so that turns keep to a rate.

    Args:
        rate: turns a second; None does not delay.
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
