"""Numbers about queues, groups and a broker.

Source: common/admin, common/protocol/body/BrokerStatsData.java, ConsumeStatsList.java (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body
from remoting.bodies.queues import MessageQueue


@dataclass(slots=True, kw_only=True)
class TopicOffset(Body):
    """The ends of one queue."""

    min_offset: int = 0
    """First readable queue offset, in entries."""
    max_offset: int = 0
    """Next queue offset to be written, in entries."""
    last_update_timestamp: int = 0
    """Store time of the last message, ms; 0 for an empty queue."""


@dataclass(slots=True, kw_only=True)
class TopicStatsTable(Body):
    """The ends of every queue of a topic (request code 202)."""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class OffsetWrapper(Body):
    """How far a group is in one queue; all offsets in entries."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    """Store time of the last consumed message, ms; 0 when it is gone."""


@dataclass(slots=True, kw_only=True)
class ConsumeStats(Body):
    """How far a group is, per queue (request code 208)."""

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0
    """Messages a second."""

    def total_diff(self) -> int:
        """Return how many messages the group is behind, over all queues."""
        return sum(one.broker_offset - one.consumer_offset for one in self.offset_table.values())


@dataclass(slots=True, kw_only=True)
class ConsumeStatsList(Body):
    """The progress of every group of a broker (request code 317)."""

    consume_stats_list: list[dict[str, list[ConsumeStats]]] = field(default_factory=list)
    """Maps of one group name to its statistics, one a topic."""
    broker_addr: str | None = None
    total_diff: int = 0
    """Messages behind, over all groups."""


@dataclass(slots=True, kw_only=True)
class BrokerStatsItem(Body):
    """One statistic over one span of time."""

    sum: int = 0
    tps: float = 0.0
    """Calls a second."""
    avgpt: float = 0.0
    """Average of the value per call."""


@dataclass(slots=True, kw_only=True)
class BrokerStatsData(Body):
    """One statistic over the last minute, hour and day (request code 315)."""

    stats_minute: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_day: BrokerStatsItem | None = None


@dataclass(slots=True, kw_only=True)
class RollbackStats(Body):
    """What a reset did to one queue; all offsets in entries."""

    broker_name: str | None = None
    queue_id: int = 0
    broker_offset: int = 0
    consumer_offset: int = 0
    timestamp_offset: int = 0
    rollback_offset: int = 0
