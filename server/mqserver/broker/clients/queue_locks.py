"""Queue locks of orderly consumers: one client of a group holds one queue.

    lock      a queue that is free, its own, or another client's and expired -> its own
    unlock    its own -> free; a lock of another client stays

Rule: a lock is valid for LOCK_LIFE_MS after its last renewal. Only an unlock by its holder ends it
earlier; as in Java, a closed connection does not.

Source: broker/client/rebalance/RebalanceLockManager.java.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from remoting.bodies import MessageQueue

LOG = logging.getLogger(__name__)

LOCK_LIFE_MS: Final = 60_000


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
        """Lock queues, or renew their locks; return those that ``client_id`` holds now.

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
            if lock is not None and lock.client_id != client_id:
                if not lock.is_expired(now_ms):
                    continue
                LOG.warning(
                    "lock of %s for group %s expired with client %s; %s has it now",
                    queue, group, lock.client_id, client_id,
                )  # fmt: skip
            locks[queue] = _Lock(client_id, now_ms)
            held.append(queue)
        if not locks:
            del self._groups[group]
        return held

    def unlock(self, group: str, client_id: str, *, queues: Iterable[MessageQueue]) -> None:
        """Unlock those of the queues that ``client_id`` holds, even if its lock has expired."""
        locks = self._groups.get(group)
        if locks is None:
            return
        for queue in queues:
            lock = locks.get(queue)
            if lock is not None and lock.client_id == client_id:
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

    def drop_topic(self, topic: str) -> None:
        """Remove the locks of the queues of a topic that was deleted."""
        for group, locks in list(self._groups.items()):
            for queue in [queue for queue in locks if queue.topic == topic]:
                del locks[queue]
            if not locks:
                del self._groups[group]

    def clock_set(self, step_ms: int) -> None:
        """Shift all times by ``step_ms``, by which the clock was changed."""
        for locks in self._groups.values():
            for lock in locks.values():
                lock.renewed_ms += step_ms

    def drop_expired(self, now_ms: int) -> None:
        """Remove locks that expired long ago, so that the table does not grow."""
        for group, locks in list(self._groups.items()):
            for queue, lock in list(locks.items()):
                if now_ms - lock.renewed_ms > 10 * LOCK_LIFE_MS:
                    del locks[queue]
            if not locks:
                del self._groups[group]
