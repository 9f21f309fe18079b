"""Where servers take the time from.

    now_ms      the wall clock: what is written into messages and files; people may set it
    steady_ms   goes on by itself, whatever the wall clock is set to: how long something took

Rule: no core reads the clock; ``now_ms`` is an argument of every call, and only an
``app`` asks a :class:`Clock`. Tests hand in one that they move by hand.
"""

import time
from typing import Final, NamedTuple, Protocol

# The one that goes on while the machine sleeps, where there is one.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_TOGETHER_MS: Final = 20
_TRIES: Final = 5


class Clock(Protocol):
    """Tells the time."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 (UTC)."""
        ...

    def steady_ms(self) -> int:
        """Return milliseconds since some moment; never set forward or back."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 (UTC)."""
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        """Return milliseconds since the machine was started."""
        return time.clock_gettime_ns(_STEADY) // 1_000_000


class Times(NamedTuple):
    """Both clocks at one moment."""

    now_ms: int
    steady_ms: int


def read_together(clock: Clock) -> Times:
    """Return both clocks, read with as good as no time between."""
    for _ in range(_TRIES):
        steady_ms = clock.steady_ms()
        times = Times(clock.now_ms(), steady_ms)
        # A process that was stopped between the two would look like a clock that was set.
        if clock.steady_ms() - steady_ms <= _TOGETHER_MS:
            break
    return times
