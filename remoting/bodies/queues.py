"""The queue that bodies name: its topic, its broker and its id.

Rule: queues are sorted by topic, then by broker name, then by queue id. A Java client sorts the
queues in this order for a rebalance; two members that sorted them differently could both take the
same queue.

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
