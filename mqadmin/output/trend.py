"""How a lag moves from tick to tick: rate, time to drain, and a line of small bars.

    samples of one queue    at_ms  lag  consumer_offset
                                \\    |     /
            rate (read a second), lag_rate (a second), drain_s = lag / -lag_rate

Rule: pure; each sample has its time. Numbers cover at most the last minute, so that a stopped
consumer shows as stopped. An offset that moves back (a reset) starts a new trend.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

WINDOW_MS: Final = 60_000
SAMPLES_MAX: Final = 32
"""Also the cells of a sparkline."""

STEPS: Final = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a queue: lag and offset in entries."""

    at_ms: int
    lag: int
    consumer_offset: int


@dataclass(slots=True)
class Trend:
    """The last samples of one queue, or of several added up."""

    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=SAMPLES_MAX))

    def add(self, at_ms: int, *, lag: int, consumer_offset: int) -> None:
        """Add a sample."""
        if self.samples and consumer_offset < self.samples[-1].consumer_offset:
            self.samples.clear()
        self.samples.append(Sample(at_ms, lag, consumer_offset))

    @property
    def lags(self) -> tuple[int, ...]:
        """Return the lags, oldest first."""
        return tuple(sample.lag for sample in self.samples)

    @property
    def rate(self) -> float | None:
        """Return entries read a second; None before the second sample."""
        return self._growth(lambda sample: sample.consumer_offset)

    @property
    def lag_rate(self) -> float | None:
        """Return how much the lag grows a second; below zero it shrinks."""
        return self._growth(lambda sample: sample.lag)

    @property
    def drain_s(self) -> float | None:
        """Return the seconds until nothing is left; None where the lag does not shrink."""
        if not self.samples:
            return None
        lag, rate = self.samples[-1].lag, self.lag_rate
        if lag <= 0:
            return 0.0
        return round(lag / -rate, 1) if rate is not None and rate < 0 else None

    def _growth(self, value_of: Callable[[Sample], int]) -> float | None:
        """Return how much a value grew a second, over the last minute."""
        if len(self.samples) < 2:
            return None
        last = self.samples[-1]
        recent = [sample for sample in self.samples if last.at_ms - sample.at_ms <= WINDOW_MS]
        first = recent[0] if len(recent) > 1 else self.samples[-2]
        seconds = (last.at_ms - first.at_ms) / 1000
        return round((value_of(last) - value_of(first)) / seconds, 3) if seconds > 0 else None


def sparkline(values: Sequence[float]) -> str:
    """Return one cell for each value: the lowest bar for 0, the highest for the largest."""
    top = max(values, default=0)
    if top <= 0:
        return STEPS[0] * len(values)
    last = len(STEPS) - 1
    return "".join(
        STEPS[0] if value <= 0 else STEPS[max(1, round(value / top * last))] for value in values
    )
