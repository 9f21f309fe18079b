"""The deadlines of calls, with one timer for all of them.

    add ── bucket of STEP_S ──> the timer of the first bucket ──> ``late`` of each call in it
      └── remove

Nearly every call ends long before its deadline, so both acts cost little: an entry in a table.

Rule: a call is late by up to STEP_S, and never early. What is removed leaves nothing behind.

Source: ours; grpc-java has a timer for each call.
"""

import asyncio
import heapq
from typing import Final, Protocol

STEP_S: Final = 0.02
"""What lies within one step shares a bucket; a client counts its own time as well."""
SPARE: Final = 64
"""So many numbers of buckets that are gone may be left in the heap, beside as many as there are."""


class Limited(Protocol):
    """A call, as its deadline sees it."""

    def late(self) -> None:
        """Take note that the deadline has passed."""


class Deadlines:
    """The deadlines of the calls of one server."""

    def __init__(self) -> None:
        self._buckets: dict[int, dict[Limited, None]] = {}
        self._heap: list[int] = []
        """The numbers of the buckets, also of some that are gone."""
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
        """Watch a deadline no longer."""
        calls = self._buckets.get(bucket)
        if calls is not None:
            calls.pop(call, None)
            if not calls:
                del self._buckets[bucket]

    def close(self) -> None:
        """Watch nothing any more."""
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
