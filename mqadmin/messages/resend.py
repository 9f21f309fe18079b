"""Send a stored message again, and return its row.

Rule: what the user gave goes along (body, tag, keys, flag, own properties); what brokers and
clients wrote into it does not, or the new message would claim to be the old one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.output.rows import Row
from mqclient.message import Message
from storefmt.formats.properties import SYSTEM_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mqclient.message import MessageExt
    from mqclient.producer.producer import Producer


@dataclass(frozen=True, slots=True, kw_only=True)
class ResentRow(Row):
    """A stored message and the one that was sent for it; ``new_offset`` in entries."""

    identity = "msg_id"

    status: str
    msg_id: str
    unique_key: str | None
    keys: tuple[str, ...]
    topic: str
    to: str
    broker: str | None = None
    queue_id: int | None
    new_offset: int | None = None
    new_msg_id: str | None = None
    new_unique_key: str | None = None
    error: str | None = None


def not_sent(message: "MessageExt", to: str, *, status: str, error: str | None = None) -> ResentRow:
    """Return the row of a message that was not sent."""
    offset_id = message.offset_msg_id
    return ResentRow.of(message, msg_id=offset_id, status=status, to=to, queue_id=None, error=error)


def copy_of(message: "MessageExt", *, topic: str) -> Message:
    """Return a message to send with what the user gave of a stored one."""
    own = {name: value for name, value in message.properties.items() if name not in SYSTEM_NAMES}
    return Message(
        topic,
        message.body,
        tags=message.tags,
        keys=message.keys,
        flag=message.record.flag,
        properties=own,
    )


async def send_again(
    producer: "Producer",
    message: "MessageExt",
    *,
    topic: str,
    system: "Mapping[str, str] | None" = None,
) -> ResentRow:
    """Send a stored message to ``topic`` and return where the new one is.

    Args:
        system: properties of RocketMQ's own that the new message needs.
    """
    result = await producer.send(copy_of(message, topic=topic), system=system)
    return ResentRow.of(
        message,
        msg_id=message.offset_msg_id,
        status=str(result.status),
        to=topic,
        broker=result.queue.broker_name,
        queue_id=result.queue.queue_id,
        new_offset=result.queue_offset,
        new_msg_id=result.offset_msg_id,
        new_unique_key=result.msg_id,
    )
