"""Bodies of RocketMQ 5 about POP: acknowledgements, and how the members of a group get queues.

Source: remoting/protocol/body/BatchAck.java, BatchAckMessageRequestBody.java,
QueryAssignmentRequestBody.java, QueryAssignmentResponseBody.java,
SetMessageRequestModeRequestBody.java, MessageRequestModeSerializeWrapper.java,
common/message/MessageQueueAssignment.java, MessageRequestMode.java (5.4.0).
"""

import base64
import binascii
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from remoting.bodies.base import Body
from remoting.bodies.heartbeat import MessageModel
from remoting.bodies.queues import MessageQueue
from remoting.errors import BadBody
from remoting.header import key

BITS_MAX: Final = 4_096
"""Queue offsets from the first to the last message of one pop; a filter skips some."""


class MessageRequestMode(Enum):
    """How the members of a group get the messages of a topic."""

    PULL = "PULL"
    POP = "POP"


@dataclass(slots=True, kw_only=True)
class BatchAck(Body):
    """Acknowledged messages of one pop of one queue."""

    consumer_group: str = field(metadata=key("c"))
    topic: str = field(metadata=key("t"))
    """The topic that the group consumes, also for messages of its retry topic."""
    retry: str = field(default="0", metadata=key("r"))
    """The kind of topic, as in a receipt handle."""
    start_offset: int = field(default=0, metadata=key("so"))
    queue_id: int = field(default=0, metadata=key("q"))
    revive_queue_id: int = field(default=0, metadata=key("rq"))
    pop_time: int = field(default=0, metadata=key("pt"))
    """When the messages were popped, in ms since 1970."""
    invisible_time: int = field(default=0, metadata=key("it"))
    """How long they were hidden, in ms."""
    bits: str = field(default="", metadata=key("b"))
    """Base64 of a bit for each message, from ``start_offset`` on; the lowest bit is first."""

    def queue_offsets(self) -> list[int]:
        """Return the queue offsets of the messages.

        Raises:
            BadBody: the bits are not Base64, or too many.
        """
        try:
            bits = int.from_bytes(base64.b64decode(self.bits, validate=True), "little")
        except (binascii.Error, ValueError) as error:
            raise BadBody(f"BatchAck.b is not Base64: {error}", body="BatchAck") from None
        if bits.bit_length() > BITS_MAX:
            text = f"BatchAck.b has {bits.bit_length()} bits, the limit is {BITS_MAX}"
            raise BadBody(text, body="BatchAck")
        return [self.start_offset + n for n in range(bits.bit_length()) if bits >> n & 1]


@dataclass(slots=True, kw_only=True)
class BatchAckMessageRequestBody(Body):
    """A client acknowledges messages of several pops (request code 200151)."""

    broker_name: str | None = None
    acks: list[BatchAck] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class QueryAssignmentRequestBody(Body):
    """A member of a group asks which queues it gets (request code 400)."""

    topic: str
    consumer_group: str
    client_id: str
    strategy_name: str | None = None
    message_model: MessageModel | None = None


@dataclass(slots=True, kw_only=True)
class MessageQueueAssignment(Body):
    """A queue that a member gets, and how."""

    message_queue: MessageQueue
    mode: MessageRequestMode | None = None
    attachments: dict[str, str] | None = None


@dataclass(slots=True, kw_only=True)
class QueryAssignmentResponseBody(Body):
    """The broker tells a member its queues; None means that it keeps what it has (code 400)."""

    message_queue_assignments: list[MessageQueueAssignment] | None = None


@dataclass(slots=True, kw_only=True)
class SetMessageRequestModeRequestBody(Body):
    """Set how a group gets the messages of a topic (request code 401)."""

    topic: str
    consumer_group: str
    mode: MessageRequestMode | None = MessageRequestMode.PULL
    pop_share_queue_num: int = 0
    """How many members more share each queue; 0 for all members of the group."""


@dataclass(slots=True, kw_only=True)
class MessageRequestModeSerializeWrapper(Body):
    """All modes that were set, by topic and group (request code 402, messageRequestMode.json)."""

    message_request_mode_map: dict[str, dict[str, SetMessageRequestModeRequestBody]] = field(
        default_factory=dict
    )
