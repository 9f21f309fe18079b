"""How masters and slaves of RocketMQ 5 are connected.

Source: remoting/protocol/body/HARuntimeInfo.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class HAConnectionRuntimeInfo(Body):
    """A connection of a slave, as its master sees it."""

    addr: str | None = None
    slave_ack_offset: int = 0
    """Up to where the slave acknowledged the log, in bytes."""
    diff: int = 0
    """Bytes that the slave is behind."""
    in_sync: bool = False
    transferred_byte_in_second: int = 0
    transfer_from_where: int = 0
    """The log offset of the next bytes that the master sends."""


@dataclass(slots=True, kw_only=True)
class HAClientRuntimeInfo(Body):
    """A slave, as it sees itself."""

    master_addr: str | None = None
    transferred_byte_in_second: int = 0
    max_offset: int = 0
    """The end of its log, in bytes."""
    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    """Both in ms since 1970; 0 for never."""
    master_flush_offset: int = 0
    activated: bool = False


@dataclass(slots=True, kw_only=True)
class HARuntimeInfo(Body):
    """The connections of one broker (request code 907)."""

    master: bool = False
    master_commit_log_max_offset: int = 0
    in_sync_slave_nums: int = 0
    ha_connection_info: list[HAConnectionRuntimeInfo] = field(default_factory=list)
    ha_client_runtime_info: HAClientRuntimeInfo | None = None
