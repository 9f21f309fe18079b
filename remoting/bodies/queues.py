"""A queue as bodies name it.

Rule: queues sort by topic, then broker name, then queue id. Java clients sort both lists of a
rebalance so; two members that sorted differently would take the same queue.

Source: common/message/MessageQueue.java#compareTo.
"""

from dataclasses import dataclass

from remoting.bodies.base import Body


@dataclass(frozen=True, slots=True, order=True)
class MessageQueue(Body):
    """One queue of a topic on one broker."""

    topic: str = ""
    broker_name: str = ""
    queue_id: int = 0

    def __str__(self) -> str:
        return f"{self.topic}/{self.broker_name}/{self.queue_id}"
