"""Plan what a pop takes: read its queues, and change nothing.

    queues of the topic, and of the retry topic ─ group's offsets, filter, limits ─> PopPlan

Rule: a plan can be made again, as after a read of bytes that were not in the page cache. As in Java
one pop of five looks into the retry topic first, the others when they have room left, and a pop of
any queue begins at a random one.

Source: broker/processor/PopMessageProcessor.java#popMsgFromQueue, #getPopOffset,
PeekMessageProcessor.java, NotificationProcessor.java (5.4.0).
"""

import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.clients.consumer_offsets import NO_OFFSET, Place
from mqserver.broker.filters.messagefilter import MessageFilter
from mqserver.broker.pop.checkpoints import COUNT_MAX
from mqserver.broker.pop.order import OrderedQueues
from mqserver.broker.pop.revive import retry_topic_of
from mqserver.store.results import Chunk, GetResult, GetStatus
from remoting.headers import Notification, PeekMessage, PopMessage
from storefmt.config.tables import TopicConfig
from storefmt.names import RETRY_PREFIX

LOG = logging.getLogger(__name__)

RETRY_FIRST_PERCENT: Final = 20
"""Of 100 pops, those that look into the retry topic first (popFromRetryProbability)."""
FROM_MIN: Final = 0
_MOVED: Final = frozenset({
    GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL,
})  # fmt: skip
_QUEUE_OFFSET_POS: Final = 20


class Taken(NamedTuple):
    """What a pop takes from one queue."""

    topic: str
    queue_id: int
    start_offset: int
    found: GetResult
    queue_offsets: tuple[int, ...]


@dataclass(slots=True)
class PopPlan:
    """What a pop would do: what it takes, and where it moves offsets without taking anything."""

    count_left: int
    size_left: int
    rest: int = 0
    """Messages that the queues have after what is taken."""
    taken: list[Taken] = field(default_factory=list)
    moves: dict[Place, int] = field(default_factory=dict)
    blocked_until_ms: int | None = None
    """When the first of the queues that are blocked is free again."""
    is_cut: bool = False
    """Whether a filter ended a read although the queue has more to look at."""


class Planner:
    """Reads queues for the pops of one broker.

    Args:
        context: the parts of the broker.
        order: the queues that are popped in order.
    """

    def __init__(self, context: BrokerContext, *, order: OrderedQueues) -> None:
        self._context = context
        self._order = order

    def plan(
        self, pop: PopMessage, wants: MessageFilter, now_ms: int, *, may_wait: bool
    ) -> PopPlan:
        """Return what a pop would take, and change nothing.

        Raises:
            ColdRead: it is not in the page cache.
        """
        size_max = self._context.config.store.max_transfer_bytes_on_message_in_memory
        plan = PopPlan(min(pop.max_msg_nums, COUNT_MAX), size_max)
        chance = random.randrange(100)
        topic = self._context.topics.get(pop.topic)
        retry = self._context.topics.get(retry_topic_of(pop.topic, pop.consumer_group))
        retry_first = chance < RETRY_FIRST_PERCENT
        read = partial(self._plan_queue, plan, pop, wants, now_ms, may_wait)
        if retry is not None and retry_first and not pop.order:
            _each_queue(retry, chance, read)
        if topic is not None:
            if pop.queue_id < 0:
                _each_queue(topic, chance, read)
            else:
                read(topic.topic_name, pop.queue_id)
        if retry is not None and not retry_first and not pop.order:
            _each_queue(retry, chance, read)
        return plan

    def _plan_queue(
        self,
        plan: PopPlan,
        pop: PopMessage,
        wants: MessageFilter,
        now_ms: int,
        may_wait: bool,
        topic: str,
        queue_id: int,
    ) -> None:
        """Read one queue, as far as the pop has room for its messages."""
        if not self._context.store.max_offset(topic, queue_id):
            return
        place = topic, pop.consumer_group, queue_id
        if pop.order and self._is_blocked(place, pop.attempt_id, plan, now_ms):
            return
        start = self._start(place, pop.init_mode, plan)
        if plan.count_left <= 0 or plan.size_left <= 0:
            plan.rest += max(0, self._context.store.max_offset(topic, queue_id) - start)
            return
        result = self._get(plan, wants, may_wait, topic, queue_id, start)
        if result.status in _MOVED:
            LOG.warning(
                "group %s was at %d in queue %d of %s, which has %d to %d; continuing at %d",
                pop.consumer_group, start, queue_id, topic, result.min_offset, result.max_offset,
                result.next_offset,
            )  # fmt: skip
            start = plan.moves[place] = result.next_offset
            result = self._get(plan, wants, may_wait, topic, queue_id, start)
        if result.status is GetStatus.FOUND:
            queue_offsets = tuple(at for at, _ in records_of(result.chunks))
            plan.taken.append(Taken(topic, queue_id, start, result, queue_offsets))
            plan.count_left -= result.count
            plan.size_left -= sum(map(len, result.chunks))
        elif result.status is GetStatus.NO_MATCHED_MESSAGE or (
            result.status is GetStatus.MESSAGE_WAS_REMOVING
        ):
            plan.moves[place] = result.next_offset
            plan.is_cut = plan.is_cut or result.next_offset < result.max_offset
        plan.rest += max(0, result.max_offset - result.next_offset)

    def _get(
        self,
        plan: PopPlan,
        wants: MessageFilter,
        may_wait: bool,
        topic: str,
        queue_id: int,
        start: int,
    ) -> GetResult:
        return self._context.store.reader.get_message(
            topic,
            queue_id,
            start,
            count_max=plan.count_left,
            size_max=plan.size_left,
            codes=wants.codes,
            wants=wants,
            may_wait=may_wait,
        )

    def _start(self, place: Place, init_mode: int, plan: PopPlan | None = None) -> int:
        """Return where a group reads next in a queue; a group without an offset gets one."""
        topic, group, queue_id = place
        group_offset = self._context.offsets.get(group, topic, queue_id=queue_id)
        if group_offset != NO_OFFSET:
            return group_offset
        low = self._context.store.min_offset(topic, queue_id)
        start = low
        if (
            init_mode != FROM_MIN
            and not topic.startswith(RETRY_PREFIX)
            and not (low <= 0 and self._is_recent(topic, queue_id))
        ):
            # As in Java the group begins with the last message.
            start = max(0, self._context.store.max_offset(topic, queue_id) - 1)
        if plan is not None:
            plan.moves[place] = start
        return start

    def _is_recent(self, topic: str, queue_id: int) -> bool:
        """Return whether the first message of a queue is so young that Java has it in memory."""
        first = self._context.store.reader.get_message(topic, queue_id, 0, count_max=1)
        return first.status is GetStatus.FOUND and not first.suggest_slave

    def _is_blocked(self, place: Place, attempt_id: str | None, plan: PopPlan, now_ms: int) -> bool:
        """Return whether a queue is blocked for a pop in order; note in ``plan`` until when."""
        topic, group, queue_id = place
        self._order.settle(place, self._context.offsets.get(group, topic, queue_id=queue_id))
        until_ms = self._order.blocked_until(place, attempt_id, now_ms=now_ms)
        if until_ms is None:
            return False
        plan.blocked_until_ms = min(until_ms, plan.blocked_until_ms or until_ms)
        return True

    def has_message(self, header: Notification, plan: PopPlan, now_ms: int) -> bool:
        """Return whether a group has a message to pop; note in ``plan`` what is blocked."""
        group = header.consumer_group
        for topic, queue_id in self._queues_of(header.topic, group, header.queue_id):
            place = topic, group, queue_id
            if header.order and self._is_blocked(place, header.attempt_id, plan, now_ms):
                continue
            if self._context.store.max_offset(topic, queue_id) > self._start(place, FROM_MIN):
                return True
        return False

    def _queues_of(self, name: str, group: str, queue_id: int) -> Iterator[tuple[str, int]]:
        topic = self._context.topics.get(name)
        if topic is not None:
            ids = range(topic.read_queue_nums) if queue_id < 0 else [queue_id]
            yield from ((name, each) for each in ids)
        retry = self._context.topics.get(retry_topic_of(name, group))
        if retry is not None:
            yield from ((retry.topic_name, each) for each in range(retry.read_queue_nums))

    def peek(self, header: PeekMessage) -> tuple[list[Chunk], int]:
        """Return the records that a pop would give, and how many messages there are after them.

        Raises:
            ColdRead: they are not in the page cache.
        """
        left = min(header.max_msg_nums, COUNT_MAX)
        chunks: list[Chunk] = []
        rest = 0
        for topic, queue_id in self._queues_of(
            header.topic, header.consumer_group, header.queue_id
        ):
            start = self._start((topic, header.consumer_group, queue_id), FROM_MIN)
            if left <= 0:
                rest += max(0, self._context.store.max_offset(topic, queue_id) - start)
                continue
            result = self._context.store.reader.get_message(topic, queue_id, start, count_max=left)
            chunks += result.chunks
            left -= result.count
            rest += max(0, result.max_offset - result.next_offset)
        return chunks, rest


def _each_queue(topic: TopicConfig, chance: int, read: Callable[[str, int], None]) -> None:
    """Read all queues of a topic, from a random one on and downwards, as Java does."""
    count = topic.read_queue_nums
    for number in range(count):
        read(topic.topic_name, (count - 1 - number + chance) % count)


def records_of(chunks: list[Chunk]) -> Iterator[tuple[int, bytes]]:
    """Yield the queue offset and the bytes of each record."""
    for chunk in chunks:
        pos = 0
        while pos < len(chunk):
            size = int.from_bytes(chunk[pos : pos + 4], "big")
            at = pos + _QUEUE_OFFSET_POS
            yield int.from_bytes(chunk[at : at + 8], "big"), bytes(chunk[pos : pos + size])
            pos += size
