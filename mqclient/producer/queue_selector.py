"""Which queue the next message goes to: the next one in turn, or the application's choice.

    round robin           queues in turn, but not those of the broker that has just failed
    latency faults        queues in turn, but not those of slow brokers (sendLatencyFaultEnable):
                          a send of 600 ms leaves its broker out for 30 s, 2 s for 2 min, 3 s for
                          3 min, and a failed send counts as 30 s
    sharding key, select  a queue that depends on the message

Each producer starts its turn at a random queue, so that producers that start together do not all
begin with the same one. When all brokers are left out, the best of them is taken.

Rule: this module sends no requests and reads no clock; its callers pass the time.

Source: client/impl/producer/TopicPublishInfo.java#selectOneMessageQueue,
client/latency/MQFaultStrategy.java, LatencyFaultToleranceImpl.java (4.9.7).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mqclient.errors import BadRequest
from mqclient.message import Message
from remoting.bodies import MessageQueue
from storefmt.formats.javahash import string_hash

Select = Callable[[Sequence[MessageQueue], Message], MessageQueue]
"""A function that chooses a queue for a message (MessageQueueSelector)."""

Choose = Callable[[Sequence[MessageQueue]], MessageQueue]
"""A function that chooses the queue of one certain message."""


class RoundRobin:
    """Chooses queues in turn.

    Args:
        start: any number; the first queue is this one modulo their count.
    """

    def __init__(self, start: int = 0) -> None:
        self._next = start

    def pick(self, queues: Sequence[MessageQueue], *, avoid: str | None = None) -> MessageQueue:
        """Return the next queue.

        Args:
            queues: the writable queues of the topic.
            avoid: the broker that has just failed; it is chosen only when there is no other.

        Raises:
            BadRequest: there are no queues.
        """
        if not queues:
            raise BadRequest("the topic has no writable queue")
        for _ in queues:
            queue = queues[self._next % len(queues)]
            self._next += 1
            if queue.broker_name != avoid:
                return queue
        return queue


def by_hash(queues: Sequence[MessageQueue], sharding_key: str) -> MessageQueue:
    """Return the queue of a sharding key; it is the same as long as the queues are the same.

    Raises:
        BadRequest: there are no queues, or the key is not a text.

    Source: client/producer/selector/SelectMessageQueueByHash.java.
    """
    if not isinstance(sharding_key, str):
        raise BadRequest(f"sharding key {sharding_key!r} is not a text", hint="give str(key)")
    if not queues:
        raise BadRequest("the topic has no writable queue")
    # In Java the remainder has the sign of the hash, and Math.abs is applied to it.
    return queues[abs(string_hash(sharding_key)) % len(queues)]


def by_function(
    queues: Sequence[MessageQueue], message: Message, *, select: Select
) -> MessageQueue:
    """Return the queue that the application's function chooses; its errors are passed on.

    Raises:
        BadRequest: the function did not return a queue.
    """
    queue = select(queues, message)
    if not isinstance(queue, MessageQueue):
        raise BadRequest(f"select chose {queue!r}, which is not a queue of topic {message.topic}")
    return queue


def choice_of(
    message: Message,
    queue: MessageQueue | None,
    select: Select | None,
    sharding_key: str | None,
) -> Choose | None:
    """Return the function that chooses the queue of a message; None when there is none.

    Raises:
        BadRequest: the application gave more than one of the three.
    """
    if sum(way is not None for way in (queue, select, sharding_key)) > 1:
        raise BadRequest("queue, select and sharding_key exclude each other")
    if sharding_key is not None:
        return lambda queues: by_hash(queues, sharding_key)
    if select is not None:
        return lambda queues: by_function(queues, message, select=select)
    return None


LATENCY_MS: Final = (50, 100, 550, 1000, 2000, 3000, 15_000)
AWAY_MS: Final = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
FAILED_MS: Final = 30_000
"""A failed send counts as one that took this many ms."""


class _Fault(NamedTuple):
    latency_ms: int
    until_ms: int


class LatencyFaults:
    """How fast the brokers of one producer answered last."""

    def __init__(self) -> None:
        self._latency_faults: dict[str, _Fault] = {}

    def sent(self, broker_name: str, *, elapsed_ms: int, failed: bool, now_ms: int) -> None:
        """Note how long a send to a broker took.

        Args:
            broker_name: the broker.
            elapsed_ms: how long the send took.
            failed: True when the broker did not answer.
            now_ms: the time, in ms since 1970.
        """
        counted_ms = FAILED_MS if failed else elapsed_ms
        place = bisect_right(LATENCY_MS, counted_ms) - 1
        away_ms = AWAY_MS[place] if place >= 0 else 0
        self._latency_faults[broker_name] = _Fault(elapsed_ms, now_ms + away_ms)

    def available(self, broker_name: str, *, now_ms: int) -> bool:
        """Return whether a broker may be chosen now."""
        fault = self._latency_faults.get(broker_name)
        return fault is None or now_ms >= fault.until_ms

    def pick(
        self, round_robin: RoundRobin, queues: Sequence[MessageQueue], *, now_ms: int
    ) -> MessageQueue:
        """Return the next queue of a broker that may be chosen, else one of the best broker.

        Args:
            round_robin: the producer's turn.
            queues: the writable queues of the topic.
            now_ms: the time, in ms since 1970.

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
