"""Requests about a whole broker: its configuration, statistics, role and filter servers.

Source: common/protocol/header, common/protocol/header/filtersrv (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, Int64, key, limits


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteSlave(Header):
    """Make a slave the master (request code 10003, only in our broker)."""

    role: str | None = None
    """ASYNC_MASTER or SYNC_MASTER; None means the role that its master had."""
    force: bool = False
    """Promote it even if it is known to lack messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoteMaster(Header):
    """Turn a master that was replaced into a slave (request code 10004, only in our broker)."""

    broker_id: Int64 = field(metadata=limits(low=1))
    """The broker id that it gets; it is 1 or more."""
    cut_tail: bool = False
    """Copy the end of the log that the new master's log does not have, and cut it."""
    force: bool = False
    """Demote it even if it has not heard of a new master."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaEpoch(Header):
    """The field that our brokers and name servers send each other in addition to Java's.

    The requests 103 and 322 and their answers carry it; Java ignores fields that it does not
    know. A broker that does not send the field has epoch 0.
    """

    ha_epoch: Int64 = field(default=0, metadata=limits(low=0))
    """When the newest promotion was ordered, in ms since 1970; 0 when there was none."""
    ha_epoch_proof: str | None = None
    """Proves that the cluster's own account gave this epoch; None without accounts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEpoch(Header):
    """Ask a broker for its epoch (request code 10005, only in our broker); it needs no key."""

    broker_name: str
    """The name that both brokers should have."""
    challenge: str
    """A random text that is never used again."""
    access_key: str | None = None
    """The account that the proof is asked of; None for one that the answering broker chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEpochResponse(Header):
    """A broker returns its epoch (request code 10005)."""

    broker_name: str
    epoch: Int64 = field(metadata=limits(low=0))
    """The epoch of the promotion that its log follows; 0 for none."""
    role: str
    ha_address: str = ""
    """``host:port`` where its slaves connect; empty if it is a slave."""
    problem: str = ""
    """Why it accepts no messages, in one word; empty if it does."""
    proof: str | None = None
    """Proves all of this, and the challenge; None without an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerConfigResponse(Header):
    """The broker returns the version of its settings (request code 26); they are in the body."""

    version: str
    """The DataVersion as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBrokerStatsData(Header):
    """Ask for one statistic by name and key (request code 315)."""

    stats_name: str
    """The name of the statistic, such as TOPIC_PUT_NUMS."""
    stats_key: str
    """What was counted, such as a topic, or ``topic@group``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterFilterServer(Header):
    """A filter server announces itself to a broker (request code 301)."""

    filter_server_addr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterFilterServerResponse(Header):
    """The broker returns its name and id to a filter server (request code 301)."""

    broker_name: str
    broker_id: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterMessageFilterClass(Header):
    """Upload a filter class to a filter server (request code 302)."""

    consumer_group: str
    topic: str
    class_name: str
    class_crc: Int32 = field(metadata=key("classCRC"))
