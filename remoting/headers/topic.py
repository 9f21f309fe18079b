"""Requests that create, delete and describe the topics of a broker.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, key


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic(Header):
    """Create a topic or replace its configuration on one broker (request code 17)."""

    topic: str
    default_topic: str
    """The template topic, TBW102; the broker does not use it in this request."""
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    """A sum of permission bits: 4 to read, 2 to write, 1 to inherit."""
    topic_filter_type: str
    """SINGLE_TAG or MULTI_TAG."""
    topic_sys_flag: Int32 | None = None
    order: bool = False
    """True for an ordered topic, whose queues do not change when a broker is away."""
    attributes: str | None = None
    """``+name=value,-name``: attributes to set and to remove (RocketMQ 5)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic(Header):
    """Remove a topic and its consume queues from one broker (request code 215)."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAllTopicConfigResponse(Header):
    """The broker returns all its topics in the body (request code 21)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicConfig(Header):
    """Ask for the configuration of one topic (request code 351, of 5.x)."""

    topic: str
    is_logical: bool | None = field(default=None, metadata=key("lo"))
    """True for the mapping of a static topic as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicStatsInfo(Header):
    """Ask for the min and max offset of every queue of a topic (request code 202)."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicsByCluster(Header):
    """Ask the name server for the topics of one cluster (request code 224)."""

    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTopicConsumeByWho(Header):
    """Ask which groups consume a topic (request code 300)."""

    topic: str
