"""Extends the invisible time of messages that a push consumer still works on.

    received with auto_renew ──> watch ── every 5 s: shorter than 10 s left? ──> hidden longer
    acknowledged, hidden by the client, given up ──> no longer watched

A client keeps its first handle; ``current`` has the handle that is valid at the broker.

Rule: a message is hidden for 1, 3, 5, 10, 30 and then 60 minutes more, for three hours in all; then
its group gets it again as after a failure. When a client is gone, its messages become visible after
a second, so that others need not wait for the end of that time.

Source: proxy/service/receipt/DefaultReceiptHandleManager.java, common/RenewStrategyPolicy.java,
common/ReceiptHandleGroup.java (5.4.0).
"""

import logging
from dataclasses import dataclass
from typing import Final

from mqclient.errors import ClientError
from mqserver.proxy.clients.telemetry_settings import NEW_GROUP
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.handles import Deliveries, Invoke, Receipt, decode_handle
from mqserver.proxy.proxy_config import ProxyConfig
from remoting.receipt import ReceiptHandle

LOG = logging.getLogger(__name__)

MINUTE_MS: Final = 60_000
RENEW_MS: Final = tuple(minutes * MINUTE_MS for minutes in (1, 3, 5, 10, 30, 60))

_Key = tuple[str, str, str, int, int]


@dataclass(slots=True)
class WatchedMessage:
    """One message that a client works on."""

    group: str
    topic: str
    current: Receipt
    """The handle that is valid at the broker."""
    attempt: int
    """How often the message was delivered before."""
    began_ms: int
    renew_count: int = 0
    failure_count: int = 0


class Renewals:
    """The messages that one client works on.

    Args:
        invoke: sends a request for the client.
        cluster: the brokers.
        config: how long and how often.
    """

    def __init__(self, invoke: Invoke, cluster: Cluster, config: ProxyConfig) -> None:
        self.deliveries = Deliveries(invoke, cluster)
        self._cluster = cluster
        self._config = config
        self._watched: dict[_Key, WatchedMessage] = {}

    @property
    def watched_count(self) -> int:
        """How many messages are hidden until their client is done with them."""
        return len(self._watched)

    def watch(self, *, group: str, topic: str, message_id: str, handle: str, attempt: int) -> None:
        """Extend the invisible time of a message until the client is done with it."""
        now_ms = self._cluster.client.now_ms()
        receipt = decode_handle(handle)
        key = _key(group, message_id, receipt.handle)
        self._watched[key] = WatchedMessage(group, topic, receipt, attempt, now_ms)

    def end_renewal(self, receipt: Receipt, *, group: str, message_id: str) -> Receipt:
        """Stop watching a message; return its valid handle for the handle that a client has."""
        watched = self._watched.pop(_key(group, message_id, receipt.handle), None)
        return receipt if watched is None else watched.current

    async def renew(self, now_ms: int) -> None:
        """Extend the invisible time of the messages for which it ends soon."""
        ahead_ms = self._config.renew_ahead_ms
        for key, watched in list(self._watched.items()):
            if watched.current.handle.expires_at_ms - now_ms > ahead_ms:
                continue
            if not await self._renewed(watched, now_ms) and self._watched.get(key) is watched:
                del self._watched[key]

    async def give_back(self) -> None:
        """Make the messages visible soon, since the client is gone."""
        watched, self._watched = list(self._watched.values()), {}
        for each in watched:
            await self._hide(each, self._config.invisible_time_when_clear_ms)

    async def _renewed(self, watched: WatchedMessage, now_ms: int) -> bool:
        """Extend the invisible time of one message; return whether to go on watching it."""
        if now_ms - watched.began_ms >= self._config.renew_max_ms:
            group = await self._cluster.group(watched.group, None) or NEW_GROUP
            await self._hide(watched, group.pause_ms(watched.attempt))
            return False
        before = watched.current
        more_ms = RENEW_MS[min(watched.renew_count, len(RENEW_MS) - 1)]
        if await self._hide(watched, more_ms):
            watched.renew_count, watched.failure_count = watched.renew_count + 1, 0
            return watched.current != before
        watched.failure_count += 1
        return watched.failure_count < self._config.max_renew_retry_times

    async def _hide(self, watched: WatchedMessage, invisible_ms: int) -> bool:
        """Return False when the broker did not answer; a refused message is not hidden again."""
        try:
            fresh = await self.deliveries.hide(
                watched.current,
                topic=watched.topic,
                group=watched.group,
                invisible_ms=invisible_ms,
            )
        except ProxyRefused as error:
            LOG.warning("a message of group %s is not hidden longer: %s", watched.group, error)
            return True
        except ClientError as error:
            LOG.warning("a message of group %s is not hidden longer: %s", watched.group, error)
            return False
        watched.current = fresh or watched.current
        return True


def _key(group: str, message_id: str, handle: ReceiptHandle) -> _Key:
    return group, message_id, handle.broker_name, handle.queue_id, handle.queue_offset
