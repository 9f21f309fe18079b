"""Answer a pop from the queues of its topic now, or hold it until a message arrives.

    checks ─> plan: read queues and retry topic ─ found ──> checkpoints, offsets ─ safe ─> answer
                └─ not in memory: a thread reads    └ nothing ──> held, or answered 210

Rule: nothing changes before the last read, so a plan can be made again. A pop that finds messages
puts one checkpoint for each queue and moves the group's offset; the answer leaves when the
checkpoints are as safe as a message that was sent. As in Java one pop of five looks into the retry
topic first, the others when they have room left, and a pop of any queue begins at a random one.

Source: broker/processor/PopMessageProcessor.java, PeekMessageProcessor.java,
NotificationProcessor.java (5.4.0).
"""

import logging
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from remoting.codes import LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    Notification,
    NotificationResponse,
    PeekMessage,
    PopMessage,
    PopMessageResponse,
)
from remoting.receipt import (
    ORDERED_REVIVE_QUEUE,
    OrderKey,
    PoppedQueue,
    ReceiptHandle,
    encode_message_offsets,
    encode_order_counts,
    encode_start_offsets,
    topic_kind,
)
from server.broker.clients.offsets import NO_OFFSET, Offsets
from server.broker.config import BrokerConfig
from server.broker.filters.messagefilter import EVERYTHING, MessageFilter
from server.broker.pop.checkpoints import COUNT_MAX, Checkpoint, PopKey
from server.broker.pop.open_pops import OPEN_COUNT_MAX
from server.broker.pop.order import OrderedQueues
from server.broker.pop.revive import ReviveLog, retry_topic_of
from server.broker.pop.waiting import Held, Waiting
from server.broker.serving.cold_reads import ColdReads
from server.broker.serving.group_commit import Done
from server.broker.stats.counters import GROUP_GET_NUMS, GROUP_GET_SIZE, Statistics
from server.broker.topics import Topics
from server.runtime.request import Request, RequestRefused
from server.store.disk.nowait import ColdRead
from server.store.results import Chunk, DispatchEntry, GetResult, GetStatus
from server.store.store import MessageStore
from storefmt.config.tables import TopicConfig
from storefmt.formats.message import Record, decode_record, encode_record
from storefmt.formats.properties import in_java_order, parse_properties
from storefmt.names import RETRY_PREFIX

LOG = logging.getLogger(__name__)

RETRY_FIRST_PERCENT: Final = 20
"""Of 100 pops, those that look into the retry topic first (popFromRetryProbability)."""
FROM_MIN: Final = 0
POP_CK: Final = "POP_CK"
ATTEMPTS_PER_SLICE: Final = 8
"""Requests that are tried again in one slice, before other requests can run."""
LOOK_AGAIN_MS: Final = 60_000
"""Longest wait of one look; a request that waits longer is looked at in between."""
_MOVED: Final = frozenset({
    GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL,
})  # fmt: skip
_NO_MESSAGE: Final = GetStatus.NO_MESSAGE_IN_QUEUE
_ANSWERED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT})
_QUEUE_OFFSET_POS: Final = 20

Place = tuple[str, str, int]
"""Topic, group, queue id."""


class Taken(NamedTuple):
    """What a pop takes from one queue."""

    topic: str
    queue_id: int
    start_offset: int
    found: GetResult
    queue_offsets: tuple[int, ...]


@dataclass(slots=True)
class Plan:
    """What a pop would do: what it takes, and where it moves offsets without taking anything."""

    count_left: int
    size_left: int
    rest: int = 0
    """Messages that the queues have behind what is taken."""
    taken: list[Taken] = field(default_factory=list)
    moves: dict[Place, int] = field(default_factory=dict)
    blocked_until_ms: int | None = None
    """When the first of the queues that are blocked is free again."""
    is_cut: bool = False
    """Whether a filter ended a read although the queue has more to look at."""


@dataclass(slots=True, eq=False)
class Waiter:
    """A request to pop or to be notified, until it is answered."""

    request: Request
    header: PopMessage | Notification
    wants: MessageFilter
    deadline_ms: int
    size: int
    """Bytes that count as in flight for its connection while it waits."""


class Popper:
    """Handles the pops of one broker.

    Args:
        store: has the messages.
        config: the settings.
        topics: the topics.
        offsets: the consumer offsets, which pops move.
        revive: takes the checkpoints.
        order: the queues that are popped in order.
        stats: counts what groups read.
        cold: reads what is not in the page cache.
        when_safe: calls back when what was put is safe.
        on_hold: called with the time (ms) at which ``look`` has to be called.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        config: BrokerConfig,
        topics: Topics,
        offsets: Offsets,
        revive: ReviveLog,
        order: OrderedQueues,
        stats: Statistics,
        cold: ColdReads,
        when_safe: Callable[[Done], None],
        on_hold: Callable[[int], None],
    ) -> None:
        self.waiting = Waiting[Waiter]()
        """The requests that wait for messages."""
        self._store = store
        self._config = config
        self._topics = topics
        self._offsets = offsets
        self._revive = revive
        self._order = order
        self._stats = stats
        self._cold = cold
        self._when_safe = when_safe
        self._on_hold = on_hold
        self._is_waking = False
        revive.on_caught_up = self._caught_up

    # Requests.

    def take(self, request: Request, header: PopMessage, wants: MessageFilter) -> None:
        """Answer a pop that passed the checks, or hold it.

        Args:
            request: the request.
            header: its header.
            wants: tells which messages it takes.
        """
        self._begin(request, header, wants, header.born_time)

    def notify(self, request: Request, header: Notification) -> None:
        """Answer whether a group has messages to pop, now or when one arrives."""
        self._begin(request, header, EVERYTHING, header.born_time)

    def _begin(
        self,
        request: Request,
        header: PopMessage | Notification,
        wants: MessageFilter,
        born_ms: int,
    ) -> None:
        now_ms = request.now_ms
        # The clock of the client may be wrong; it never waits longer than it asked for.
        deadline_ms = min(born_ms or now_ms, now_ms) + header.poll_time
        size = request.held_size + wants.size
        self._try(Waiter(request, header, wants, deadline_ms, size), now_ms)

    def _try(self, waiter: Waiter, now_ms: int, tries: int = 0) -> None:
        """Answer or hold a request, or try it again when its bytes are in the page cache."""
        try:
            if isinstance(waiter.header, PopMessage):
                self._pop(waiter, waiter.header, now_ms, may_wait=tries >= self._cold.tries_max)
            else:
                self._tell(waiter, waiter.header, now_ms)
        except ColdRead as cold:
            waiter.request.conn.keep(waiter.size)
            self._cold.warm(cold, lambda at_ms: self._again(waiter, at_ms, tries + 1))
        except RequestRefused as refused:
            answer = waiter.request.command.response(refused.code, remark=refused.remark)
            waiter.request.reply(answer)

    def _again(self, waiter: Waiter, now_ms: int, tries: int) -> None:
        request = waiter.request
        request.conn.keep(-waiter.size)
        if request.conn.is_closing:
            return
        try:
            self._try(waiter, now_ms, tries)
        except OSError as error:
            remark = f"the messages cannot be read: {error}"
            request.reply(request.command.response(ResponseCode.SYSTEM_ERROR, remark=remark))

    def _pop(self, waiter: Waiter, pop: PopMessage, now_ms: int, *, may_wait: bool) -> None:
        if not self._is_ready(now_ms):
            self._hold_or_answer(waiter, Plan(0, 0), now_ms)
            return
        if self._revive.open_count >= OPEN_COUNT_MAX:
            self._answer_empty(waiter, LaterResponseCode.POLLING_FULL, 0, now_ms)
            return
        with self._cold.slices:
            plan = self._plan(pop, waiter.wants, now_ms, may_wait=may_wait)
        for (topic, group, queue_id), queue_offset in plan.moves.items():
            self._offsets.commit(group, topic, queue_id=queue_id, queue_offset=queue_offset)
        if not plan.taken:
            self._hold_or_answer(waiter, plan, now_ms)
        elif pop.order:
            self._answer_ordered(waiter, pop, plan, now_ms)
        else:
            self._answer_popped(waiter, pop, plan, now_ms)

    # Reading.

    def _settle(self, place: Place) -> None:
        topic, group, queue_id = place
        self._order.settle(place, self._offsets.get(group, topic, queue_id=queue_id))

    def _is_ready(self, now_ms: int) -> bool:
        """Tell whether the revive log was read, so that it is known what is out already."""
        if not self._revive.is_caught_up:
            # A broker without a revive log is ready at once.
            self._revive.run(now_ms)
        return self._revive.is_caught_up

    def _plan(self, pop: PopMessage, wants: MessageFilter, now_ms: int, *, may_wait: bool) -> Plan:
        size_max = self._config.store.max_transfer_bytes_on_message_in_memory
        plan = Plan(min(pop.max_msg_nums, COUNT_MAX), size_max)
        chance = random.randrange(100)
        topic = self._topics.get(pop.topic)
        retry = self._topics.get(retry_topic_of(pop.topic, pop.consumer_group))
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
        plan: Plan,
        pop: PopMessage,
        wants: MessageFilter,
        now_ms: int,
        may_wait: bool,
        topic: str,
        queue_id: int,
    ) -> None:
        """Read one queue, as far as the pop has room for its messages."""
        if not self._store.max_offset(topic, queue_id):
            return
        place = topic, pop.consumer_group, queue_id
        if pop.order:
            self._settle(place)
            until_ms = self._order.blocked_until(place, pop.attempt_id, now_ms=now_ms)
            if until_ms is not None:
                plan.blocked_until_ms = min(until_ms, plan.blocked_until_ms or until_ms)
                return
        start = self._start(place, pop.init_mode, plan)
        if plan.count_left <= 0 or plan.size_left <= 0:
            plan.rest += max(0, self._store.max_offset(topic, queue_id) - start)
            return
        found = self._get(plan, wants, may_wait, topic, queue_id, start)
        if found.status in _MOVED:
            LOG.warning(
                "group %s was at %d in queue %d of %s, which has %d to %d; it goes on at %d",
                pop.consumer_group, start, queue_id, topic, found.min_offset, found.max_offset,
                found.next_offset,
            )  # fmt: skip
            start = plan.moves[place] = found.next_offset
            found = self._get(plan, wants, may_wait, topic, queue_id, start)
        if found.status is GetStatus.FOUND:
            queue_offsets = tuple(at for at, _ in _records_of(found.chunks))
            plan.taken.append(Taken(topic, queue_id, start, found, queue_offsets))
            plan.count_left -= found.count
            plan.size_left -= sum(map(len, found.chunks))
        elif found.status is GetStatus.NO_MATCHED_MESSAGE or (
            found.status is GetStatus.MESSAGE_WAS_REMOVING
        ):
            plan.moves[place] = found.next_offset
            plan.is_cut = plan.is_cut or found.next_offset < found.max_offset
        plan.rest += max(0, found.max_offset - found.next_offset)

    def _get(
        self,
        plan: Plan,
        wants: MessageFilter,
        may_wait: bool,
        topic: str,
        queue_id: int,
        start: int,
    ) -> GetResult:
        return self._store.reader.get_message(
            topic,
            queue_id,
            start,
            count_max=plan.count_left,
            size_max=plan.size_left,
            codes=wants.codes,
            wants=wants,
            may_wait=may_wait,
        )

    def _start(self, place: Place, init_mode: int, plan: Plan | None = None) -> int:
        """Return where a group reads next in a queue; a group without an offset gets one."""
        topic, group, queue_id = place
        known = self._offsets.get(group, topic, queue_id=queue_id)
        if known != NO_OFFSET:
            return known
        low = self._store.min_offset(topic, queue_id)
        start = low
        if (
            init_mode != FROM_MIN
            and not topic.startswith(RETRY_PREFIX)
            and not (low <= 0 and self._is_recent(topic, queue_id))
        ):
            # As in Java the group begins with the last message.
            start = max(0, self._store.max_offset(topic, queue_id) - 1)
        if plan is not None:
            plan.moves[place] = start
        return start

    def _is_recent(self, topic: str, queue_id: int) -> bool:
        """Tell whether the first message of a queue is so young that Java has it in memory."""
        first = self._store.reader.get_message(topic, queue_id, 0, count_max=1)
        return first.status is GetStatus.FOUND and not first.suggest_slave

    # Answers.

    def _answer_popped(self, waiter: Waiter, pop: PopMessage, plan: Plan, now_ms: int) -> None:
        """Put a checkpoint for each queue, move the offsets, and answer when that is safe."""
        revive_queue = self._revive.choose_queue()
        group = pop.consumer_group
        given: list[Taken] = []
        for taken in plan.taken:
            key = PopKey(taken.topic, group, taken.queue_id, taken.start_offset, now_ms)
            distances = tuple(at - taken.start_offset for at in taken.queue_offsets)
            checkpoint = Checkpoint(key, pop.invisible_time, distances)
            try:
                put = self._revive.check_in(checkpoint, revive_queue, now_ms=now_ms)
            except RequestRefused:
                if not given:
                    raise
                plan.rest += len(taken.queue_offsets)
                continue
            self._revive.count_pop(put, revive_queue, checkpoint)
            self._offsets.commit(
                group, taken.topic, queue_id=taken.queue_id, queue_offset=taken.found.next_offset
            )
            given.append(taken)
        answer = self._answer(waiter, pop, given, plan.rest, now_ms, revive_queue)
        self._when_safe(lambda code: self._safe(waiter, group, given, answer, code))
        self._given(pop, given, plan.rest)

    def _safe(
        self,
        waiter: Waiter,
        group: str,
        given: list[Taken],
        answer: Command,
        code: ResponseCode,
    ) -> None:
        if code in _ANSWERED:
            waiter.request.reply(answer)
            return
        for taken in given:
            place = {"queue_id": taken.queue_id}
            if self._offsets.get(group, taken.topic, **place) == taken.found.next_offset:
                self._offsets.commit(group, taken.topic, **place, queue_offset=taken.start_offset)
        remark = "the checkpoint of the pop could not be stored; see the log of the broker"
        waiter.request.reply(waiter.request.command.response(code, remark=remark))

    def _answer_ordered(self, waiter: Waiter, pop: PopMessage, plan: Plan, now_ms: int) -> None:
        """Block the queues of a pop in order, and answer."""
        counts: dict[OrderKey, int] = {}
        for taken in plan.taken:
            place = taken.topic, pop.consumer_group, taken.queue_id
            batch = self._order.give_out(
                place,
                taken.queue_offsets,
                attempt_id=pop.attempt_id,
                invisible_ms=pop.invisible_time,
                now_ms=now_ms,
            )
            kind = topic_kind(taken.topic)
            for queue_offset, count in batch.consumed.items():
                counts[OrderKey(kind, taken.queue_id, queue_offset)] = count
            counts[OrderKey(kind, taken.queue_id)] = min(
                batch.consumed.get(at, 0) for at in taken.queue_offsets
            )
            self._offsets.commit(
                pop.consumer_group,
                taken.topic,
                queue_id=taken.queue_id,
                # A message that the filter passed over is done with.
                queue_offset=taken.queue_offsets[0],
            )
        answer = self._answer(
            waiter, pop, plan.taken, plan.rest, now_ms, ORDERED_REVIVE_QUEUE, counts
        )
        waiter.request.reply(answer)
        self._given(pop, plan.taken, plan.rest)

    def _given(self, pop: PopMessage, given: list[Taken], rest: int) -> None:
        """Count what was given out, and wake the next pop if the queues have more."""
        for taken in given:
            self._count(pop.consumer_group, taken)
        if rest > 0:
            self.waiting.wake(pop.topic, pop.consumer_group, max(pop.queue_id, -1))
            self.answer_woken()

    def _count(self, group: str, taken: Taken) -> None:
        stats, count = self._stats, taken.found.count
        name = f"{taken.topic}@{group}"
        for counter, value in (
            (stats.counter(GROUP_GET_NUMS, name), count),
            (stats.counter(GROUP_GET_SIZE, name), sum(map(len, taken.found.chunks))),
        ):
            counter.sum += value
            counter.times += 1
        stats.broker_get.sum += count
        stats.get_found.count += 1
        stats.transferred.count += count

    def _answer(
        self,
        waiter: Waiter,
        pop: PopMessage,
        given: list[Taken],
        rest: int,
        now_ms: int,
        revive_queue: int,
        counts: Mapping[OrderKey, int] | None = None,
    ) -> Command:
        queues = [PoppedQueue(topic_kind(taken.topic), taken.queue_id) for taken in given]
        header = PopMessageResponse(
            pop_time=now_ms,
            invisible_time=pop.invisible_time,
            revive_queue_id=revive_queue,
            rest_num=rest,
            start_offset_info=encode_start_offsets(
                {queue: taken.start_offset for queue, taken in zip(queues, given, strict=True)}
            ),
            msg_offset_info=encode_message_offsets(
                {queue: taken.queue_offsets for queue, taken in zip(queues, given, strict=True)}
            ),
            order_count_info=None if counts is None else encode_order_counts(counts),
        )
        chunks: list[Chunk] = []
        for taken in given:
            if taken.topic == pop.topic:
                chunks += taken.found.chunks
                continue
            handle = ReceiptHandle(
                taken.start_offset, now_ms, pop.invisible_time, revive_queue,
                topic_kind(taken.topic), self._config.broker_name, taken.queue_id, 0,
            )  # fmt: skip
            chunks += [
                _with_handle(record, handle, pop.topic)
                for _, record in _records_of(taken.found.chunks)
            ]
        command = waiter.request.command
        return command.response(remark=GetStatus.FOUND, header=header, body=b"".join(chunks))

    def _hold_or_answer(self, waiter: Waiter, plan: Plan, now_ms: int) -> None:
        header = waiter.header
        topic, group, queue_id = header.topic, header.consumer_group, header.queue_id
        if header.poll_time <= 0 or now_ms >= waiter.deadline_ms:
            self._answer_empty(waiter, LaterResponseCode.POLLING_TIMEOUT, plan.rest, now_ms)
            return
        if self.waiting.is_full(topic, group, queue_id):
            self._answer_empty(waiter, LaterResponseCode.POLLING_FULL, plan.rest, now_ms)
            return
        look_ms = min(waiter.deadline_ms, now_ms + LOOK_AGAIN_MS)
        if plan.blocked_until_ms is not None:
            look_ms = min(look_ms, max(plan.blocked_until_ms, now_ms + 1))
        if plan.is_cut:
            # The filter has more messages to look at.
            look_ms = now_ms
        is_pop = isinstance(header, PopMessage)
        conn = waiter.request.conn
        self.waiting.hold(Held(topic, group, queue_id, look_ms, conn, waiter, is_pop))
        # This may close the connection, which then takes the request along.
        conn.keep(waiter.size)
        self._on_hold(look_ms)

    def _answer_empty(
        self, waiter: Waiter, code: LaterResponseCode, rest: int, now_ms: int
    ) -> None:
        command, header = waiter.request.command, waiter.header
        if isinstance(header, Notification):
            is_full = code is LaterResponseCode.POLLING_FULL
            told = NotificationResponse(has_msg=False, polling_full=is_full)
            waiter.request.reply(command.response(header=told))
            return
        self._stats.get_missed.count += 1
        empty = PopMessageResponse(
            pop_time=now_ms,
            invisible_time=header.invisible_time,
            revive_queue_id=ORDERED_REVIVE_QUEUE if header.order else 0,
            rest_num=rest,
            start_offset_info="",
            msg_offset_info="",
            order_count_info="" if header.order else None,
        )
        waiter.request.reply(command.response(code, remark=_NO_MESSAGE, header=empty))

    # Notifications and peeks.

    def _tell(self, waiter: Waiter, header: Notification, now_ms: int) -> None:
        plan = Plan(0, 0)
        if self._is_ready(now_ms) and self._has_message(header, plan, now_ms):
            told = NotificationResponse(has_msg=True, polling_full=False)
            waiter.request.reply(waiter.request.command.response(header=told))
        else:
            self._hold_or_answer(waiter, plan, now_ms)

    def _has_message(self, header: Notification, plan: Plan, now_ms: int) -> bool:
        group = header.consumer_group
        for topic, queue_id in self._queues_of(header.topic, group, header.queue_id):
            place = topic, group, queue_id
            if header.order:
                self._settle(place)
                until_ms = self._order.blocked_until(place, header.attempt_id, now_ms=now_ms)
                if until_ms is not None:
                    plan.blocked_until_ms = min(until_ms, plan.blocked_until_ms or until_ms)
                    continue
            if self._store.max_offset(topic, queue_id) > self._start(place, FROM_MIN):
                return True
        return False

    def _queues_of(self, name: str, group: str, queue_id: int) -> Iterator[tuple[str, int]]:
        topic = self._topics.get(name)
        if topic is not None:
            ids = range(topic.read_queue_nums) if queue_id < 0 else [queue_id]
            yield from ((name, each) for each in ids)
        retry = self._topics.get(retry_topic_of(name, group))
        if retry is not None:
            yield from ((retry.topic_name, each) for each in range(retry.read_queue_nums))

    def peek(self, header: PeekMessage) -> tuple[list[Chunk], int]:
        """Return the records that a pop would give, and how many messages there are behind them.

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
                rest += max(0, self._store.max_offset(topic, queue_id) - start)
                continue
            found = self._store.reader.get_message(topic, queue_id, start, count_max=left)
            chunks += found.chunks
            left -= found.count
            rest += max(0, found.max_offset - found.next_offset)
        return chunks, rest

    # What wakes requests.

    def dispatched(self, entries: list[DispatchEntry]) -> None:
        """Note the messages that became visible, for the requests that wait for them."""
        if not len(self.waiting):
            return
        for entry in entries:
            if self.waiting.is_waited_for(entry.topic):
                self.waiting.arrived(entry.topic, entry.queue_id)

    def unblocked(self, topic: str, group: str, queue_id: int) -> None:
        """Wake a pop in order, because the queue that it waits for is free."""
        self.waiting.wake(topic, group, queue_id)
        self.answer_woken()

    def look(self, now_ms: int) -> None:
        """Try the requests whose time has come."""
        self.waiting.look(now_ms)
        self.answer_woken()

    def drop_topic(self, topic: str) -> None:
        """Answer what waits for a topic that was deleted."""
        self.waiting.wake_all(topic)
        self._order.drop(topic=topic)
        self.answer_woken()

    def _caught_up(self, now_ms: int) -> None:
        self.waiting.wake_all()
        self.answer_woken()

    def answer_woken(self) -> None:
        """Try what was woken, on the next passes of the loop."""
        if not self._is_waking and self.waiting.has_woken:
            self._is_waking = True
            self._cold.soon(self._try_woken)

    def _try_woken(self, now_ms: int) -> None:
        self._is_waking = False
        for held in self.waiting.woken(ATTEMPTS_PER_SLICE):
            self._again(held.request, now_ms, 0)
        self.answer_woken()


def _each_queue(topic: TopicConfig, chance: int, read: Callable[[str, int], None]) -> None:
    """Read all queues of a topic, from a random one on and downwards, as Java does."""
    count = topic.read_queue_nums
    for number in range(count):
        read(topic.topic_name, (count - 1 - number + chance) % count)


def _records_of(chunks: list[Chunk]) -> Iterator[tuple[int, bytes]]:
    """Yield the queue offset and the bytes of each record."""
    for chunk in chunks:
        pos = 0
        while pos < len(chunk):
            size = int.from_bytes(chunk[pos : pos + 4], "big")
            at = pos + _QUEUE_OFFSET_POS
            yield int.from_bytes(chunk[at : at + 8], "big"), bytes(chunk[pos : pos + size])
            pos += size


def _with_handle(data: bytes, handle: ReceiptHandle, topic: str) -> bytes:
    """Return a record of a retry topic as consumers get it: under their topic, with its handle."""
    record: Record = decode_record(data, check_crc=False)
    named = parse_properties(record.properties_raw)
    own = ReceiptHandle(
        handle.start_offset, handle.pop_time_ms, handle.invisible_ms, handle.revive_queue_id,
        handle.topic_kind, handle.broker_name, handle.queue_id, record.queue_offset,
    )  # fmt: skip
    named.setdefault(POP_CK, own.encode())
    return encode_record(
        topic=topic.encode(),
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        log_offset=record.log_offset,
        flag=record.flag,
        sys_flag=record.sys_flag,
        born_ms=record.born_ms,
        born_host=record.born_host,
        store_ms=record.store_ms,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
        prepared_transaction_offset=record.prepared_transaction_offset,
        body=record.body,
        properties=in_java_order(named).encode(),
        body_crc=record.body_crc,
    )
