"""Requests of RocketMQ 5: consumption by POP, and the recall of a timer message.

Source: remoting/protocol/header (5.4.0).
"""

from dataclasses import dataclass, field

from remoting.header import Header, Int32, Int64, key
from remoting.headers.rpc import Rpc


@dataclass(frozen=True, slots=True, kw_only=True)
class PopMessage(Rpc):
    """Read messages and hide them from other consumers for a while (request code 200050)."""

    consumer_group: str
    topic: str
    queue_id: Int32 = 0
    """The queue to read from, or -1 for any queue of the topic."""
    max_msg_nums: Int32 = 0
    """At most 32."""
    invisible_time: Int64 = 0
    """How long the messages are hidden unless they are acknowledged, in ms."""
    poll_time: Int64 = 0
    """How long the broker may hold the request, in ms; 0 asks for an answer at once."""
    born_time: Int64 = 0
    """When the client made the request, in ms since 1970."""
    init_mode: Int32 = 0
    """Where a group without an offset starts: 0 at the first message, 1 after the last one."""
    exp_type: str | None = None
    """TAG or SQL92; None means TAG."""
    exp: str | None = None
    """The expression of the subscription; None means every message."""
    order: bool = False
    """True asks for messages in order: one batch of a queue is out at a time."""
    attempt_id: str | None = None
    """Names one attempt, so that a repeated request in order gets the same messages again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PopMessageResponse(Header):
    """The broker tells what it popped; the records are in the body (request code 200050)."""

    pop_time: Int64 = 0
    """When the messages were popped, in ms since 1970."""
    invisible_time: Int64 = 0
    """As it was asked for, in ms."""
    revive_queue_id: Int32 = field(default=0, metadata=key("reviveQid"))
    """The queue of the revive topic that has the checkpoint."""
    rest_num: Int64 = 0
    """How many messages the queues still have."""
    start_offset_info: str | None = None
    """The first queue offset of each queue: ``0 QUEUE OFFSET`` each, with a ``;`` between them."""
    msg_offset_info: str | None = None
    """The queue offsets of each queue: ``0 QUEUE OFFSET,OFFSET`` each, with a ``;`` between."""
    order_count_info: str | None = None
    """How often each queue or offset was consumed before; only with ``order``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AckMessage(Rpc):
    """Acknowledge one popped message (request code 200051)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    """The receipt handle of the message."""
    offset: Int64
    """The queue offset of the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeekMessage(Rpc):
    """Read what a pop would give, without hiding it (request code 200052)."""

    topic: str
    queue_id: Int32 = 0
    max_msg_nums: Int32 = 0
    consumer_group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInvisibleTime(Rpc):
    """Hide a popped message for another while from now on (request code 200053)."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str
    """The receipt handle of the message."""
    offset: Int64
    """The queue offset of the message."""
    invisible_time: Int64
    """In ms, from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInvisibleTimeResponse(Header):
    """The parts of the new receipt handle (request code 200053)."""

    pop_time: Int64 = 0
    invisible_time: Int64 = 0
    revive_queue_id: Int32 = field(default=0, metadata=key("reviveQid"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification(Rpc):
    """Wait until a group has messages to pop (request code 200054)."""

    consumer_group: str
    topic: str
    queue_id: Int32 = 0
    """The queue to wait for, or -1 for any queue of the topic."""
    poll_time: Int64 = 0
    """How long the broker may hold the request, in ms."""
    born_time: Int64 = 0
    """When the client made the request, in ms since 1970."""
    order: bool = False
    attempt_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationResponse(Header):
    """Whether there are messages to pop (request code 200054)."""

    has_msg: bool = False
    polling_full: bool = False
    """True when the broker holds too many requests already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingInfo(Rpc):
    """Ask how many pops the broker holds for a group (request code 200055)."""

    consumer_group: str
    topic: str
    queue_id: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingInfoResponse(Header):
    """How many pops the broker holds (request code 200055)."""

    polling_num: Int32 = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallMessage(Rpc):
    """Take back a message that a timer has not delivered yet (request code 370)."""

    producer_group: str | None = None
    topic: str
    recall_handle: str
    """What the broker answered when the message was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallMessageResponse(Header):
    """The unique key of the recalled message (request code 370)."""

    msg_id: str
