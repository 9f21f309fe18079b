"""Bodies of the controller mode of RocketMQ 5.

Source: remoting/protocol/body/SyncStateSet.java, ElectMasterResponseBody.java,
BrokerMemberGroup.java, BrokerReplicasInfo.java, EpochEntryCache.java, EpochEntry.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body


@dataclass(slots=True, kw_only=True)
class SyncStateSet(Body):
    """The in-sync set of a group (request codes 1001, 1003, 1004 and 1008)."""

    sync_state_set: list[int] = field(default_factory=list)
    """Ids of brokers, ascending."""
    sync_state_set_epoch: int = 0
    """Grows by one with each change of the set; in a request it names the set to replace."""


@dataclass(slots=True, kw_only=True)
class BrokerMemberGroup(Body):
    """The addresses of a group, by id."""

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ElectMasterResponseBody(Body):
    """What an elected master needs to know (request code 1002)."""

    broker_member_group: BrokerMemberGroup | None = None
    sync_state_set: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class ReplicaIdentity(Body):
    """One broker of a group, and whether it is alive.

    The last four are what its last heartbeat said; only our controller sends them, and Java's tool
    ignores them.
    """

    broker_name: str | None = None
    broker_id: int | None = None
    broker_address: str | None = None
    alive: bool | None = None
    epoch: int | None = None
    """The newest epoch of its log."""
    max_offset: int | None = None
    """The end of its log, in bytes."""
    confirm_offset: int | None = None
    """Up to where it knew its log to be on every broker of the in-sync set."""
    silent_ms: int | None = None
    """For how long no heartbeat has come since."""


@dataclass(slots=True, kw_only=True)
class ReplicasInfo(Body):
    """One group: its master, and who is in its in-sync set and who is not."""

    master_broker_id: int | None = None
    master_address: str | None = None
    master_epoch: int | None = None
    sync_state_set_epoch: int | None = None
    in_sync_replicas: list[ReplicaIdentity] = field(default_factory=list)
    not_in_sync_replicas: list[ReplicaIdentity] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class BrokerReplicasInfo(Body):
    """Groups by broker name (request code 1006)."""

    replicas_info_table: dict[str, ReplicasInfo] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class EpochEntry(Body):
    """A part of a log that was written under one master."""

    epoch: int = 0
    start_offset: int = 0
    end_offset: int = (1 << 63) - 1
    """The log offset after its last byte; 2**63 - 1 while the part still grows."""


@dataclass(slots=True, kw_only=True)
class EpochEntryCache(Body):
    """The epochs of a broker's log (request code 1007)."""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: int = 0
    """0 for the master, otherwise the id of the broker in its group."""
    epoch_list: list[EpochEntry] = field(default_factory=list)
    max_offset: int = 0
    """The end of the log, in bytes."""
