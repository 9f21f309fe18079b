"""The system clock counts in milliseconds."""

import time

from server.runtime.clock import SystemClock


def test_the_clock_tells_the_time_of_this_machine(monkeypatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)

    assert SystemClock().now_ms() == 1_700_000_000_123
