"""Keeping away from brokers that answer late or not at all (sendLatencyFaultEnable).

    a send took 600 ms --> its broker is left out for 30 s, as long as there is another
               2 s         2 min          3 s   3 min         failed: as if it took 30 s

Rule: pure; time is given. When every broker is left out, the best of them is taken.

Source: client/latency/MQFaultStrategy.java, LatencyFaultToleranceImpl.java (4.9.7).
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from mqclient.producer.queue_selector import RoundRobin
from remoting.bodies import MessageQueue

LATENCY_MS: Final = (50, 100, 550, 1000, 2000, 3000, 15_000)
AWAY_MS: Final = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
FAILED_MS: Final = 30_000
"""A send that failed counts as one that took so long."""


class _Fault(NamedTuple):
    latency_ms: int
    until_ms: int


class Faults:
    """What is known of the brokers of one producer."""

    def __init__(self) -> None:
        self._faults: dict[str, _Fault] = {}

    def sent(self, broker_name: str, *, elapsed_ms: int, failed: bool, now_ms: int) -> None:
        """Note how long a broker took."""
        counted_ms = FAILED_MS if failed else elapsed_ms
        place = bisect_right(LATENCY_MS, counted_ms) - 1
        away_ms = AWAY_MS[place] if place >= 0 else 0
        self._faults[broker_name] = _Fault(elapsed_ms, now_ms + away_ms)

    def available(self, broker_name: str, *, now_ms: int) -> bool:
        """Whether a broker is not left out now."""
        fault = self._faults.get(broker_name)
        return fault is None or now_ms >= fault.until_ms

    def pick(
        self, turns: RoundRobin, queues: Sequence[MessageQueue], *, now_ms: int
    ) -> MessageQueue:
        """Return the next queue of a broker that is not left out, else one of the best broker.

        Raises:
            BadRequest: there are no queues.
        """
        good = [queue for queue in queues if self.available(queue.broker_name, now_ms=now_ms)]
        if good or not queues:
            return turns.pick(good)
        best = min({queue.broker_name for queue in queues}, key=self._badness)
        return turns.pick([queue for queue in queues if queue.broker_name == best])

    def _badness(self, broker_name: str) -> tuple[int, int]:
        fault = self._faults[broker_name]
        return fault.latency_ms, fault.until_ms
