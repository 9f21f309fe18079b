"""The system clock counts in milliseconds."""

import time

from mqserver.runtime.clock import SystemClock, read_together


def test_the_clock_tells_the_time_of_this_machine(monkeypatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)

    assert SystemClock().now_ms() == 1_700_000_000_123


def test_the_steady_clock_goes_on_whatever_the_wall_clock_says(monkeypatch) -> None:
    clock = SystemClock()
    before_ms = clock.steady_ms()
    monkeypatch.setattr(time, "time_ns", lambda: 0)

    assert clock.now_ms() == 0
    assert clock.steady_ms() >= before_ms > 0


class Interrupted:
    """A process that is stopped for a second between its first two looks."""

    def __init__(self) -> None:
        self.looks = 0

    def steady_ms(self) -> int:
        self.looks += 1
        return self.looks if self.looks == 1 else 1_000 + self.looks

    def now_ms(self) -> int:
        return 5_000_000 + self.looks + (self.looks > 1) * 1_000


def test_clocks_that_are_read_together_are_of_one_moment() -> None:
    times = read_together(Interrupted())

    assert times.now_ms - times.steady_ms == 5_000_000
