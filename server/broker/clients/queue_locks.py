"""Queue locks of orderly consumers: one client of a group holds one queue.

    seen by one client:     FREE ──lock──> OWN ──unlock──> FREE
                            OVER ──lock──> OWN             (another's, 60 s not renewed)
                            OTHERS: neither lock nor unlock change it

Rule: a lock is a promise for LOCK_LIFE_MS after its last renewal and nothing else ends
it but an unlock of its holder; a closed connection does not, as in Java.

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
    """What a queue is to the client that asks."""

    FREE = auto()
    OWN = auto()
    OTHERS = auto()
    OVER = auto()
    """Another's, who did not renew it in time."""


class Wish(Enum):
    """What the client asks for."""

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
        """Take or renew locks; return the queues that ``client_id`` holds now."""
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
        """Free the queues that ``client_id`` holds; others stay as they are."""
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
        """Return a table of the same locks, for a thread to read."""
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
        """Let every lock live as long as before, though the clock was set by ``step_ms``."""
        for locks in self._groups.values():
            for lock in locks.values():
                lock.renewed_ms += step_ms

    def drop_expired(self, now_ms: int, *, age_ms: int = 10 * LOCK_LIFE_MS) -> None:
        """Forget locks nobody renewed for ``age_ms``, so that the table does not grow."""
        for group, locks in list(self._groups.items()):
            for queue, lock in list(locks.items()):
                if now_ms - lock.renewed_ms > age_ms:
                    del locks[queue]
            if not locks:
                del self._groups[group]


def _seen(lock: _Lock | None, client_id: str, now_ms: int) -> Seen:
    if lock is None:
        return Seen.FREE
    if lock.client_id == client_id:
        return Seen.OWN
    return Seen.OVER if lock.is_expired(now_ms) else Seen.OTHERS
