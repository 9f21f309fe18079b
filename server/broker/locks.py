"""Queue locks of orderly consumers: one client of a group holds one queue.

    lock by the holder   -> renewed          unlock by the holder -> free
    lock by another      -> refused, unless 60 s have passed since the last renewal

Rule: a lock is a promise for LOCK_LIFE_MS after its last renewal and nothing else ends
it but an unlock of its holder; a closed connection does not, as in Java.

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

    def lock(
        self, group: str, client_id: str, *, queues: Iterable[MessageQueue], now_ms: int
    ) -> list[MessageQueue]:
        """Take or renew locks; return the queues that ``client_id`` holds now."""
        locks = self._groups.setdefault(group, {})
        held = []
        for queue in queues:
            lock = locks.get(queue)
            if lock is None:
                locks[queue] = _Lock(client_id, now_ms)
            elif lock.client_id == client_id:
                lock.renewed_ms = now_ms
            elif lock.is_expired(now_ms):
                LOG.warning(
                    "lock of %s for group %s expired with client %s; %s has it now",
                    queue, group, lock.client_id, client_id,
                )  # fmt: skip
                locks[queue] = _Lock(client_id, now_ms)
            else:
                continue
            held.append(queue)
        if not locks:
            del self._groups[group]
        return held

    def unlock(self, group: str, client_id: str, *, queues: Iterable[MessageQueue]) -> None:
        """Free the queues that ``client_id`` holds; others stay as they are."""
        locks = self._groups.get(group)
        if locks is None:
            return
        for queue in queues:
            lock = locks.get(queue)
            if lock is not None and lock.client_id == client_id:
                del locks[queue]
        if not locks:
            del self._groups[group]

    def held(self, now_ms: int) -> list[HeldLock]:
        """Return every lock that has not expired, ordered by group and queue."""
        return [
            HeldLock(group, queue, lock.client_id, lock.renewed_ms)
            for group, locks in sorted(self._groups.items())
            for queue, lock in sorted(locks.items(), key=lambda item: item[0])
            if not lock.is_expired(now_ms)
        ]

    def drop_expired(self, now_ms: int, *, age_ms: int = 10 * LOCK_LIFE_MS) -> None:
        """Forget locks nobody renewed for ``age_ms``, so that the table does not grow."""
        for group, locks in list(self._groups.items()):
            for queue, lock in list(locks.items()):
                if now_ms - lock.renewed_ms > age_ms:
                    del locks[queue]
            if not locks:
                del self._groups[group]
