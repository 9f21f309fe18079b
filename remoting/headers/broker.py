"""A broker as a whole: configuration, statistics, the old filter servers.

Source: common/protocol/header, common/protocol/header/filtersrv (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, Int64, key


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteSlave(Header):
    """Make a slave the master (request code 10003, ours)."""

    role: str = "ASYNC_MASTER"
    force: bool = False
    """Also where it is known to lack messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetBrokerConfigResponse(Header):
    """Version of the settings; the settings are in the body (request code 26)."""

    version: str
    """DataVersion as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBrokerStatsData(Header):
    """Ask for one statistic by name and key (request code 315)."""

    stats_name: str
    """Such as TOPIC_PUT_NUMS."""
    stats_key: str
    """Such as a topic, or ``topic@group``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterFilterServer(Header):
    """A filter server announces itself (request code 301)."""

    filter_server_addr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterFilterServerResponse(Header):
    """Answer to request code 301."""

    broker_name: str
    broker_id: Int64 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterMessageFilterClass(Header):
    """Upload a filter class to a filter server (request code 302)."""

    consumer_group: str
    topic: str
    class_name: str
    class_crc: Int32 = field(metadata=key("classCRC"))
