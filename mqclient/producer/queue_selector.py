"""Which queue the next message goes to: round about and away from a broker that failed, or as
its sender says.

Rule: one counter per producer, started anywhere, so that many producers that start
together do not all begin at the same queue.

Source: client/impl/producer/TopicPublishInfo.java#selectOneMessageQueue (4.9.7, without
sendLatencyFaultEnable).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

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


LATENCY_MS: Final = (50, 100, 550, 1000, 2000, 3000, 15_000)
AWAY_MS: Final = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
FAILED_MS: Final = 30_000
"""A send that failed counts as one that took so long."""


class _Fault(NamedTuple):
    latency_ms: int
    until_ms: int


class LatencyFaults:
    """What is known of the brokers of one producer."""

    def __init__(self) -> None:
        self._latency_faults: dict[str, _Fault] = {}

    def sent(self, broker_name: str, *, elapsed_ms: int, failed: bool, now_ms: int) -> None:
        """Note how long a broker took."""
        counted_ms = FAILED_MS if failed else elapsed_ms
        place = bisect_right(LATENCY_MS, counted_ms) - 1
        away_ms = AWAY_MS[place] if place >= 0 else 0
        self._latency_faults[broker_name] = _Fault(elapsed_ms, now_ms + away_ms)

    def available(self, broker_name: str, *, now_ms: int) -> bool:
        """Whether a broker is not left out now."""
        fault = self._latency_faults.get(broker_name)
        return fault is None or now_ms >= fault.until_ms

    def pick(
        self, round_robin: RoundRobin, queues: Sequence[MessageQueue], *, now_ms: int
    ) -> MessageQueue:
        """Return the next queue of a broker that is not left out, else one of the best broker.

        Raises:
            BadRequest: there are no queues.
        """
        good = [queue for queue in queues if self.available(queue.broker_name, now_ms=now_ms)]
        if good or not queues:
            return round_robin.pick(good)
        best = min({queue.broker_name for queue in queues}, key=self._badness)
        return round_robin.pick([queue for queue in queues if queue.broker_name == best])

    def _badness(self, broker_name: str) -> tuple[int, int]:
        fault = self._latency_faults[broker_name]
        return fault.latency_ms, fault.until_ms
