"""How far the wall clock is ahead of the steady one, and was lately: a clock that was set.

    wall    10:00:00  10:00:01 │ 11:00:01  11:00:02      somebody sets it an hour forward
    steady       100       101 │      101       102
    skew           a         a │   a + 1h    a + 1h

    a message stored at 10:00:01 was stored at steady 101, and one of 11:00:02 at 102

Rule: a message was stored just now, so of the skews that there were lately the right one is
that by which it was stored last and not in the future; where none is, it was stored now. A
step of the wall clock counts from a tenth of a second on; what it runs too fast or slow the
steady clock does too.
"""

from collections.abc import Callable
from typing import Final

from server.runtime.clock import Times

STEP_MS: Final = 100
LATELY_MS: Final = 600_000
"""Longest time from when a message got its store time to when it is dispatched."""
_MARGIN_MS: Final = 250


class ClockSkew:
    """The skews (ms) of one running broker, the one of now last."""

    def __init__(self, times: Times) -> None:
        self.on_step: Callable[[int], None] = lambda step_ms: None
        """Called with the ms that the wall clock was set by."""
        self._skews = [times.now_ms - times.steady_ms]
        self._ended_ms: list[int] = []
        """When each but the last one ended, by the steady clock."""

    @property
    def now_ms(self) -> int:
        """The skew of now."""
        return self._skews[-1]

    def observe(self, times: Times) -> None:
        """Look at both clocks; to be called many times a second."""
        skew_ms = times.now_ms - times.steady_ms
        step_ms = skew_ms - self._skews[-1]
        if abs(step_ms) >= STEP_MS:
            self._ended_ms.append(times.steady_ms)
            self._skews.append(skew_ms)
            self.on_step(step_ms)
        while self._ended_ms and times.steady_ms - self._ended_ms[0] > LATELY_MS:
            del self._ended_ms[0], self._skews[0]

    def of(self, store_ms: int, *, steady_ms: int) -> int:
        """Return the skew by which a message got its store time.

        Args:
            steady_ms: now; the message was just dispatched.
        """
        until_ms = steady_ms + _MARGIN_MS
        fits = [skew_ms for skew_ms in self._skews if store_ms - skew_ms <= until_ms]
        return min(fits, default=store_ms - steady_ms)
