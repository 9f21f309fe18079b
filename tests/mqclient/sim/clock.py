"""An event loop with simulated time: waiting takes no time, and every run is the same.

Rule: whenever nothing is ready the clock jumps to the next timer. A loop that waits for
nothing at all is a deadlock, and says so.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

_T = TypeVar("_T")
START_MS = 1_700_000_000_000
RESOLUTION_S = 1e-9
"""A timer may be called that much early; a clock that stood still would never reach it."""


class _JumpingSelector(selectors.DefaultSelector):
    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("the simulation waits for nothing")
            self.now_s += max(RESOLUTION_S, timeout)
        return ready


class SimLoop(asyncio.SelectorEventLoop):
    """A loop on made-up time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s

    def now_ms(self) -> int:
        return START_MS + round(self._jumping.now_s * 1000)


def run(work: Coroutine[object, object, _T], loop: SimLoop) -> _T:
    """Run a coroutine to its end on made-up time."""
    try:
        return loop.run_until_complete(work)
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()
