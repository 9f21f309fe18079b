"""Which queue the next message goes to: round about and away from a broker that failed, or as
its sender says.

Rule: one counter per producer, started anywhere, so that many producers that start
together do not all begin at the same queue.

Source: client/impl/producer/TopicPublishInfo.java#selectOneMessageQueue (4.9.7, without
sendLatencyFaultEnable).
"""

from collections.abc import Callable, Sequence

from mqclient.errors import BadRequest
from mqclient.message import Message
from remoting.bodies import MessageQueue
from storefmt.javahash import string_hash

Select = Callable[[Sequence[MessageQueue], Message], MessageQueue]
"""Chooses a queue for a message (MessageQueueSelector)."""


class RoundRobin:
    """Hands out queues in turn.

    Args:
        start: where to begin, any number.
    """

    def __init__(self, start: int = 0) -> None:
        self._next = start

    def pick(self, queues: Sequence[MessageQueue], *, avoid: str | None = None) -> MessageQueue:
        """Return the next queue.

        Args:
            queues: all queues of the topic that take messages.
            avoid: broker that just failed; taken only when there is no other.

        Raises:
            BadRequest: there are no queues.
        """
        if not queues:
            raise BadRequest("the topic has no queue that takes messages")
        for _ in queues:
            queue = queues[self._next % len(queues)]
            self._next += 1
            if queue.broker_name != avoid:
                return queue
        return queue


def by_hash(queues: Sequence[MessageQueue], sharding_key: str) -> MessageQueue:
    """Return the queue of a key, the same one as long as the queues are the same.

    Raises:
        BadRequest: there are no queues, or the key is no text.

    Source: client/producer/selector/SelectMessageQueueByHash.java.
    """
    if not isinstance(sharding_key, str):
        raise BadRequest(f"sharding key {sharding_key!r} is no text", hint="str(key) is one")
    if not queues:
        raise BadRequest("the topic has no queue that takes messages")
    # Java's remainder keeps the sign of the hash, and Math.abs comes after it.
    return queues[abs(string_hash(sharding_key)) % len(queues)]


def by_function(
    queues: Sequence[MessageQueue], message: Message, *, select: Select
) -> MessageQueue:
    """Return the queue that the sender's function chooses; it raises what that raises.

    Raises:
        BadRequest: it chose none.
    """
    queue = select(queues, message)
    if not isinstance(queue, MessageQueue):
        raise BadRequest(f"select chose {queue!r}, which is no queue of topic {message.topic}")
    return queue
