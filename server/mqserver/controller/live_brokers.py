"""Which brokers are alive, as one controller sees it by their heartbeats.

    ALIVE ── connection closed ──> SUSPECT ── heartbeat ──> ALIVE
      │                               ├── nothing listens at its address ──> forgotten
      └── no heartbeat for its timeout┴────────────────────────────────────> forgotten

Rule: times are those of a steady clock. A closed connection alone proves nothing, since a network
may reset it; a port that refuses connections proves that the process is gone. (Java elects at once
when a connection closes.) The last heartbeat of a dead broker is kept for operators, who can tell
from it what an unclean election would lose; elections never use it.

Source: controller/impl/heartbeat/DefaultBrokerHeartbeatManager.java (5.4.0).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

TIMEOUT_MS: Final = 10_000
"""The timeout of a broker whose heartbeat does not announce one."""
TIMEOUT_MS_MAX: Final = 600_000
PRIORITY_MAX: Final = (1 << 31) - 1
BROKERS_MAX: Final = 4_096
"""How many heartbeats are kept; the limit stops made-up names from filling the memory."""


class BrokerKey(NamedTuple):
    """A broker of a group."""

    cluster_name: str
    broker_name: str
    broker_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveBroker:
    """The last heartbeat of a broker."""

    key: BrokerKey
    address: str
    heard_ms: int
    """When it came, by the steady clock."""
    timeout_ms: int
    conn_id: int
    epoch: int
    max_offset: int
    confirm_offset: int
    priority: int
    is_suspect: bool = False
    """Whether the connection of the last heartbeat has been closed since."""


class LiveBrokers:
    """The brokers that send heartbeats."""

    def __init__(self) -> None:
        self._brokers: dict[BrokerKey, LiveBroker] = {}
        self._departed: dict[BrokerKey, LiveBroker] = {}
        """The last heartbeats of dead brokers, the latest death last."""

    def accept_heartbeat(self, broker: LiveBroker) -> bool:
        """Record a heartbeat; return False if there are too many brokers for another one."""
        if broker.key not in self._brokers and len(self._brokers) >= BROKERS_MAX:
            return False
        self._brokers[broker.key] = broker
        self._departed.pop(broker.key, None)
        return True

    def connection_closed(self, conn_id: int) -> list[LiveBroker]:
        """Suspect the brokers whose last heartbeat came on this connection, and return them."""
        suspects = [
            replace(broker, is_suspect=True)
            for broker in self._brokers.values()
            if broker.conn_id == conn_id
        ]
        self._brokers.update((broker.key, broker) for broker in suspects)
        return suspects

    def refused(self, suspect: LiveBroker) -> bool:
        """Forget a suspect whose port refuses connections; False if a heartbeat came meanwhile."""
        if self._brokers.get(suspect.key) != suspect:
            return False
        self._bury(suspect)
        return True

    def forget(self, key: BrokerKey) -> None:
        """Forget a broker that has started again, until its next heartbeat.

        Its disk may have kept less of the log than the last heartbeat said.
        """
        self._brokers.pop(key, None)

    def expire(self, now_ms: int) -> list[LiveBroker]:
        """Forget the brokers that were silent for longer than their timeout; return them."""
        silent = [broker for broker in self._brokers.values() if not _is_alive(broker, now_ms)]
        for broker in silent:
            self._bury(broker)
        return silent

    def _bury(self, broker: LiveBroker) -> None:
        """Count a broker as dead, and keep its last heartbeat."""
        del self._brokers[broker.key]
        self._departed[broker.key] = broker
        if len(self._departed) > BROKERS_MAX:
            del self._departed[next(iter(self._departed))]

    def last_heartbeat(self, key: BrokerKey) -> LiveBroker | None:
        """Return the last heartbeat of a broker, dead or alive, or None if none came."""
        return self._brokers.get(key) or self._departed.get(key)

    def of_group(
        self,
        cluster_name: str,
        broker_name: str,
        broker_ids: Iterable[int],
        now_ms: int,
    ) -> dict[int, LiveBroker]:
        """Return those of the named brokers that are alive, by id."""
        alive = {}
        for broker_id in broker_ids:
            broker = self._brokers.get(BrokerKey(cluster_name, broker_name, broker_id))
            if broker is not None and _is_alive(broker, now_ms):
                alive[broker_id] = broker
        return alive


def _is_alive(broker: LiveBroker, now_ms: int) -> bool:
    return now_ms - broker.heard_ms <= broker.timeout_ms
