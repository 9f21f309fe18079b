"""Pull requests that wait for messages: long polling.

    pull finds nothing, may wait     -> hold(topic, queue)
    a message is dispatched there    -> arrived(...)  -> those it suits are answered now
    the wait is over                 -> expired(now)  -> answered with what there is

Rule: a held pull is answered exactly once: by a message whose tag suits it, by its
deadline (exact here; Java looks every 5 s), or never when its connection closes. A
message that does not suit leaves it waiting, as in Java.

Source: broker/longpolling/PullRequestHoldService.java.
"""

import heapq
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Generic, TypeVar

WAIT_MS_MAX: Final = 120_000
"""Longest wait; a connection that is silent for so long is closed anyway."""
OWNED_COUNT_MAX: Final = 10_000
"""Pulls of one connection that may wait; a client has one for each queue it reads."""
STALE_COUNT_MIN: Final = 1_024

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
    state: Held = Held.WAITING


class Hold(Generic[T]):
    """Every waiting pull of one broker."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, int], dict[HeldPull[T], None]] = {}
        self._owners: dict[Hashable, set[HeldPull[T]]] = {}
        # Answered pulls stay in the heap until they reach its top or outnumber the rest.
        self._deadlines: list[tuple[int, int, HeldPull[T]]] = []
        self._sequence = 0
        self._waiting_count = 0

    def __len__(self) -> int:
        return self._waiting_count

    def hold(self, held: HeldPull[T]) -> None:
        """Let a pull wait."""
        key = (held.topic, held.queue_id)
        waiters = self._queues.get(key)
        if waiters is None:
            self._queues[key] = {held: None}
        else:
            waiters[held] = None
        self._owners.setdefault(held.owner, set()).add(held)
        self._sequence += 1
        heapq.heappush(self._deadlines, (held.deadline_ms, self._sequence, held))
        self._waiting_count += 1

    def owned_count(self, owner: Hashable) -> int:
        """Return how many pulls of one connection wait."""
        return len(self._owners.get(owner, ()))

    def is_waited_for(self, topic: str, queue_id: int) -> bool:
        """True when somebody waits for this queue."""
        return (topic, queue_id) in self._queues

    def arrived(
        self,
        topic: str,
        queue_id: int,
        *,
        queue_offset: int,
        tags_code: int,
        properties: Callable[[], Mapping[str, str]] = dict,
    ) -> list[HeldPull[T]]:
        """Return, and let go, the pulls that one dispatched message wakes.

        Args:
            properties: reads those of the message; asked once, and only if a pull cares.
        """
        waiters = self._queues.get((topic, queue_id))
        if waiters is None:
            return []
        woken = [
            held
            for held in waiters
            if queue_offset >= held.queue_offset
            and (held.accepts is None or held.accepts(tags_code))
        ]
        if any(held.wants is not None for held in woken):
            known = properties()
            woken = [held for held in woken if held.wants is None or held.wants(known)]
        for held in woken:
            self._let_go(held, Event.SUITED)
        return woken

    def expired(self, now_ms: int) -> list[HeldPull[T]]:
        """Return, and let go, the pulls whose time is over."""
        over = []
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            held = heapq.heappop(self._deadlines)[2]
            if held.state is Held.WAITING:
                self._let_go(held, Event.TIME_OVER)
                over.append(held)
        return over

    def next_deadline_ms(self) -> int | None:
        """Return when ``expired`` has to be asked next, None when nobody waits."""
        while self._deadlines and self._deadlines[0][2].state is not Held.WAITING:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def clock_set(self, step_ms: int) -> None:
        """Let every pull wait as long as before, though the clock was set by ``step_ms``."""
        # In its order, which a heap keeps when all of it moves alike.
        self._deadlines = [(ms + step_ms, number, held) for ms, number, held in self._deadlines]

    def drop_owner(self, owner: Hashable) -> None:
        """Forget the pulls of a connection that closed."""
        for held in list(self._owners.get(owner, ())):
            self._let_go(held, Event.CONNECTION_CLOSED)

    def drop_topic(self, topic: str) -> list[HeldPull[T]]:
        """Return, and let go, the pulls of a topic that was deleted."""
        gone = [
            held
            for (name, _), waiters in list(self._queues.items())
            if name == topic
            for held in list(waiters)
        ]
        for held in gone:
            self._let_go(held, Event.TOPIC_DELETED)
        return gone

    def _let_go(self, held: HeldPull[T], event: Event) -> None:
        held.state = NEXT[held.state, event]
        self._waiting_count -= 1
        key = (held.topic, held.queue_id)
        waiters = self._queues[key]
        del waiters[held]
        if not waiters:
            del self._queues[key]
        owned = self._owners[held.owner]
        owned.discard(held)
        if not owned:
            del self._owners[held.owner]
        if len(self._deadlines) > STALE_COUNT_MIN + 2 * self._waiting_count:
            self._deadlines = [entry for entry in self._deadlines if entry[2].state is Held.WAITING]
            heapq.heapify(self._deadlines)
