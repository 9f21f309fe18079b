"""Bodies that return the consumer offsets of groups, and bodies that set them.

Rule: every offset in this module is a queue offset, in entries.

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
    """All consumer offsets of a broker.

    Request code 43 returns them, and consumerOffset.json stores them.
    """

    offset_table: dict[str, dict[int, int]] = field(default_factory=dict)
    """The consumer offset of each queue id, by ``topic@group``."""


@dataclass(slots=True, kw_only=True)
class DelayOffsetSerializeWrapper(Body):
    """The queue offset that each delay level delivers next.

    Request code 45 returns them, and delayOffset.json stores them.
    """

    offset_table: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class OffsetSerializeWrapper(Body):
    """The content of a broadcasting client's offsets.json."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ResetOffsetBody(Body):
    """The new consumer offsets of a group (request codes 220 and 222)."""

    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class MessageQueueForC(Body):
    """A queue and an offset in it, for clients that cannot read objects as keys."""

    topic: str = ""
    broker_name: str = ""
    queue_id: int = 0
    offset: int = 0
    """The queue offset, in entries."""


@dataclass(slots=True, kw_only=True)
class ResetOffsetBodyForC(Body):
    """The same as ``ResetOffsetBody``, for clients that cannot read objects as keys."""

    offset_table: list[MessageQueueForC] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class QueryCorrectionOffsetBody(Body):
    """The broker returns the lowest offset of all groups, by queue id (request code 308)."""

    correction_offsets: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class GetConsumerStatusBody(Body):
    """Clients return the offsets that they have in memory (request codes 221 and 223)."""

    message_queue_table: dict[MessageQueue, int] = field(default_factory=dict)
    """The offsets of one client; only request code 221 has them."""
    consumer_table: dict[str, dict[MessageQueue, int]] = field(default_factory=dict)
    """The offsets of each client, by client id; only request code 223 has them."""


@dataclass(slots=True, kw_only=True)
class OffsetMovedEvent(Body):
    """A group asked for messages that have been deleted.

    This is the body of a message in the topic OFFSET_MOVED_EVENT.
    """

    consumer_group: str | None = None
    message_queue: MessageQueue | None = None
    offset_request: int = 0
    offset_new: int = 0


@dataclass(slots=True, kw_only=True)
class QueueTimeSpan(Body):
    """The store times of messages of one queue, in ms since 1970.

    They are those of the first message, of the last, and of the last that the group has consumed.
    ``delay_time`` is the age of the message that the group reads next, in ms.
    """

    message_queue: MessageQueue | None = None
    min_time_stamp: int = 0
    max_time_stamp: int = 0
    consume_time_stamp: int = 0
    delay_time: int = 0

    def derived(self) -> dict[str, Json]:
        """Return the times as text in UTC; Java writes them in the time zone of the broker."""
        return {
            "minTimeStampStr": _text_of(self.min_time_stamp),
            "maxTimeStampStr": _text_of(self.max_time_stamp),
            "consumeTimeStampStr": _text_of(self.consume_time_stamp),
        }


def _text_of(time_ms: int) -> str | None:
    """Return ``2023-11-14#22:13:20:000``; None for a time that the calendar does not have."""
    try:
        moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment:%Y-%m-%d#%H:%M:%S}:{time_ms % 1000:03d}"


@dataclass(slots=True, kw_only=True)
class QueryConsumeTimeSpanBody(Body):
    """The broker returns the store times of all queues of a topic (request code 303)."""

    consume_time_span_set: list[QueueTimeSpan] = field(default_factory=list)
