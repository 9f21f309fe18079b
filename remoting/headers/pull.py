"""Reading from a queue.

Source: common/protocol/header (4.9.7).
"""

from dataclasses import dataclass

from remoting.header import Header, Int32, Int64
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessage(Rpc):
    """Read messages from a queue offset on, perhaps waiting for them (request code 11)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    """First queue offset wanted, in entries."""
    max_msg_nums: Int32
    sys_flag: Int32
    """1 commit, 2 may wait, 4 carries a subscription, 8 class filter, 16 lite pull."""
    commit_offset: Int64
    """Position to commit when bit 1 of ``sys_flag`` is set, in entries."""
    suspend_timeout_millis: Int64
    """How long the broker may hold the request, ms."""
    subscription: str | None = None
    """Tag or SQL92 expression; only with bit 4 of ``sys_flag``."""
    sub_version: Int64
    """The subscription's version, a time in ms."""
    expression_type: str | None = None
    """TAG or SQL92; nothing means TAG."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullMessageResponse(Header):
    """Where to go on, and the ends of the queue; the records are in the body."""

    suggest_which_broker_id: Int64
    """Broker to ask next: 0 master, 1 and up slaves."""
    next_begin_offset: Int64
    """Queue offset to ask for next, in entries."""
    min_offset: Int64
    """First readable queue offset, in entries."""
    max_offset: Int64
    """Next queue offset to be written, in entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConsumeQueue(Header):
    """Look at raw consume queue entries (request code 321)."""

    topic: str | None = None
    queue_id: Int32 = 0
    index: Int64 = 0
    """First queue offset wanted, in entries."""
    count: Int32 = 0
    consumer_group: str | None = None
