"""Requests about offsets: where queues begin and end, and what a group reads next.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAllConsumerOffset(Header):
    """Ask for the offsets of all groups (request code 43).

    Java sends no field and ignores this one.
    """

    ha_beyond_master: bool = False
    """Leave out what a slave has from its master; a returning master of ours sends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffset(Rpc):
    """Ask for the next queue offset that will be written (request code 30)."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMaxOffsetResponse(Header):
    """The broker returns the max offset of a queue (request code 30)."""

    offset: Int64
    """The next queue offset that will be written, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffset(Rpc):
    """Ask for the first queue offset that can be read (request code 31)."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMinOffsetResponse(Header):
    """The broker returns the min offset of a queue (request code 31)."""

    offset: Int64
    """The first queue offset that can be read, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffset(Rpc):
    """Ask for the message stored nearest to a time (request code 29)."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    """The store time to look for, in ms since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOffsetResponse(Header):
    """The broker returns the offset that belongs to a time (request code 29)."""

    offset: Int64
    """The queue offset of the nearest message, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretime(Rpc):
    """Ask when the first message of a queue was stored (request code 32)."""

    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class GetEarliestMsgStoretimeResponse(Header):
    """The broker returns when the first message of a queue was stored (request code 32)."""

    timestamp: Int64
    """The store time, in ms since 1970; -1 for an empty queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffset(Rpc):
    """Ask for the consumer offset of a group in one queue (request code 14)."""

    consumer_group: str
    topic: str
    queue_id: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumerOffsetResponse(Header):
    """The broker returns the consumer offset of a group (request code 14)."""

    offset: Int64
    """The queue offset that the group will read next, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConsumerOffset(Rpc):
    """Set the consumer offset of a group in one queue (request code 15)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64
    """The queue offset to read next, in entries; it is not the last one that was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConsumerOffsetResponse(Header):
    """The broker confirms that it has set a consumer offset (request code 15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOffset(Header):
    """Move a group to a time in every queue of a topic.

    An operator sends request code 222 to a broker, which sends 220 to the members of the group.
    """

    topic: str
    group: str
    timestamp: Int64 = 0
    """The store time to move to, in ms since 1970; -1 means the end of each queue."""
    is_force: bool = False
    """True also moves the group forward; False moves it only back."""
    queue_id: Int32 | None = None
    """From 5.x on: this queue alone."""
    offset: Int64 | None = None
    """From 5.x on, with ``queue_id``: the queue offset to move to, in place of a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneGroupOffset(Header):
    """Copy the consumer offsets of one group to another group (request code 314)."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCorrectionOffset(Header):
    """Ask for the lowest consumer offset of all groups in each queue (request code 308).

    The answer is Long.MAX_VALUE where the lowest offset is above that of ``compare_group``.
    """

    filter_groups: str | None = None
    """Groups separated by commas; 4.9 brokers DELETE the consumer offsets of these groups."""
    compare_group: str
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeTimeSpan(Header):
    """Ask how far a group is behind in each queue, as store times (request code 303)."""

    topic: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GetConsumerStatus(Header):
    """Ask the members of a group for the offsets that they have in memory.

    An operator sends request code 223 to a broker, which sends 221 to the members of the group.
    """

    topic: str
    group: str
    client_addr: str | None = None
    """The client id of one member; None asks all members."""
