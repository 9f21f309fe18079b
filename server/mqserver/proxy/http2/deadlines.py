"""The deadlines of calls, with one timer for all of them.

    add ── bucket of STEP_S ──> the timer of the first bucket ──> ``late`` of each call in it
      └── remove

Nearly every call ends long before its deadline, so both acts are cheap: an entry in a table.

Rule: a call ends up to STEP_S late, and never early, because a client counts on its whole deadline.
A call that is removed leaves no reference behind.

Source: ours; grpc-java has a timer for each call.
"""

import asyncio
import heapq
from typing import Final, Protocol

STEP_S: Final = 0.02
"""Deadlines within one step share a bucket; a client also watches its own time."""
SPARE: Final = 64
"""How many numbers of removed buckets may be left in the heap, beyond the number of buckets."""


class Limited(Protocol):
    """A call, as its deadline sees it."""

    def late(self) -> None:
        """Handle the end of the deadline."""


class Deadlines:
    """The deadlines of the calls of one server."""

    def __init__(self) -> None:
        self._buckets: dict[int, dict[Limited, None]] = {}
        self._heap: list[int] = []
        """The numbers of the buckets, and of some that were removed."""
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0
        """The bucket that the timer waits for."""

    def add(self, call: Limited, deadline_s: float) -> int:
        """Watch a deadline, by the clock of the loop; return the bucket for ``remove``."""
        bucket = int(deadline_s / STEP_S) + 1
        calls = self._buckets.get(bucket)
        if calls is None:
            calls = self._buckets[bucket] = {}
            heapq.heappush(self._heap, bucket)
            if len(self._heap) > 2 * len(self._buckets) + SPARE:
                self._heap = sorted(self._buckets)
            if self._timer is None or bucket < self._due:
                self._wait_for(bucket)
        calls[call] = None
        return bucket

    def remove(self, call: Limited, bucket: int) -> None:
        """Stop watching a deadline."""
        calls = self._buckets.get(bucket)
        if calls is not None:
            calls.pop(call, None)
            if not calls:
                del self._buckets[bucket]

    def close(self) -> None:
        """Stop watching all deadlines."""
        self._buckets.clear()
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait_for(self, bucket: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = bucket
        self._timer = asyncio.get_running_loop().call_at(bucket * STEP_S, self._fire)

    def _fire(self) -> None:
        self._timer = None
        # A timer may fire a tick early.
        due = max(self._due, int(asyncio.get_running_loop().time() / STEP_S))
        while self._heap and self._heap[0] <= due:
            for call in self._buckets.pop(heapq.heappop(self._heap), ()):
                call.late()
        while self._heap and self._heap[0] not in self._buckets:
            heapq.heappop(self._heap)
        if self._heap:
            self._wait_for(self._heap[0])
