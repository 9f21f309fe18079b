"""Bodies about the queue locks of orderly consumers.

Source: common/protocol/body/LockBatchRequestBody.java, LockBatchResponseBody.java,
UnlockBatchRequestBody.java (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body
from remoting.bodies.queues import MessageQueue
from remoting.header import key


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
