"""Where servers take the time from.

Rule: no core reads the clock; ``now_ms`` is an argument of every call, and only an
``app`` asks a :class:`Clock`. Tests hand in one that they move by hand.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the wall-clock time."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 (UTC)."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970 (UTC)."""
        return time.time_ns() // 1_000_000
