"""The queue that bodies name, and the locks that orderly consumers hold on queues.

Rule: queues are sorted by topic, then by broker name, then by queue id. A Java client sorts the
queues in this order for a rebalance; two members that sorted them differently could both take the
same queue.

Source: common/message/MessageQueue.java#compareTo, common/protocol/body/LockBatchRequestBody.java,
LockBatchResponseBody.java, UnlockBatchRequestBody.java (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body
from remoting.header import key


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue(Body):
    """One queue of a topic on one broker."""

    topic: str = ""
    broker_name: str = ""
    queue_id: int = 0

    def __str__(self) -> str:
        return f"{self.topic}/{self.broker_name}/{self.queue_id}"


@dataclass(slots=True, kw_only=True)
class LockBatchRequestBody(Body):
    """A client asks for the locks of queues, or renews them (request code 41)."""

    consumer_group: str
    client_id: str
    mq_set: list[MessageQueue] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class LockBatchResponseBody(Body):
    """The broker returns the queues that the client has locked now (request code 41)."""

    lock_ok_mq_set: list[MessageQueue] = field(default_factory=list, metadata=key("lockOKMQSet"))


@dataclass(slots=True, kw_only=True)
class UnlockBatchRequestBody(Body):
    """A client releases the locks of queues (request code 42)."""

    consumer_group: str
    client_id: str
    mq_set: list[MessageQueue] = field(default_factory=list)
