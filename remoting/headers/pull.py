"""Requests that read from a queue.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessage(Rpc):
    """Read messages from a queue offset on; the broker may wait for new ones (request code 11)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    """The first queue offset to read, in entries."""
    max_msg_nums: Int32
    sys_flag: Int32
    """A sum of bits.

    1 commits ``commit_offset``, 2 lets the broker wait for messages, 4 says that the request
    carries a subscription, 8 asks for a class filter, and 16 marks a lite pull consumer.
    """
    commit_offset: Int64
    """The consumer offset to commit when ``sys_flag`` has the bit 1, in entries."""
    suspend_timeout_millis: Int64
    """How long the broker may hold the request, in ms."""
    subscription: str | None = None
    """An expression of tags or of SQL92; it counts only when ``sys_flag`` has the bit 4."""
    sub_version: Int64
    """The version of the subscription: when it was made, in ms since 1970."""
    expression_type: str | None = None
    """TAG or SQL92; None means TAG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessageResponse(Header):
    """The broker returns where to read next, and the ends of the queue (request code 11).

    The records are in the body.
    """

    suggest_which_broker_id: Int64
    """The id of the broker to ask next: 0 is the master, and 1 or more is a slave."""
    next_begin_offset: Int64
    """The queue offset to ask for next, in entries."""
    min_offset: Int64
    """The first readable queue offset, in entries."""
    max_offset: Int64
    """The next queue offset that will be written, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeQueue(Header):
    """Return entries of a consume queue as they are stored (request code 321)."""

    topic: str | None = None
    queue_id: Int32 = 0
    index: Int64 = 0
    """The first queue offset to return, in entries."""
    count: Int32 = 0
    consumer_group: str | None = None
