"""Positions in queues: where they begin and end, and where a group is.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffset(Rpc):
    """Ask for the next queue offset that will be written (request code 30)."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffsetResponse(Header):
    """Answer to request code 30."""

    offset: Int64
    """Queue offset, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffset(Rpc):
    """Ask for the first queue offset that can be read (request code 31)."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffsetResponse(Header):
    """Answer to request code 31."""

    offset: Int64
    """Queue offset, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffset(Rpc):
    """Ask for the message stored nearest to a time (request code 29)."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    """Store time, ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffsetResponse(Header):
    """Answer to request code 29."""

    offset: Int64
    """Queue offset of the nearest message, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretime(Rpc):
    """Ask when the first message of a queue was stored (request code 32)."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretimeResponse(Header):
    """Answer to request code 32."""

    timestamp: Int64
    """Store time, ms; -1 for an empty queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffset(Rpc):
    """Read a group's position in one queue (request code 14)."""

    consumer_group: str
    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffsetResponse(Header):
    """Answer to request code 14."""

    offset: Int64
    """Next queue offset the group will read, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConsumerOffset(Rpc):
    """A consumer group moves its position in one queue (request code 15)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64
    """Next queue offset to read, in entries; not the last one read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConsumerOffsetResponse(Header):
    """Answer to request code 15."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffset(Header):
    """Move a group to a time in every queue of a topic (request codes 222 and, to clients, 220)."""

    topic: str
    group: str
    timestamp: Int64 = 0
    """Store time to go to, ms; -1 means the end."""
    is_force: bool = False
    """True also moves forward; otherwise only back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneGroupOffset(Header):
    """Copy one group's positions to another group (request code 314)."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCorrectionOffset(Header):
    """Compare the lowest positions over groups with another group (request code 308)."""

    filter_groups: str | None = None
    """Comma separated groups; 4.9 brokers DELETE their positions."""
    compare_group: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeTimeSpan(Header):
    """Ask how far a group is behind, in time, per queue (request code 303)."""

    topic: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerStatus(Header):
    """Ask a group's clients for their own positions (request codes 223 and, to clients, 221)."""

    topic: str
    group: str
    client_addr: str | None = None
    """One client id, or nothing for all members."""
