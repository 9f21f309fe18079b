"""Bodies about the store of a broker: queue entries, timer messages, cold reads.

*Cold data* is what a consumer reads from disk, because it is no longer in memory.

Source: common/protocol/body/QueryConsumeQueueResponseBody.java, ConsumeQueueData.java (4.9.7);
broker/coldctr/ColdDataCgCtrService.java, common/CheckRocksdbCqWriteResult.java,
store/timer/TimerMetrics.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body
from remoting.bodies.heartbeat import SubscriptionData


@dataclass(slots=True, kw_only=True)
class ConsumeQueueData(Body):
    """One entry of a consume queue."""

    physic_offset: int = 0
    """The commit log offset of the record, in bytes."""
    physic_size: int = 0
    """The size of the record, in bytes."""
    tags_code: int = 0
    extend_data_json: str | None = None
    """The extension unit of the entry, as JSON text."""
    bit_map: str | None = None
    eval: bool = False
    """True when the filter of the group accepts the message."""
    msg: str | None = None


@dataclass(slots=True, kw_only=True)
class QueryConsumeQueueResponseBody(Body):
    """The broker returns consume queue entries from a queue offset on (request code 321)."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    """The filter of the group as text; the word ``null`` when the group has none."""
    queue_data: list[ConsumeQueueData] | None = None
    max_queue_index: int = 0
    """The next queue offset that will be written, in entries."""
    min_queue_index: int = 0
    """The first readable queue offset, in entries."""


@dataclass(slots=True, kw_only=True)
class ColdDataReads(Body):
    """What one consumer group has read from disk lately."""

    cold_acc: int = 0
    """Bytes since the broker last counted anew, every few seconds."""
    create_time_mills: int = 0
    """Since when the group reads from disk, in ms."""
    last_cold_read_time_mills: int = 0


@dataclass(slots=True, kw_only=True)
class ColdDataFlowCtrInfo(Body):
    """Reads from disk and their limits (request code 2003)."""

    runtime_table: dict[str, ColdDataReads] = field(default_factory=dict)
    """By consumer group; one that has not read from disk for a minute is left out."""
    config_table: dict[str, int] = field(default_factory=dict)
    """Limits of single groups, in bytes; ``group||adaptive`` is one that the broker chose."""
    cg_cold_read_threshold: int = 0
    """The limit of every other group, in bytes."""
    global_cold_read_threshold: int = 0
    """The limit of all groups together, in bytes."""
    global_acc: int = 0
    """Bytes that all groups have read."""


@dataclass(slots=True, kw_only=True)
class CheckRocksdbCqWriteResult(Body):
    """How far a comparison of consume queues is (request code 354)."""

    check_result: str | None = None
    check_status: int = 0
    """0 equal, 1 different, 2 in progress, 3 failed."""


@dataclass(slots=True, kw_only=True)
class TimerMetric(Body):
    """How many messages of one topic wait in the timer wheel."""

    count: int = 0
    time_stamp: int = 0
    """When the count changed, in ms since 1970."""


@dataclass(slots=True, kw_only=True)
class TimerMetrics(Body):
    """The messages that wait in the timer wheel, by their topic (request code 61)."""

    timing_count: dict[str, TimerMetric] = field(default_factory=dict)
