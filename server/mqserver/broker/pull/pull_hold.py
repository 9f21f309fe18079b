"""Hold pull requests until a message arrives: long polling.

    a pull finds nothing and may wait -> add(pull)
    a message is dispatched           -> arrived(...)  -> wake(): the pulls whose filter accepts it
    the topic is deleted              -> drop_topic(.) -> wake(): all pulls of the topic
    the suspend timeout is over       -> expired(now)  -> answered with what there is

Rule: a held pull is answered at most once: when a message comes that its filter accepts, when
its topic is deleted, or at its deadline (exact here; Java looks every 5 s). It is forgotten when
its connection closes. A message that its filter rejects leaves it waiting, as in Java. Events in
a queue are noted at once and processed in slices, in order, because very many pulls may wait in
one queue; ``wake`` and ``expired`` do no more than about the work they are given.

Source: broker/longpolling/PullRequestHoldService.java.
"""

import heapq
import logging
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from mqserver.broker.clients.consumer_offsets import LONG_MAX
from mqserver.broker.config import HELD_COUNT_MAX

LOG = logging.getLogger(__name__)
WAIT_MS_MAX: Final = 120_000
"""Longest wait in ms; a connection that is silent for so long is closed anyway."""
OWNED_COUNT_MAX: Final = 10_000
"""Pulls of one connection that may wait; a client has one for each queue it reads."""
NEWS_COUNT_MAX: Final = 1_024
"""Events that may be queued for ``wake``. Beyond that, new messages of a queue are merged into
one event without a filter test: it wakes every pull of the queue once."""
ANSWER_WORK: Final = 100
"""Cost of answering a pull, in units of about a microsecond."""
SLICE_WORK: Final = 2_000
"""Work of one slice, before other requests can run, in the same units."""
LOOKS_MAX: Final = 1_000
"""Deadlines that one call looks at."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class HeldPull(Generic[T]):
    """One held pull; ``pull`` is whatever the caller needs to answer it."""

    topic: str
    queue_id: int
    queue_offset: int
    """Where it wants to read: a message at this queue offset or a higher one can wake it."""
    codes: frozenset[int] | None
    """The tag codes of messages that are wanted; None accepts all."""
    deadline_ms: int
    owner: Hashable
    """The connection, for ``drop_owner``."""
    pull: T
    wants: Callable[[Mapping[str, str]], bool] | None = None
    """Tells whether a message with these properties is wanted; None accepts all."""
    wants_work: int = 0
    """Cost of calling ``wants``, in units of about a microsecond."""
    answer_work: int = ANSWER_WORK
    """Cost of answering it, in the same units."""
    is_waiting: bool = True
    """False when it is answered, or its connection has closed."""


@dataclass(slots=True)
class _News(Generic[T]):
    """An event in one queue, and the held pulls that were not tested against it yet."""

    topic: str
    queue_id: int
    queue_offset: int
    tags_code: int | None
    """None wakes every pull without a filter test."""
    properties: Callable[[], Mapping[str, str]]
    known: Mapping[str, str] | None = None
    """The properties, once they were read."""
    unaware: Iterator[HeldPull[T]] | None = None
    """The pulls that are left to test; None before the first test."""

    def suits(self, held: HeldPull[T]) -> bool:
        if self.queue_offset < held.queue_offset:
            return False
        if self.tags_code is None:
            return True
        if held.codes is not None and self.tags_code not in held.codes:
            return False
        if held.wants is None:
            return True
        try:
            if self.known is None:
                self.known = self.properties()
            return held.wants(self.known)
        except Exception:
            # The pull reads the message itself and gets the error as its answer.
            LOG.exception(
                "cannot test message %d of %s queue %d against the filter of a held pull",
                self.queue_offset, self.topic, self.queue_id,
            )  # fmt: skip
            return True


class HeldPulls(Generic[T]):
    """Every held pull of one broker.

    Args:
        count_max: how many pulls may wait in all.
    """

    def __init__(self, *, count_max: int = HELD_COUNT_MAX) -> None:
        self._count_max = count_max
        self._topics: dict[str, dict[int, dict[HeldPull[T], None]]] = {}
        self._owners: dict[Hashable, dict[HeldPull[T], None]] = {}
        # The pulls of each deadline. A deadline without pulls stays until its time, so that the
        # heap has every deadline once. Deadlines count as if the clock had never been changed.
        self._by_deadline: dict[int, dict[HeldPull[T], None]] = {}
        self._deadlines: list[int] = []
        self._clock_step_ms = 0
        self._over: deque[HeldPull[T]] = deque()
        self._news: deque[_News[T]] = deque()
        self._merged: dict[tuple[str, int], _News[T]] = {}
        self._waiting_count = 0

    def __len__(self) -> int:
        return self._waiting_count

    def has_room(self, owner: Hashable) -> bool:
        """Return whether one more pull of a connection may wait.

        A connection may hold at most as many pulls as there are free places, so that a few
        connections with many pulls cannot keep others from waiting.
        """
        free_count = self._count_max - self._waiting_count
        return len(self._owners.get(owner, ())) < min(OWNED_COUNT_MAX, free_count)

    def add(self, held: HeldPull[T]) -> None:
        """Add a pull to those that wait."""
        self._topics.setdefault(held.topic, {}).setdefault(held.queue_id, {})[held] = None
        self._owners.setdefault(held.owner, {})[held] = None
        held.deadline_ms -= self._clock_step_ms
        pulls = self._by_deadline.get(held.deadline_ms)
        if pulls is None:
            pulls = self._by_deadline[held.deadline_ms] = {}
            heapq.heappush(self._deadlines, held.deadline_ms)
        pulls[held] = None
        self._waiting_count += 1

    def is_waited_for(self, topic: str, queue_id: int) -> bool:
        """Return whether a pull waits for this queue."""
        queues = self._topics.get(topic)
        return queues is not None and queue_id in queues

    def arrived(
        self,
        topic: str,
        queue_id: int,
        *,
        queue_offset: int,
        tags_code: int,
        properties: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Note a dispatched message; ``wake`` finds the pulls that it wakes.

        Args:
            topic: topic of the message.
            queue_id: queue of the message.
            queue_offset: of the message, in entries.
            tags_code: tag code of its consume queue entry.
            properties: reads its properties; called once, and only if a pull filters by them.
        """
        if not self.is_waited_for(topic, queue_id):
            return
        news: _News[T]
        if len(self._news) < NEWS_COUNT_MAX:
            news = _News(topic, queue_id, queue_offset, tags_code, properties)
            self._news.append(news)
            return
        merged = self._merged.get((topic, queue_id))
        if merged is not None:
            merged.queue_offset = queue_offset
            return
        news = _News(topic, queue_id, queue_offset, None, properties)
        self._merged[topic, queue_id] = news
        self._news.append(news)

    def drop_topic(self, topic: str) -> None:
        """Note that a topic was deleted, so that ``wake`` returns all of its pulls."""
        for queue_id in self._topics.get(topic, ()):
            self._news.append(_News(topic, queue_id, LONG_MAX, None, dict))

    @property
    def has_news(self) -> bool:
        """Return whether ``wake`` has something to do."""
        return bool(self._news)

    def wake(self, *, work_max: int = SLICE_WORK) -> list[HeldPull[T]]:
        """Remove and return the next pulls that are woken by the events that were noted.

        Args:
            work_max: limit for finding and answering them, in units of about a microsecond; the
                last pull may exceed it.
        """
        woken: list[HeldPull[T]] = []
        while self._news:
            news = self._news[0]
            if news.unaware is None:
                self._merged.pop((news.topic, news.queue_id), None)
                waiters = self._topics.get(news.topic, {}).get(news.queue_id, {})
                news.unaware = iter(list(waiters))
            for held in news.unaware:
                work_max -= 1
                if held.is_waiting:
                    if news.tags_code is not None:
                        work_max -= held.wants_work
                    if news.suits(held):
                        self._let_go(held)
                        woken.append(held)
                        work_max -= held.answer_work
                if work_max <= 0:
                    return woken
            self._news.popleft()
            work_max -= 1
            if work_max <= 0:
                break
        return woken

    def expired(self, now_ms: int, *, work_max: int = SLICE_WORK) -> list[HeldPull[T]]:
        """Remove and return the next pulls whose time is over.

        Args:
            work_max: limit for answering them, in units of about a microsecond; the last pull
                may exceed it.
        """
        over: list[HeldPull[T]] = []
        look_count = 0
        while work_max > 0:
            if self._over:
                held = self._over.popleft()
                work_max -= 1
                if held.is_waiting:
                    self._let_go(held)
                    over.append(held)
                    work_max -= held.answer_work
                continue
            is_due = self._deadlines and self._deadlines[0] <= now_ms - self._clock_step_ms
            if not is_due or look_count >= LOOKS_MAX:
                break
            look_count += 1
            self._over.extend(self._by_deadline.pop(heapq.heappop(self._deadlines)))
        return over

    def next_deadline_ms(self) -> int | None:
        """Return when ``expired`` has to be called next, in ms; None when no pull waits.

        After very many pulls were answered early it can be a deadline that has no pulls left.
        """
        if self._over:
            return self._over[0].deadline_ms + self._clock_step_ms
        for _ in range(LOOKS_MAX):
            if not self._deadlines or self._by_deadline[self._deadlines[0]]:
                break
            del self._by_deadline[heapq.heappop(self._deadlines)]
        return self._deadlines[0] + self._clock_step_ms if self._deadlines else None

    def clock_set(self, step_ms: int) -> None:
        """Shift all deadlines by ``step_ms``, by which the clock was changed."""
        self._clock_step_ms += step_ms

    def drop_owner(self, owner: Hashable) -> None:
        """Forget the pulls of a connection that closed."""
        for held in self._owners.pop(owner, ()):
            self._let_go(held)

    def _let_go(self, held: HeldPull[T]) -> None:
        held.is_waiting = False
        self._waiting_count -= 1
        queues = self._topics[held.topic]
        waiters = queues[held.queue_id]
        del waiters[held]
        if not waiters:
            del queues[held.queue_id]
            if not queues:
                del self._topics[held.topic]
        owned = self._owners.get(held.owner)
        if owned is not None:
            del owned[held]
            if not owned:
                del self._owners[held.owner]
        pulls = self._by_deadline.get(held.deadline_ms)
        if pulls is not None:
            pulls.pop(held, None)
