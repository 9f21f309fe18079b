"""Pops and notifications that wait for messages: long polling.

    nothing to pop, and the request may wait -> add
    a message of the topic or the retry topic is dispatched -> one pop of each group, and every
                                                                notification, is tried again
    the deadline, or a queue that was blocked is free again -> tried again

Rule: one new message wakes one pop of a group, because one gets it. A pop that is woken and finds
nothing waits again, until the deadline of its request. What belongs to a connection that closes is
forgotten.

Source: broker/longpolling/PopLongPollingService.java, broker/processor/NotificationProcessor.java
(5.4.0).
"""

import heapq
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from typing import Final

from mqserver.broker.clients.consumer_offsets import Place
from mqserver.broker.filters.messagefilter import MessageFilter
from mqserver.broker.pop.revive import retry_topic_of
from mqserver.runtime.request import Request
from remoting.aio.server import ServerConn
from remoting.headers import Notification, PopMessage

COUNT_MAX: Final = 100_000
"""Requests that wait on one broker (maxPopPollingSize of 5.4.0)."""
PLACE_COUNT_MAX: Final = 1_025
"""Requests that wait for one queue id of a topic and a group (popPollingSize of 5.4.0, and one)."""
ANY_QUEUE: Final = -1


class HeldState(Enum):
    """The state of a request that waits."""

    WAITING = auto()
    WOKEN = auto()
    """It is tried again soon."""
    GONE = auto()
    """It was answered, or its connection closed."""


@dataclass(slots=True, eq=False)
class HeldPop:
    """A request to pop, or to be notified, which takes no message."""

    request: Request
    header: PopMessage | Notification
    wants: MessageFilter
    deadline_ms: int
    size: int
    """Bytes that count as in flight for its connection while it waits."""
    look_ms: int = 0
    """When it is tried again although no message came."""
    state: HeldState = HeldState.WAITING

    @property
    def place(self) -> Place:
        """What it waits for; the queue id is ``ANY_QUEUE`` for any."""
        header = self.header
        return header.topic, header.consumer_group, max(header.queue_id, ANY_QUEUE)

    @property
    def is_pop(self) -> bool:
        """Return whether it takes a message."""
        return isinstance(self.header, PopMessage)


class HeldPops:
    """Every pop and every notification of one broker that waits."""

    def __init__(self) -> None:
        self._places: dict[Place, dict[HeldPop, None]] = {}
        self._queues: dict[tuple[str, str], dict[int, None]] = {}
        """The queue ids that requests of a topic and a group wait for."""
        self._groups: dict[str, dict[str, None]] = {}
        """The groups that wait, by topic."""
        self._retries: dict[str, tuple[str, str]] = {}
        self._owners: dict[ServerConn, dict[HeldPop, None]] = {}
        self._looks: list[tuple[int, int, HeldPop]] = []
        self._numbers = count()
        self._woken: deque[HeldPop] = deque()
        self._count = 0
        self._clock_step_ms = 0

    def __len__(self) -> int:
        return self._count

    @property
    def has_woken(self) -> bool:
        """Return whether ``woken`` has something to return."""
        return bool(self._woken)

    def is_full(self, place: Place) -> bool:
        """Return whether one more request may not wait there."""
        return self._count >= COUNT_MAX or len(self._places.get(place, ())) >= PLACE_COUNT_MAX

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """Return how many requests wait for a queue id."""
        return len(self._places.get((topic, group, queue_id), ()))

    def add(self, held: HeldPop) -> None:
        """Add a request, which was not here before, to those that wait."""
        topic, group, queue_id = held.place
        self._places.setdefault(held.place, {})[held] = None
        self._queues.setdefault((topic, group), {})[queue_id] = None
        self._groups.setdefault(topic, {})[group] = None
        self._retries[retry_topic_of(topic, group)] = topic, group
        self._owners.setdefault(held.request.conn, {})[held] = None
        heapq.heappush(self._looks, (held.look_ms - self._clock_step_ms, next(self._numbers), held))
        self._count += 1

    def is_waited_for(self, topic: str) -> bool:
        """Return whether a message of this topic can wake something."""
        return topic in self._groups or topic in self._retries

    def arrived(self, topic: str, queue_id: int) -> None:
        """Note a dispatched message; ``woken`` returns the requests that it wakes."""
        target = self._retries.get(topic)
        if target is not None:
            # A pop of any queue takes messages of the retry topic as well.
            self.wake(*target, None)
        for group in list(self._groups.get(topic, ())):
            self.wake(topic, group, queue_id)

    def wake(self, topic: str, group: str, queue_id: int | None) -> None:
        """Wake one pop of a group, and its notifications.

        Args:
            topic: the topic that they pop.
            group: the group.
            queue_id: the queue that has a message; None if any pop of the group can get it.
        """
        ids = list(self._queues.get((topic, group), ()))
        if queue_id is not None:
            ids = [each for each in (ANY_QUEUE, queue_id) if each in ids]
        is_pop_woken = False
        for each in ids:
            for held in list(self._places.get((topic, group, each), ())):
                if held.is_pop and is_pop_woken:
                    continue
                is_pop_woken = is_pop_woken or held.is_pop
                self._wake(held)

    def wake_all(self, topic: str | None = None) -> None:
        """Wake every request of a topic, or of all topics."""
        for place, waiting in list(self._places.items()):
            if topic is None or place[0] == topic:
                for held in list(waiting):
                    self._wake(held)

    def woken(self, count_max: int) -> list[HeldPop]:
        """Remove and return the next requests that are to be tried again."""
        woken: list[HeldPop] = []
        while self._woken and len(woken) < count_max:
            held = self._woken.popleft()
            if held.state is HeldState.WOKEN:
                held.state = HeldState.GONE
                woken.append(held)
        return woken

    def look(self, now_ms: int) -> None:
        """Wake the requests whose time to look again has come."""
        while self._looks and self._looks[0][0] <= now_ms - self._clock_step_ms:
            held = heapq.heappop(self._looks)[2]
            if held.state is HeldState.WAITING:
                self._wake(held)

    def next_look_ms(self) -> int | None:
        """Return when ``look`` has to be called next; None when nothing waits."""
        while self._looks and self._looks[0][2].state is not HeldState.WAITING:
            heapq.heappop(self._looks)
        return self._looks[0][0] + self._clock_step_ms if self._looks else None

    def clock_set(self, step_ms: int) -> None:
        """Shift all times by ``step_ms``, by which the clock was changed."""
        self._clock_step_ms += step_ms

    def drop_owner(self, owner: ServerConn) -> None:
        """Forget the requests of a connection that closed."""
        for held in list(self._owners.get(owner, ())):
            self._forget(held)
            held.state = HeldState.GONE

    def _wake(self, held: HeldPop) -> None:
        self._forget(held)
        held.state = HeldState.WOKEN
        self._woken.append(held)

    def _forget(self, held: HeldPop) -> None:
        """Remove a request from everything but the heap, which drops it later."""
        self._count -= 1
        topic, group, queue_id = held.place
        place = self._places[held.place]
        del place[held]
        if not place:
            del self._places[held.place]
            ids = self._queues[topic, group]
            del ids[queue_id]
            if not ids:
                del self._queues[topic, group]
                del self._retries[retry_topic_of(topic, group)]
                groups = self._groups[topic]
                del groups[group]
                if not groups:
                    del self._groups[topic]
        owned = self._owners[held.request.conn]
        del owned[held]
        if not owned:
            del self._owners[held.request.conn]
