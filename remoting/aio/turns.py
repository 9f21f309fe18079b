"""Shares each turn of the event loop among connections that have more work than fits into it.

    bytes arrive ──> add(worker) ── time left in this turn? ── yes ──> worker.work(end_s)
                                       └─ no ──> the queue ── next turn, oldest first

A worker does a slice of its work until the clock passes ``end_s``, and says whether more is left;
then it goes to the end of the queue. So a turn takes TURN_S and one slice at most, however many
connections send, and each of them gets its share.

Rule: a slice checks the clock after each piece of work whose length a peer chooses. What arrives
while others wait goes behind them.

Source: ours; asyncio calls every connection that is readable once in a turn, for as long as it
likes.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

LOG = logging.getLogger(__name__)

TURN_S: Final = 0.004
"""How long the workers of a process may work in one turn of its loop."""
SLICE_S: Final = 0.001
"""How long one worker may work before the next one has its slice."""


class Worker(Protocol):
    """Something that peers can give more work than fits into a turn."""

    def work(self, end_s: float) -> bool:
        """Work until the clock of the turns passes ``end_s``; return whether more is left."""


class Turns:
    """The time of one event loop that its connections share.

    Args:
        now_s: a clock that is never set.
    """

    def __init__(self, now_s: Callable[[], float] = time.perf_counter) -> None:
        self.now_s = now_s
        self._queue: deque[Worker] = deque()
        self._end_s = 0.0
        """When the work of this turn ends; 0.0 before it begins."""
        self.is_working = False
        """Whether a worker has its slice now."""

    @property
    def waiting_count(self) -> int:
        """The workers that wait for a slice."""
        return len(self._queue)

    def add(self, worker: Worker) -> None:
        """Let ``worker`` work now if this turn has time left, and otherwise in its order.

        A worker that waits already must not be added again.
        """
        if not self._end_s:
            self._end_s = self.now_s() + TURN_S
            asyncio.get_running_loop().call_soon(self._next_turn)
        self._queue.append(worker)
        if len(self._queue) == 1 and not self.is_working:
            self._work()

    def _next_turn(self) -> None:
        self._end_s = 0.0
        if self._queue:
            self._end_s = self.now_s() + TURN_S
            asyncio.get_running_loop().call_soon(self._next_turn)
            self._work()

    def _work(self) -> None:
        self.is_working = True
        now_s = self.now_s()
        try:
            while self._queue and now_s < self._end_s:
                worker = self._queue.popleft()
                try:
                    if worker.work(min(now_s + SLICE_S, self._end_s)):
                        self._queue.append(worker)
                except Exception:
                    LOG.exception("%s: its work is given up", worker)
                now_s = self.now_s()
        finally:
            self.is_working = False


class PacedCalls:
    """Calls functions one after another in slices, for events that may come by the thousands.

    Args:
        turns: the time that the calls share with other work.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._calls: deque[Callable[[], None]] = deque()
        self._is_queued = False

    def add(self, call: Callable[[], None]) -> None:
        """Call a function soon."""
        self._calls.append(call)
        if not self._is_queued:
            self._is_queued = True
            self._turns.add(self)

    def work(self, end_s: float) -> bool:
        """Call functions until the clock passes ``end_s``; return whether some are left."""
        while self._calls:
            try:
                self._calls.popleft()()
            except Exception:
                LOG.exception("a call that was put off failed")
            if self._turns.now_s() >= end_s:
                break
        self._is_queued = bool(self._calls)
        return self._is_queued
