"""Consumer offsets of groups, and the bodies that move them.

Rule: every offset here is a queue offset, in entries.

Source: common/protocol/body (4.9.7), common/protocol/topic/OffsetMovedEvent.java,
store/schedule/DelayOffsetSerializeWrapper.java, client/consumer/store/OffsetSerializeWrapper.java,
common/message/MessageQueueForC.java.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from remoting.bodies.base import Body
from remoting.bodies.queues import MessageQueue
from storefmt.config.fastjson import Json


@dataclass(slots=True, kw_only=True)
class ConsumerOffsetSerializeWrapper(Body):
    """All positions of a broker's groups (request code 43; also consumerOffset.json)."""

    offset_table: dict[str, dict[int, int]] = field(default_factory=dict)
    """``topic@group`` to queue id to position."""


@dataclass(slots=True, kw_only=True)
class DelayOffsetSerializeWrapper(Body):
    """Progress of each delay level (request code 45; also delayOffset.json)."""

    offset_table: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class OffsetSerializeWrapper(Body):
    """The offsets.json of a broadcasting client."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ResetOffsetBody(Body):
    """New positions of a group (request codes 220 and 222)."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class MessageQueueForC(Body):
    """A queue with a position in it, for clients that cannot read object keys."""

    topic: str = ""
    broker_name: str = ""
    queue_id: int = 0
    offset: int = 0
    """Queue offset, in entries."""


@dataclass(slots=True, kw_only=True)
class ResetOffsetBodyForC(Body):
    """The same for clients that cannot read object keys."""

    offset_table: list[MessageQueueForC] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class QueryCorrectionOffsetBody(Body):
    """Lowest position per queue id over some groups (request code 308)."""

    correction_offsets: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class GetConsumerStatusBody(Body):
    """Positions as the clients themselves see them (request codes 221 and 223)."""

    message_queue_table: dict[MessageQueue, int] = field(default_factory=dict)
    """One client's own table (221)."""
    consumer_table: dict[str, dict[MessageQueue, int]] = field(default_factory=dict)
    """Client id to its table (223)."""


@dataclass(slots=True, kw_only=True)
class OffsetMovedEvent(Body):
    """Body of a message in OFFSET_MOVED_EVENT: a group asked for messages that are deleted."""

    consumer_group: str | None = None
    message_queue: MessageQueue | None = None
    offset_request: int = 0
    offset_new: int = 0


@dataclass(slots=True, kw_only=True)
class QueueTimeSpan(Body):
    """Store times of one queue and of a group's position in it, all ms."""

    message_queue: MessageQueue | None = None
    min_time_stamp: int = 0
    max_time_stamp: int = 0
    consume_time_stamp: int = 0
    delay_time: int = 0

    def derived(self) -> dict[str, Json]:
        """Return the times as text, in UTC; Java writes them in the broker's time zone."""
        return {
            "minTimeStampStr": _text_of(self.min_time_stamp),
            "maxTimeStampStr": _text_of(self.max_time_stamp),
            "consumeTimeStampStr": _text_of(self.consume_time_stamp),
        }


def _text_of(time_ms: int) -> str | None:
    """Return ``2023-11-14#22:13:20:000``, None for a time the calendar does not have."""
    try:
        moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment:%Y-%m-%d#%H:%M:%S}:{time_ms % 1000:03d}"


@dataclass(slots=True, kw_only=True)
class QueryConsumeTimeSpanBody(Body):
    """Time spans of all queues of a topic (request code 303)."""

    consume_time_span_set: list[QueueTimeSpan] = field(default_factory=list)
