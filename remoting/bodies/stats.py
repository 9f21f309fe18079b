"""Bodies with offsets and statistics of queues, groups and brokers.

Source: common/admin, common/protocol/body/BrokerStatsData.java, ConsumeStatsList.java (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body
from remoting.bodies.queues import MessageQueue


@dataclass(slots=True, kw_only=True)
class TopicOffset(Body):
    """The min and max offset of one queue."""

    min_offset: int = 0
    """The first readable queue offset, in entries."""
    max_offset: int = 0
    """The next queue offset that will be written, in entries."""
    last_update_timestamp: int = 0
    """The store time of the last message, in ms since 1970; 0 for an empty queue."""


@dataclass(slots=True, kw_only=True)
class TopicStatsTable(Body):
    """The broker returns the min and max offset of every queue of a topic (request code 202)."""

    offset_table: dict[MessageQueue, TopicOffset] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class OffsetWrapper(Body):
    """The consumer offset of a group in one queue, and the queue's max offset, both in entries."""

    broker_offset: int = 0
    consumer_offset: int = 0
    last_timestamp: int = 0
    """The store time of the last consumed message, in ms since 1970; 0 when it is deleted."""
    pull_offset: int | None = None
    """The offset after the last message that was pulled; only brokers of RocketMQ 5 tell it, and
    ours where messages are popped and not acknowledged."""

    @property
    def inflight(self) -> int | None:
        """Messages that members got and did not finish, in entries; None if unknown."""
        if self.pull_offset is None:
            return None
        return max(0, self.pull_offset - self.consumer_offset)


@dataclass(slots=True, kw_only=True)
class ConsumeStats(Body):
    """The broker returns the consumer offset of a group in each queue (request code 208)."""

    offset_table: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0
    """How many messages the group consumes per second."""

    def total_diff(self) -> int:
        """Return how many messages the group is behind in all queues together."""
        return sum(
            offsets.broker_offset - offsets.consumer_offset
            for offsets in self.offset_table.values()
        )


@dataclass(slots=True, kw_only=True)
class ConsumeStatsList(Body):
    """The broker returns the consumer offsets of all its groups (request code 317)."""

    consume_stats_list: list[dict[str, list[ConsumeStats]]] = field(default_factory=list)
    """Each map has one group name; its list has one item for each topic of the group."""
    broker_addr: str | None = None
    total_diff: int = 0
    """How many messages all groups together are behind."""


@dataclass(slots=True, kw_only=True)
class BrokerStatsItem(Body):
    """One statistic over one period of time."""

    sum: int = 0
    tps: float = 0.0
    """The sum per second."""
    avgpt: float = 0.0
    """The sum per call, which is the average value of a call."""


@dataclass(slots=True, kw_only=True)
class BrokerStatsData(Body):
    """The broker returns a statistic of the last minute, hour and day (request code 315)."""

    stats_minute: BrokerStatsItem | None = None
    stats_hour: BrokerStatsItem | None = None
    stats_day: BrokerStatsItem | None = None
