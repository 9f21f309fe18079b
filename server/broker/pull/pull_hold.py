"""Pull requests that wait for messages: long polling.

    pull finds nothing, may wait     -> hold(topic, queue)
    a message is dispatched there    -> arrived(...)  -> wake(): those it suits are answered
    the topic is deleted             -> drop_topic(.) -> wake(): all of its pulls are answered
    the wait is over                 -> expired(now)  -> answered with what there is

Rule: a held pull is answered exactly once: by a message whose tag suits it, by its
deadline (exact here; Java looks every 5 s), or never when its connection closes. A
message that does not suit leaves it waiting, as in Java. What happens in a queue is noted at
once and worked off in slices, in the order in which it happened, because very many pulls
may wait in one queue; nothing here takes longer than the work it was given.

Source: broker/longpolling/PullRequestHoldService.java.
"""

import heapq
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from server.broker.clients.offsets import LONG_MAX
from server.broker.config import HELD_COUNT_MAX

WAIT_MS_MAX: Final = 120_000
"""Longest wait; a connection that is silent for so long is closed anyway."""
OWNED_COUNT_MAX: Final = 10_000
"""Pulls of one connection that may wait; a client has one for each queue it reads."""
NEWS_COUNT_MAX: Final = 1_024
"""Messages that wait until it is known whom they wake. Of further ones it is not asked whether
they suit: they wake every pull of their queue, once."""
ANSWER_WORK: Final = 100
"""What answering a pull costs, in units of some microsecond."""
SLICE_WORK: Final = 2_000
"""What may be done before others have their turn, in the same units."""
LOOKS_MAX: Final = 1_000
"""Deadlines without a pull that are passed over in one go."""

T = TypeVar("T")


class Held(Enum):
    """What became of a pull that waited."""

    WAITING = auto()
    ANSWERED = auto()
    FORGOTTEN = auto()
    """Its connection closed; nobody is left to answer."""


class Event(Enum):
    """What happens while a pull waits."""

    SUITED = auto()
    """A message came that it takes."""
    NOT_SUITED = auto()
    TIME_OVER = auto()
    TOPIC_DELETED = auto()
    CONNECTION_CLOSED = auto()


NEXT: Final = {
    (Held.WAITING, Event.SUITED): Held.ANSWERED,
    (Held.WAITING, Event.NOT_SUITED): Held.WAITING,
    (Held.WAITING, Event.TIME_OVER): Held.ANSWERED,
    (Held.WAITING, Event.TOPIC_DELETED): Held.ANSWERED,
    (Held.WAITING, Event.CONNECTION_CLOSED): Held.FORGOTTEN,
}
"""Nothing happens to a pull that does not wait: it is in no list any more."""


@dataclass(slots=True, eq=False)
class HeldPull(Generic[T]):
    """One waiting pull; ``pull`` is whatever the owner needs to answer it."""

    topic: str
    queue_id: int
    queue_offset: int
    """Where it wants to read: answered when something is at or behind it."""
    accepts: Callable[[int], bool] | None
    """Says whether a tag code suits; None takes all."""
    deadline_ms: int
    owner: Hashable
    """The connection, for ``drop_owner``."""
    pull: T
    wants: Callable[[Mapping[str, str]], bool] | None = None
    """Says whether a message with these properties suits; None takes all."""
    wants_work: int = 0
    """What asking ``wants`` costs, in units of some microsecond."""
    answer_work: int = ANSWER_WORK
    """What answering it costs, in the same units."""
    state: Held = Held.WAITING


@dataclass(slots=True)
class _News(Generic[T]):
    """Something that happened in one queue, and the pulls that have not heard of it yet."""

    event: Event
    topic: str
    queue_id: int
    queue_offset: int
    tags_code: int | None
    """None suits everybody."""
    properties: Callable[[], Mapping[str, str]]
    known: Mapping[str, str] | None = None
    """The properties, once they were asked for."""
    unaware: Iterator[HeldPull[T]] | None = None
    """None before the first one is told."""

    def suits(self, held: HeldPull[T]) -> bool:
        if self.queue_offset < held.queue_offset:
            return False
        if self.tags_code is None:
            return True
        if held.accepts is not None and not held.accepts(self.tags_code):
            return False
        if held.wants is None:
            return True
        if self.known is None:
            self.known = self.properties()
        return held.wants(self.known)


class Hold(Generic[T]):
    """Every waiting pull of one broker.

    Args:
        count_max: how many pulls may wait in all.
    """

    def __init__(self, *, count_max: int = HELD_COUNT_MAX) -> None:
        self._count_max = count_max
        self._topics: dict[str, dict[int, dict[HeldPull[T], None]]] = {}
        self._owners: dict[Hashable, dict[HeldPull[T], None]] = {}
        # The pulls of each deadline. One without pulls stays until its time, so that the heap
        # has every deadline once. Deadlines are as if the clock had never been set.
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
        """Tell whether one more pull of a connection may wait.

        A connection may take as many places as it leaves free, so that no number of pulls of
        a few connections keeps others from waiting.
        """
        free_count = self._count_max - self._waiting_count
        return len(self._owners.get(owner, ())) < min(OWNED_COUNT_MAX, free_count)

    def hold(self, held: HeldPull[T]) -> None:
        """Let a pull wait."""
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
        """True when somebody waits for this queue."""
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
        """Note a dispatched message; ``wake`` finds out whom it wakes.

        Args:
            properties: reads those of the message; asked once, and only if a pull cares.
        """
        if not self.is_waited_for(topic, queue_id):
            return
        news: _News[T]
        if len(self._news) < NEWS_COUNT_MAX:
            news = _News(Event.SUITED, topic, queue_id, queue_offset, tags_code, properties)
            self._news.append(news)
            return
        merged = self._merged.get((topic, queue_id))
        if merged is not None:
            merged.queue_offset = queue_offset
            return
        news = _News(Event.SUITED, topic, queue_id, queue_offset, None, properties)
        self._merged[topic, queue_id] = news
        self._news.append(news)

    def drop_topic(self, topic: str) -> None:
        """Note that a topic was deleted, which wakes all of its pulls."""
        for queue_id in self._topics.get(topic, ()):
            self._news.append(_News(Event.TOPIC_DELETED, topic, queue_id, LONG_MAX, None, dict))

    @property
    def has_news(self) -> bool:
        """True while there is something for ``wake`` to do."""
        return bool(self._news)

    def wake(self, *, work_max: int = SLICE_WORK) -> list[HeldPull[T]]:
        """Return, and let go, the next pulls that are woken by what was noted.

        Args:
            work_max: what finding and answering them may cost; the last one may pass it.
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
                if held.state is Held.WAITING:
                    if news.tags_code is not None:
                        work_max -= held.wants_work
                    if news.suits(held):
                        self._let_go(held, news.event)
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
        """Return, and let go, the next pulls whose time is over.

        Args:
            work_max: what answering them may cost; the last one may pass it.
        """
        over: list[HeldPull[T]] = []
        look_count = 0
        while work_max > 0:
            if self._over:
                held = self._over.popleft()
                work_max -= 1
                if held.state is Held.WAITING:
                    self._let_go(held, Event.TIME_OVER)
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
        """Return when ``expired`` has to be asked next, None when nobody waits.

        It may be a moment at which no pull's time is over, where very many were answered before.
        """
        if self._over:
            return self._over[0].deadline_ms + self._clock_step_ms
        for _ in range(LOOKS_MAX):
            if not self._deadlines or self._by_deadline[self._deadlines[0]]:
                break
            del self._by_deadline[heapq.heappop(self._deadlines)]
        return self._deadlines[0] + self._clock_step_ms if self._deadlines else None

    def clock_set(self, step_ms: int) -> None:
        """Let every pull wait as long as before, though the clock was set by ``step_ms``."""
        self._clock_step_ms += step_ms

    def drop_owner(self, owner: Hashable) -> None:
        """Forget the pulls of a connection that closed."""
        for held in self._owners.pop(owner, ()):
            self._let_go(held, Event.CONNECTION_CLOSED)

    def _let_go(self, held: HeldPull[T], event: Event) -> None:
        held.state = NEXT[held.state, event]
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
