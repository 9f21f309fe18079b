"""Topics on a broker: create, delete, describe.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic(Header):
    """Create a topic or replace its configuration on one broker (request code 17)."""

    topic: str
    default_topic: str
    """Template topic, TBW102; the broker does not use it here."""
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    """Permission bits: 4 read, 2 write, 1 inherit."""
    topic_filter_type: str
    """SINGLE_TAG or MULTI_TAG."""
    topic_sys_flag: Int32 | None = None
    order: bool = False
    """True for a topic whose queues are never moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopic(Header):
    """Remove a topic and its consume queues from one broker (request code 215)."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAllTopicConfigResponse(Header):
    """Answer to request code 21; the topics are in the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicStatsInfo(Header):
    """Ask for first and last offset of every queue of a topic (request code 202)."""

    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetTopicsByCluster(Header):
    """Ask the name server for the topics of one cluster (request code 224)."""

    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTopicConsumeByWho(Header):
    """Ask which groups consume a topic (request code 300)."""

    topic: str
