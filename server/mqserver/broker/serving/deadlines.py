"""One timer for the earliest deadline of the requests that wait for messages.

a pull or pop is held ── expect(deadline) ── the earliest one is due ──> expired(now_ms)
"""

import asyncio
from collections.abc import Callable

from mqserver.runtime.clock import Clock


class DeadlineTimer:
    """Calls back at the earliest deadline.

    Args:
        clock: the clock that the deadlines are of.
        expired: called with ``now_ms``; it calls ``expect`` with the next deadline.
    """

    def __init__(self, clock: Clock, expired: Callable[[int], None]) -> None:
        self._clock = clock
        self._expired = expired
        self._handle: asyncio.TimerHandle | None = None
        self._deadline_ms = 0

    def expect(self, deadline_ms: int) -> None:
        """Set the timer to a deadline, in ms since 1970, unless an earlier one is set."""
        if self._handle is not None:
            if self._deadline_ms <= deadline_ms:
                return
            self._handle.cancel()
        self._deadline_ms = deadline_ms
        wait_s = max(0, deadline_ms - self._clock.now_ms()) / 1000
        self._handle = asyncio.get_running_loop().call_later(wait_s, self._fire)

    def _fire(self) -> None:
        self._handle = None
        # A timer may fire a little early; adding one ms avoids a second timer.
        self._expired(self._clock.now_ms() + 1)

    def close(self) -> None:
        """Stop calling back."""
        if self._handle is not None:
            self._handle.cancel()
