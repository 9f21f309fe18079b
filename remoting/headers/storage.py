"""Requests of RocketMQ 5 about how a broker stores: read-ahead, timer engine and RocksDB.

Source: remoting/protocol/header/CheckRocksdbCqWriteProgressRequestHeader.java,
ExportRocksDBConfigToJsonRequestHeader.java, client/impl/MQClientAPIImpl.java (5.4.0). The tool has
no header class for the first two; it sets the one field by its name.
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int64, key


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReadAheadMode(Header):
    """Let the commit log be read ahead or not (request code 2004)."""

    mode: str = field(metadata=key("READ_AHEAD_MODE"))
    """0 for what the system does by default, 1 for random reads: no read-ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTimerEngine(Header):
    """Let another engine keep delayed messages (request code 5001)."""

    engine: str = field(metadata=key("E_T"))
    """R for the timeline in RocksDB, F for the time wheel in files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRocksdbCqWriteProgress(Header):
    """Compare the consume queues in RocksDB with those in files (request code 354)."""

    topic: str
    """Empty for all topics."""
    check_store_time: Int64 = 0
    """Messages that were stored before this time, in ms, are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRocksDBConfigToJson(Header):
    """Write configuration that is in RocksDB as JSON files on the broker (request code 355)."""

    config_type: str
    """``topics``, ``subscriptionGroups`` and ``consumerOffsets``, separated by semicolons."""
