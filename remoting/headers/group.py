"""Requests about groups of clients and the clients in them.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, key


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSubscriptionGroup(Header):
    """Remove a consumer group's configuration (request code 207)."""

    group_name: str
    remove_offset: bool = False
    """True also removes the group's consumer offsets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerListByGroup(Header):
    """Ask for the client ids of all connected members (request code 38)."""

    consumer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerListByGroupResponse(Header):
    """The broker returns the client ids of a group in the body (request code 38)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyConsumerIdsChanged(Header):
    """A broker tells a consumer that the members of its group changed (request code 40, oneway)."""

    consumer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterClient(Header):
    """A client leaves its producer group, its consumer group or both (request code 35)."""

    client_id: str = field(metadata=key("clientID"))
    producer_group: str | None = None
    consumer_group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterClientResponse(Header):
    """The broker confirms that it has removed a client (request code 35)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSubscriptionGroupConfig(Header):
    """Ask for the settings of one consumer group (request code 352, of 5.x)."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerConnectionList(Header):
    """Ask for the connections of a consumer group (request code 203)."""

    consumer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetProducerConnectionList(Header):
    """Ask for the connections of a producer group (request code 204)."""

    producer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAllProducerInfo(Header):
    """Ask for every producer group and its connections (request code 328)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerRunningInfo(Header):
    """Ask one connected consumer about its state (request code 307)."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumeStats(Header):
    """Ask for a group's progress per queue (request code 208)."""

    consumer_group: str
    topic: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumeStatsInBroker(Header):
    """Ask for the progress of every group on a broker (request code 317)."""

    is_order: bool = False
