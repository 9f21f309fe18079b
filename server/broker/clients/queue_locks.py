"""Queue locks of orderly consumers: one client of a group holds one queue.

    seen by one client:     FREE ──lock──> OWN ──unlock──> FREE
                            OVER ──lock──> OWN             (another client's, 60 s not renewed)
                            OTHERS: neither lock nor unlock changes it

Rule: a lock is valid for LOCK_LIFE_MS after its last renewal. Only an unlock by its holder ends it
earlier; as in Java, a closed connection does not.

Source: broker/client/rebalance/RebalanceLockManager.java.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from remoting.bodies import MessageQueue

LOG = logging.getLogger(__name__)

LOCK_LIFE_MS: Final = 60_000


class Seen(Enum):
    """The state of a queue's lock for the client that sends the request."""

    FREE = auto()
    OWN = auto()
    OTHERS = auto()
    OVER = auto()
    """The lock of another client, which did not renew it in time."""


class Wish(Enum):
    """What the client requests."""

    LOCK = auto()
    UNLOCK = auto()


NEXT: Final = {
    (Seen.FREE, Wish.LOCK): Seen.OWN,
    (Seen.OWN, Wish.LOCK): Seen.OWN,
    (Seen.OTHERS, Wish.LOCK): Seen.OTHERS,
    (Seen.OVER, Wish.LOCK): Seen.OWN,
    (Seen.FREE, Wish.UNLOCK): Seen.FREE,
    (Seen.OWN, Wish.UNLOCK): Seen.FREE,
    (Seen.OTHERS, Wish.UNLOCK): Seen.OTHERS,
    (Seen.OVER, Wish.UNLOCK): Seen.OVER,
}


class HeldLock(NamedTuple):
    """One row of the lock table."""

    group: str
    queue: MessageQueue
    client_id: str
    renewed_ms: int


@dataclass(slots=True)
class _Lock:
    client_id: str
    renewed_ms: int

    def is_expired(self, now_ms: int) -> bool:
        return now_ms - self.renewed_ms > LOCK_LIFE_MS


class LockTable:
    """Every queue lock of one broker, by group."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def lock(
        self, group: str, client_id: str, *, queues: Iterable[MessageQueue], now_ms: int
    ) -> list[MessageQueue]:
        """Lock queues, or renew their locks; return those of them that ``client_id`` holds now.

        Args:
            group: the consumer group.
            client_id: the client that locks.
            queues: the queues.
            now_ms: the locks are valid for ``LOCK_LIFE_MS`` from here.
        """
        locks = self._groups.setdefault(group, {})
        held = []
        for queue in dict.fromkeys(queues):
            lock = locks.get(queue)
            if NEXT[_seen(lock, client_id, now_ms), Wish.LOCK] is not Seen.OWN:
                continue
            if lock is not None and lock.client_id != client_id:
                LOG.warning(
                    "lock of %s for group %s expired with client %s; %s has it now",
                    queue, group, lock.client_id, client_id,
                )  # fmt: skip
            locks[queue] = _Lock(client_id, now_ms)
            held.append(queue)
        if not locks:
            del self._groups[group]
        return held

    def unlock(
        self, group: str, client_id: str, *, queues: Iterable[MessageQueue], now_ms: int
    ) -> None:
        """Unlock those of the queues that ``client_id`` holds.

        Args:
            group: the consumer group.
            client_id: the client that unlocks.
            queues: the queues.
            now_ms: decides which locks of other clients have expired.
        """
        locks = self._groups.get(group)
        if locks is None:
            return
        for queue in queues:
            seen = _seen(locks.get(queue), client_id, now_ms)
            if seen is not Seen.FREE and NEXT[seen, Wish.UNLOCK] is Seen.FREE:
                del locks[queue]
        if not locks:
            del self._groups[group]

    def copy(self) -> "LockTable":
        """Return a copy of the table, which a thread can read."""
        copied = LockTable()
        copied._groups = {group: dict(locks) for group, locks in self._groups.items()}
        return copied

    def held(self, now_ms: int) -> list[HeldLock]:
        """Return every lock that has not expired, ordered by group and queue."""
        return [
            HeldLock(group, queue, lock.client_id, lock.renewed_ms)
            for group, locks in sorted(self._groups.items())
            for queue, lock in sorted(locks.items(), key=lambda item: item[0])
            if not lock.is_expired(now_ms)
        ]

    def clock_set(self, step_ms: int) -> None:
        """Shift all times by ``step_ms``, by which the clock was changed."""
        for locks in self._groups.values():
            for lock in locks.values():
                lock.renewed_ms += step_ms

    def drop_expired(self, now_ms: int) -> None:
        """Remove locks that were not renewed for long, so that the table does not grow."""
        for group, locks in list(self._groups.items()):
            for queue, lock in list(locks.items()):
                if now_ms - lock.renewed_ms > 10 * LOCK_LIFE_MS:
                    del locks[queue]
            if not locks:
                del self._groups[group]


def _seen(lock: _Lock | None, client_id: str, now_ms: int) -> Seen:
    if lock is None:
        return Seen.FREE
    if lock.client_id == client_id:
        return Seen.OWN
    return Seen.OVER if lock.is_expired(now_ms) else Seen.OTHERS
