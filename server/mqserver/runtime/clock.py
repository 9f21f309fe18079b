"""The clocks of a server.

    now_ms      the wall clock, for times in messages and files; an operator may set it
    steady_ms   a clock that is never set, for measuring durations

Rule: no core reads a clock; ``now_ms`` is an argument of every call, and only an ``app`` asks
a :class:`Clock`, so that tests can pass a clock that they advance themselves.
"""

import time
from typing import Final, NamedTuple, Protocol

# CLOCK_BOOTTIME also counts while the machine sleeps; not every system has it.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_TOGETHER_MS: Final = 20
_TRIES: Final = 5


class Clock(Protocol):
    """A source of wall clock time and steady time."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 (UTC)."""
        ...

    def steady_ms(self) -> int:
        """Return milliseconds since some fixed moment; this clock is never set."""
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
    """Return both clocks, read at practically the same moment."""
    for _ in range(_TRIES):
        steady_ms = clock.steady_ms()
        times = Times(clock.now_ms(), steady_ms)
        # A pause of the process between the two reads would look like a change of the wall clock.
        if clock.steady_ms() - steady_ms <= _TOGETHER_MS:
            break
    return times
