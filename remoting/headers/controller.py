"""Requests between brokers, controllers and tools in the controller mode of RocketMQ 5.

A *group* is the brokers of one broker name. Each has an id of its own, from 1, which the controller
gives out; this id is not the ``brokerId`` of a route, where the master is 0.

Source: remoting/protocol/header/controller, remoting/protocol/header/namesrv/
BrokerHeartbeatRequestHeader.java (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, Int64, key


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeat(Header):
    """A broker is alive, and this is how far its log reaches (request code 904)."""

    cluster_name: str
    broker_name: str
    broker_addr: str
    broker_id: Int64 | None = None
    epoch: Int32 | None = None
    """The newest master epoch in its epoch file; -1 for an empty one."""
    max_offset: Int64 | None = None
    """The end of its log, in bytes."""
    confirm_offset: Int64 | None = None
    """Up to where every replica of the in-sync set has the log, in bytes."""
    heartbeat_timeout_ms: Int64 | None = field(default=None, metadata=key("heartbeatTimeoutMills"))
    """After so long a silence the broker counts as dead."""
    election_priority: Int32 | None = None
    """Of equal logs the lower number is elected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterSyncStateSet(Header):
    """A master changes the in-sync set; the new set is in the body (request code 1001)."""

    broker_name: str
    master_broker_id: Int64
    master_epoch: Int32
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterSyncStateSetResponse(Header):
    """The in-sync set has changed (request code 1001); it is in the body."""

    new_sync_state_set_epoch: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectMaster(Header):
    """A broker or an operator asks for the election of a master (request code 1002)."""

    cluster_name: str
    broker_name: str
    broker_id: Int64
    """Who asks, or who shall be the master; -1 for nobody."""
    designate_elect: bool
    """True: exactly ``broker_id`` shall be the master, as an operator asks."""
    is_unclean: bool | None = None
    """Our extension: the broker may be outside the in-sync set; other controllers ignore it."""
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectMasterResponse(Header):
    """The master of the group (request code 1002); the in-sync set is in the body."""

    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerToController(Header):
    """A broker that has its id announces its address (request code 1003)."""

    cluster_name: str
    broker_name: str
    broker_id: Int64
    broker_address: str
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerToControllerResponse(Header):
    """The live master of the group, if there is one (request code 1003)."""

    cluster_name: str
    broker_name: str
    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None
    sync_state_set_epoch: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplicaInfo(Header):
    """Ask who the master of a group is (request code 1004)."""

    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplicaInfoResponse(Header):
    """The master of a group (request code 1004); the first two are absent if it has none."""

    master_broker_id: Int64 | None = None
    master_address: str | None = None
    master_epoch: Int32 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMetaDataResponse(Header):
    """Which controller leads (request code 1005)."""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: bool | None = None
    peers: str | None = None
    """``n0:host:port;``, each peer with a semicolon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyBrokerRoleChanged(Header):
    """The master of a group has changed (request code 1008); the in-sync set is in the body."""

    master_broker_id: Int64
    master_address: str
    master_epoch: Int32
    sync_state_set_epoch: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanBrokerData(Header):
    """Forget brokers of a group, or the whole group (request code 1011)."""

    broker_name: str
    cluster_name: str | None = None
    broker_controller_ids_to_clean: str | None = None
    """Ids with semicolons between them; absent or blank for the whole group."""
    is_clean_living_broker: bool = False
    invoke_time: Int64 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetNextBrokerId(Header):
    """Ask for the next free id of a group (request code 1012)."""

    cluster_name: str
    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetNextBrokerIdResponse(Header):
    """The next free id of a group (request code 1012)."""

    cluster_name: str
    broker_name: str
    next_broker_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBrokerId(Header):
    """A broker takes an id of a group (request code 1013)."""

    cluster_name: str
    broker_name: str
    applied_broker_id: Int64
    register_check_code: str
    """``host:port;ms since 1970``: the same code may ask for the same id again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyBrokerIdResponse(Header):
    """The id has been given (request code 1013)."""

    cluster_name: str
    broker_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddBroker(Header):
    """Start a broker in a BrokerContainer of RocketMQ 5 (request code 902)."""

    config_path: str
    """Of the broker's settings, on the machine of the container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveBroker(Header):
    """Stop a broker in a BrokerContainer of RocketMQ 5 (request code 903)."""

    broker_name: str
    broker_cluster_name: str
    broker_id: Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMasterFlushOffset(Header):
    """Tell a slave of RocketMQ 5 how far its master has flushed (request code 908)."""

    master_flush_offset: Int64
    """A log offset, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeHaInfo(Header):
    """Ask a broker where slaves connect (request code 906), and its answer.

    Only a master answers with addresses. The fields are those of Java's two headers.
    """

    master_ha_address: str | None = None
    """The HA port, ``host:port``; a request that has it would change it, so ours never do."""
    master_flush_offset: Int64 | None = None
    master_address: str | None = None
    broker_name: str | None = None
    master_epoch: Int32 | None = None
    """Our extension: the epoch by which the master leads."""
