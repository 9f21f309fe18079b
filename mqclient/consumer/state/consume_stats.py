"""Rates of a consumer by topic, as ``mqadmin group running`` shows them.

    pull 12 ms, 32 messages    consume 3 ms, 1 message ok
    └── sums and counts of the last 60 s (failures: of the last hour)

A window consists of six slices of 10 s, as in Java, so a rate is at most 10 s old.

Rule: this module sends no requests and reads no clock; its callers pass the time.

Source: client/stat/ConsumerStatsManager.java, common/stats/StatsItem.java (4.9.7).
"""

from collections import deque
from typing import Final

from remoting.bodies import ConsumeStatus

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
SLICES: Final = 6


class _Window:
    """The sum and the count of values in the last ``length_ms``."""

    def __init__(self, length_ms: int) -> None:
        self._slice_ms = length_ms // SLICES
        self._length_ms = length_ms
        self._slices: deque[list[int]] = deque()

    def add(self, value: int, *, now_ms: int) -> None:
        start_ms = now_ms - now_ms % self._slice_ms
        if not self._slices or self._slices[-1][0] < start_ms:
            self._slices.append([start_ms, 0, 0])
            self._drop(now_ms)
        last = self._slices[-1]
        last[1] += value
        last[2] += 1

    def sums(self, now_ms: int) -> tuple[int, int]:
        self._drop(now_ms)
        return sum(part[1] for part in self._slices), sum(part[2] for part in self._slices)

    def _drop(self, now_ms: int) -> None:
        while self._slices and self._slices[0][0] <= now_ms - self._length_ms:
            self._slices.popleft()


class TopicStats:
    """The rates of one topic."""

    def __init__(self) -> None:
        self._pulls = _Window(MINUTE_MS)
        self._pulled = _Window(MINUTE_MS)
        self._consumed = _Window(MINUTE_MS)
        self._ok = _Window(MINUTE_MS)
        self._failed = _Window(MINUTE_MS)
        self._failed_hour = _Window(HOUR_MS)

    def pulled(self, *, elapsed_ms: int, message_count: int, now_ms: int) -> None:
        """Count a pull that found messages."""
        self._pulls.add(elapsed_ms, now_ms=now_ms)
        self._pulled.add(message_count, now_ms=now_ms)

    def consumed(self, *, elapsed_ms: int, ok_count: int, failed_count: int, now_ms: int) -> None:
        """Count a call of a listener.

        Args:
            elapsed_ms: how long the call took.
            ok_count: how many messages it consumed.
            failed_count: how many messages failed.
            now_ms: the time, in ms since 1970.
        """
        self._consumed.add(elapsed_ms, now_ms=now_ms)
        if ok_count:
            self._ok.add(ok_count, now_ms=now_ms)
        if failed_count:
            self._failed.add(failed_count, now_ms=now_ms)
            self._failed_hour.add(failed_count, now_ms=now_ms)

    def status(self, now_ms: int) -> ConsumeStatus:
        """Return the rates for ``GET_CONSUMER_RUNNING_INFO``."""
        return ConsumeStatus(
            pull_rt=_mean(self._pulls, now_ms),
            pull_tps=_rate(self._pulled, now_ms),
            consume_rt=_mean(self._consumed, now_ms),
            consume_ok_tps=_rate(self._ok, now_ms),
            consume_failed_tps=_rate(self._failed, now_ms),
            consume_failed_msgs=self._failed_hour.sums(now_ms)[0],
        )


def _mean(window: _Window, now_ms: int) -> float:
    total, count = window.sums(now_ms)
    return total / count if count else 0.0


def _rate(window: _Window, now_ms: int) -> float:
    return window.sums(now_ms)[0] * 1000 / MINUTE_MS
