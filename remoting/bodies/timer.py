"""Bodies of RocketMQ 5 about timer messages.

Source: store/timer/TimerMetrics.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class TimerMetric(Body):
    """How many messages of one topic wait in the timer wheel."""

    count: int = 0
    time_stamp: int = 0
    """When the count changed, in ms since 1970."""


@dataclass(slots=True, kw_only=True)
class TimerMetrics(Body):
    """The messages that wait in the timer wheel, by their topic (request code 61)."""

    timing_count: dict[str, TimerMetric] = field(default_factory=dict)
