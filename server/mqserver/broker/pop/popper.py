"""Answer a pop from the queues of its topic now, or hold it until a message arrives.

    checks ─> plan: read queues and retry topic ─ found ──> checkpoints, offsets ─ safe ─> answer
                └─ not in memory: a thread reads    └ nothing ──> held, or answered 210

Rule: nothing changes before the last read, so a plan can be made again. A pop that finds messages
puts one checkpoint for each queue and moves the group's offset; the answer leaves when the
checkpoints are as safe as a message that was sent.

Source: broker/processor/PopMessageProcessor.java, PeekMessageProcessor.java,
NotificationProcessor.java (5.4.0).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.filters.messagefilter import EVERYTHING, MessageFilter
from mqserver.broker.pop.checkpoints import PopCheckpoint, PopKey
from mqserver.broker.pop.order import OrderedQueues
from mqserver.broker.pop.planning import Planner, PopPlan, Taken, records_of
from mqserver.broker.pop.revive import ReviveLog
from mqserver.broker.pop.waiting import HeldPop, HeldPops, HeldState
from mqserver.broker.serving.cold_reads import fault_of
from mqserver.broker.serving.group_commit import Done
from mqserver.runtime.request import Request, RequestRefused
from mqserver.store.results import Chunk, DispatchEntry, GetStatus
from remoting.codes import LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    Notification,
    NotificationResponse,
    PopMessage,
    PopMessageResponse,
)
from remoting.receipt import (
    ORDERED_REVIVE_QUEUE,
    POP_CK,
    OrderKey,
    PoppedQueue,
    ReceiptHandle,
    encode_message_offsets,
    encode_order_counts,
    encode_start_offsets,
    topic_kind,
)
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import in_java_order, parse_properties

LOG = logging.getLogger(__name__)

ATTEMPTS_PER_SLICE: Final = 8
"""Requests that are tried again in one slice, before other requests can run."""
LOOK_AGAIN_MS: Final = 60_000
"""Longest wait of one look; a request that waits longer is looked at in between."""
_NO_MESSAGE: Final = GetStatus.NO_MESSAGE_IN_QUEUE
_ANSWERED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT})


class Popper:
    """Handles the pops of one broker.

    Args:
        context: the parts of the broker.
        revive: stores the checkpoints.
        order: the queues that are popped in order.
        planner: reads the queues.
        when_safe: calls back when what was put is safe.
        on_hold: called with the time (ms) at which ``look`` has to be called.
    """

    def __init__(
        self,
        context: BrokerContext,
        *,
        revive: ReviveLog,
        order: OrderedQueues,
        planner: Planner,
        when_safe: Callable[[Done], None],
        on_hold: Callable[[int], None],
    ) -> None:
        self.waiting = HeldPops()
        """The requests that wait for messages."""
        self._context = context
        self._revive = revive
        self._order = order
        self._planner = planner
        self._when_safe = when_safe
        self._on_hold = on_hold
        self._is_waking = False
        revive.caught_up.add(self._caught_up)

    # Requests.

    def handle_pop(self, request: Request, header: PopMessage, wants: MessageFilter) -> None:
        """Answer a pop that passed the checks, or hold it.

        Args:
            request: the request.
            header: its header.
            wants: the filter of its messages.
        """
        self._begin(request, header, wants, header.born_time)

    def handle_notification(self, request: Request, header: Notification) -> None:
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
        self._attempt(HeldPop(request, header, wants, deadline_ms, size), now_ms)

    def _attempt(self, held: HeldPop, now_ms: int) -> None:
        """Answer or hold a request, or do so later when its bytes are in the page cache."""

        def answer(at_ms: int, may_wait: bool) -> None:
            try:
                if isinstance(held.header, PopMessage):
                    self._pop(held, held.header, at_ms, may_wait=may_wait)
                else:
                    self._answer_notification(held, held.header, at_ms)
            except RequestRefused as refused:
                command = held.request.command
                held.request.reply(command.response(refused.code, remark=refused.remark))

        failed = partial(_answer_fault, held)
        self._context.cold.with_disk(
            answer, now_ms, peer=held.request.conn, size=held.size, failed=failed
        )

    def _pop(self, held: HeldPop, pop: PopMessage, now_ms: int, *, may_wait: bool) -> None:
        if not self._is_ready(now_ms):
            self._hold_or_answer(held, PopPlan(0, 0), now_ms)
            return
        if not self._revive.has_room(pop.consumer_group):
            self._answer_empty(held, LaterResponseCode.POLLING_FULL, 0, now_ms)
            return
        plan = self._planner.plan(pop, held.wants, now_ms, may_wait=may_wait)
        for (topic, group, queue_id), queue_offset in plan.moves.items():
            self._context.offsets.commit(group, topic, queue_id=queue_id, queue_offset=queue_offset)
        if not plan.taken:
            self._hold_or_answer(held, plan, now_ms)
        elif pop.order:
            self._answer_ordered(held, pop, plan, now_ms)
        else:
            self._answer_popped(held, pop, plan, now_ms)

    def _is_ready(self, now_ms: int) -> bool:
        """Return whether the revive log was read, so that it is known what is out already."""
        if not self._revive.is_caught_up:
            # A broker without a revive log is ready at once.
            self._revive.follow(now_ms)
        return self._revive.is_caught_up

    # Answers.

    def _answer_popped(self, held: HeldPop, pop: PopMessage, plan: PopPlan, now_ms: int) -> None:
        """Put a checkpoint for each queue, move the offsets, and answer when that is safe."""
        revive_queue = self._revive.choose_queue()
        group = pop.consumer_group
        given: list[Taken] = []
        for taken in plan.taken:
            key = PopKey(taken.topic, group, taken.queue_id, taken.start_offset, now_ms)
            distances = tuple(at - taken.start_offset for at in taken.queue_offsets)
            checkpoint = PopCheckpoint(key, pop.invisible_time, distances)
            try:
                put = self._revive.put_checkpoint(checkpoint, revive_queue, now_ms=now_ms)
            except RequestRefused:
                if not given:
                    raise
                plan.rest += len(taken.queue_offsets)
                continue
            self._revive.count_pop(put, revive_queue, checkpoint)
            self._context.offsets.commit(
                group, taken.topic, queue_id=taken.queue_id, queue_offset=taken.found.next_offset
            )
            given.append(taken)
        answer = self._answer(held, pop, given, plan.rest, now_ms, revive_queue)
        self._when_safe(lambda code: self._answer_safe(held, group, given, answer, code))
        self._count_given(pop, given, plan.rest)

    def _answer_safe(
        self,
        held: HeldPop,
        group: str,
        given: list[Taken],
        answer: Command,
        code: ResponseCode,
    ) -> None:
        if code in _ANSWERED:
            held.request.reply(answer)
            return
        for taken in given:
            place = {"queue_id": taken.queue_id}
            if self._context.offsets.get(group, taken.topic, **place) == taken.found.next_offset:
                self._context.offsets.commit(
                    group, taken.topic, **place, queue_offset=taken.start_offset
                )
        remark = "could not store the checkpoint of the pop; see the log of the broker"
        held.request.reply(held.request.command.response(code, remark=remark))

    def _answer_ordered(self, held: HeldPop, pop: PopMessage, plan: PopPlan, now_ms: int) -> None:
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
            self._context.offsets.commit(
                pop.consumer_group,
                taken.topic,
                queue_id=taken.queue_id,
                # A message that the filter skipped is done with.
                queue_offset=taken.queue_offsets[0],
            )
        answer = self._answer(
            held, pop, plan.taken, plan.rest, now_ms, ORDERED_REVIVE_QUEUE, counts
        )
        held.request.reply(answer)
        self._count_given(pop, plan.taken, plan.rest)

    def _count_given(self, pop: PopMessage, given: list[Taken], rest: int) -> None:
        """Count what was given out, and wake the next pop if the queues have more."""
        for taken in given:
            size = sum(map(len, taken.found.chunks))
            self._context.stats.count_get(taken.topic, pop.consumer_group, taken.found.count, size)
        if rest > 0:
            self.waiting.wake(pop.topic, pop.consumer_group, max(pop.queue_id, -1))
            self.answer_woken()

    def _answer(
        self,
        held: HeldPop,
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
                topic_kind(taken.topic), self._context.config.broker_name, taken.queue_id, 0,
            )  # fmt: skip
            chunks += [
                _with_handle(record, handle, pop.topic)
                for _, record in records_of(taken.found.chunks)
            ]
        command = held.request.command
        return command.response(remark=GetStatus.FOUND, header=header, body=b"".join(chunks))

    def _hold_or_answer(self, held: HeldPop, plan: PopPlan, now_ms: int) -> None:
        header = held.header
        if header.poll_time <= 0 or now_ms >= held.deadline_ms:
            self._answer_empty(held, LaterResponseCode.POLLING_TIMEOUT, plan.rest, now_ms)
            return
        if self.waiting.is_full(held.place):
            self._answer_empty(held, LaterResponseCode.POLLING_FULL, plan.rest, now_ms)
            return
        look_ms = min(held.deadline_ms, now_ms + LOOK_AGAIN_MS)
        if plan.blocked_until_ms is not None:
            look_ms = min(look_ms, max(plan.blocked_until_ms, now_ms + 1))
        if plan.is_cut:
            # The filter has more messages to look at.
            look_ms = now_ms
        self.waiting.add(replace(held, look_ms=look_ms, state=HeldState.WAITING))
        # This may close the connection, which then takes the request along.
        held.request.conn.count_held(held.size)
        self._on_hold(look_ms)

    def _answer_empty(self, held: HeldPop, code: LaterResponseCode, rest: int, now_ms: int) -> None:
        command, header = held.request.command, held.header
        if isinstance(header, Notification):
            is_full = code is LaterResponseCode.POLLING_FULL
            answer = NotificationResponse(has_msg=False, polling_full=is_full)
            held.request.reply(command.response(header=answer))
            return
        self._context.stats.get_missed.count += 1
        empty = PopMessageResponse(
            pop_time=now_ms,
            invisible_time=header.invisible_time,
            revive_queue_id=ORDERED_REVIVE_QUEUE if header.order else 0,
            rest_num=rest,
            start_offset_info="",
            msg_offset_info="",
            order_count_info="" if header.order else None,
        )
        held.request.reply(command.response(code, remark=_NO_MESSAGE, header=empty))

    # Notifications.

    def _answer_notification(self, held: HeldPop, header: Notification, now_ms: int) -> None:
        plan = PopPlan(0, 0)
        if self._is_ready(now_ms) and self._planner.has_message(header, plan, now_ms):
            answer = NotificationResponse(has_msg=True, polling_full=False)
            held.request.reply(held.request.command.response(header=answer))
        else:
            self._hold_or_answer(held, plan, now_ms)

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

    def drop_topic(self, topic: str, *, now_ms: int) -> None:
        """End the pops of a topic that was deleted, and answer what waits for it."""
        self._revive.end_topic(topic, now_ms=now_ms)
        self.waiting.wake_all(topic)
        self._order.drop(topic=topic)
        self.answer_woken()

    def drop_group(self, group: str, *, now_ms: int) -> None:
        """End the pops of a group that was deleted with its offsets."""
        self._revive.end_group(group, now_ms=now_ms)
        self._order.drop(group=group)

    def _caught_up(self, now_ms: int) -> None:
        self.waiting.wake_all()
        self.answer_woken()

    def answer_woken(self) -> None:
        """Try what was woken, on the next passes of the loop."""
        if not self._is_waking and self.waiting.has_woken:
            self._is_waking = True
            self._context.cold.soon(self._try_woken)

    def _try_woken(self, now_ms: int) -> None:
        self._is_waking = False
        for held in self.waiting.woken(ATTEMPTS_PER_SLICE):
            conn = held.request.conn
            conn.count_held(-held.size)
            if conn.is_closing:
                continue
            try:
                self._attempt(held, now_ms)
            except Exception as error:
                _answer_fault(held, error)
        self.answer_woken()


def _answer_fault(held: HeldPop, error: Exception) -> None:
    request = held.request
    request.reply(request.command.response(ResponseCode.SYSTEM_ERROR, remark=fault_of(error)))


def _with_handle(data: bytes, handle: ReceiptHandle, topic: str) -> bytes:
    """Return a record of a retry topic as consumers get it: under their topic, with its handle."""
    record: Record = decode_record(data, check_crc=False)
    named = parse_properties(record.properties_raw)
    own = replace(handle, queue_offset=record.queue_offset)
    named.setdefault(POP_CK, own.encode())
    properties = in_java_order(named).encode()
    return record._replace(topic=topic, properties_raw=properties).encode()
