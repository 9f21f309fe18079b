"""Bodies about how a broker of RocketMQ 5 stores and reads.

*Cold data* is what a consumer reads from disk, because it is no longer in memory.

Source: broker/coldctr/ColdDataCgCtrService.java, common/CheckRocksdbCqWriteResult.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


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
