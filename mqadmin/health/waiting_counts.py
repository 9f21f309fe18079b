"""How many messages of a topic still wait: delayed, timer and half messages.

    delayed    entries of SCHEDULE_TOPIC_XXXX behind the broker's position in each level, read one
               by one, because no request counts them by topic
    timer      GET_TIMER_METRICS: counts by topic; a broker of 4.9 has no timer messages
    half       GET_OPEN_TRANSACTIONS of our broker; the half topic of a Java broker gives an upper
               bound for all topics together

Rule: reading is bounded. A count that did not reach the end says "at least".
"""

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from mqadmin.cluster.brokers import ServerNode
from mqadmin.health.checkup_facts import undecided_queues
from mqadmin.messages.broker_reader import QueueSpan, read_queue
from mqclient.client.instance import MQClient
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused, ClientError, NotFound
from remoting.codes import ResponseCode
from storefmt.formats.properties import REAL_TOPIC
from storefmt.names import SCHEDULE_TOPIC, TOOLS_GROUP

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

DELAYED_READ_MAX: Final = 5_000
"""How many delayed messages are read at one broker, of any topic."""


@dataclass(frozen=True, slots=True)
class WaitingCounts:
    """How many messages of a topic wait, over all brokers that were asked.

    Attributes:
        delayed_complete, half_complete: False if there may be more.
        unknown: what could not be found out, as texts.
    """

    delayed: int = 0
    timer: int = 0
    half: int = 0
    delayed_complete: bool = True
    half_complete: bool = True
    unknown: tuple[str, ...] = ()

    def __add__(self, other: Self) -> "WaitingCounts":
        return WaitingCounts(
            self.delayed + other.delayed,
            self.timer + other.timer,
            self.half + other.half,
            self.delayed_complete and other.delayed_complete,
            self.half_complete and other.half_complete,
            self.unknown + other.unknown,
        )

    def text(self) -> str:
        """Return the counts, as in "at least 12 delayed and 1 half message(s)"; "" for none."""
        kinds = (
            ("delayed", self.delayed, self.delayed_complete),
            ("timer", self.timer, True),
            ("half", self.half, self.half_complete),
        )
        parts = [
            f"{'' if complete else 'at least '}{count} {kind}"
            for kind, count, complete in kinds
            if count or not complete
        ]
        if not parts:
            return ""
        *first, last = parts
        return f"{', '.join(first)} and {last} message(s)" if first else f"{last} message(s)"


async def count_waiting(
    admin: "Admin", client: MQClient, nodes: Iterable[ServerNode], topic: str
) -> WaitingCounts:
    """Return how many messages of a topic wait at masters; what is refused is in ``unknown``."""
    consumer = PullConsumer(client, TOOLS_GROUP)
    total = WaitingCounts()
    for node in nodes:
        for counts in await asyncio.gather(
            _or_unknown(node, _delayed(admin, consumer, node, topic)),
            _or_unknown(node, _timer(admin, node, topic)),
            _or_unknown(node, _half(admin, node, topic)),
        ):
            total += counts
    return total


async def _or_unknown(node: ServerNode, counting: Awaitable[WaitingCounts]) -> WaitingCounts:
    try:
        return await counting
    except ClientError as error:
        return WaitingCounts(unknown=(f"{node.broker}: {error}",))


async def _delayed(
    admin: "Admin", consumer: PullConsumer, node: ServerNode, topic: str
) -> WaitingCounts:
    """Count the delayed messages of a topic, reading at most ``DELAYED_READ_MAX`` entries."""
    try:
        stats = await admin.topic_stats_at(node.address, SCHEDULE_TOPIC)
    except NotFound:
        # No message was ever delayed at this broker.
        return WaitingCounts()
    # A level that has not delivered a message yet has no position.
    places = await admin.delay_offsets(node.address)
    count, read_count = 0, 0
    for queue, ends in stats.items():
        start = max(places.get(queue.queue_id + 1, 0), ends.min_offset)
        span = QueueSpan(queue, start, ends.max_offset)
        async for message in read_queue(consumer, span):
            if read_count == DELAYED_READ_MAX:
                return WaitingCounts(delayed=count, delayed_complete=False)
            read_count += 1
            count += message.properties.get(REAL_TOPIC) == topic
    return WaitingCounts(delayed=count)


async def _timer(admin: "Admin", node: ServerNode, topic: str) -> WaitingCounts:
    try:
        counts = await admin.timer_metrics(node.address)
    except BrokerRefused as error:
        if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            return WaitingCounts()
        raise
    return WaitingCounts(timer=counts.get(topic, 0))


async def _half(admin: "Admin", node: ServerNode, topic: str) -> WaitingCounts:
    view = await admin.open_transactions(node.address)
    if view is not None:
        count = sum(half.topic == topic for half in view.transactions)
        return WaitingCounts(half=count, half_complete=view.is_complete)
    queues = await undecided_queues(admin, node.address)
    count_max = sum(end - passed for _, passed, end in queues)
    if not count_max:
        return WaitingCounts()
    return WaitingCounts(
        unknown=(
            f"{node.broker} does not list the topics of its half messages (at most {count_max})",
        )
    )
