"""The transactions that are not ended: where the half message of each is.

    send ─────────────> add ──┐
    a broker's question ──────┴──> take ──> END_TRANSACTION at that broker

Rule: an entry is used once and for 30 s; for an older one a broker asks again. Of one transaction
the newest entry counts.

Source: proxy/service/transaction/TransactionDataManager.java (5.4.0).
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from mqserver.proxy.config import ProxyConfig

OPEN_MAX: Final = 65_536
"""The transactions that are remembered; the broker asks again about one that was forgotten."""


class HalfMessage(NamedTuple):
    """Where a half message is, and until when the entry may be used (ms since 1970)."""

    broker_name: str
    queue_offset: int
    log_offset: int
    expires_ms: int


class Transactions:
    """The transactions of one proxy.

    Args:
        config: how long an entry may be used, and how many one transaction has.
        now_ms: the wall clock.
    """

    def __init__(self, config: ProxyConfig, now_ms: Callable[[], int]) -> None:
        self._config = config
        self._now_ms = now_ms
        self._known: dict[tuple[str, str], deque[HalfMessage]] = {}

    def add(
        self,
        topic: str,
        transaction_id: str,
        *,
        broker_name: str,
        queue_offset: int,
        log_offset: int,
    ) -> None:
        """Remember where a half message is."""
        expires_ms = self._now_ms() + self._config.transaction_data_expire_ms
        found = self._known.setdefault(
            (topic, transaction_id), deque(maxlen=self._config.transaction_data_max_num)
        )
        if len(self._known) > OPEN_MAX:
            del self._known[next(iter(self._known))]
        found.append(HalfMessage(broker_name, queue_offset, log_offset, expires_ms))

    def take(self, topic: str, transaction_id: str) -> HalfMessage | None:
        """Return the newest entry of a transaction and forget it; None when none may be used."""
        found = self._known.get((topic, transaction_id))
        if not found:
            return None
        newest = found.pop()
        if not found or newest.expires_ms < self._now_ms():
            del self._known[topic, transaction_id]
        return newest if newest.expires_ms >= self._now_ms() else None

    def drop_expired(self, now_ms: int) -> None:
        """Forget what may not be used any more."""
        for key, found in list(self._known.items()):
            while found and found[0].expires_ms < now_ms:
                found.popleft()
            if not found:
                del self._known[key]
