"""Answer a pull from its queue now, or hold it until a message arrives.

    checks (Java's order and texts) -> Reader.get_message -> found   -> answered
                                                          -> nothing -> may wait? held
                                                                     -> else answered 19
    woken or expired -> checked and read once more, then answered and never held again

Rule: the commit offset of a pull is stored even if the pull is held. The subscription at the
time of the request decides which message wakes it. When it is woken, the checks and the
subscription are evaluated again, as if the request had just come. Held pulls are woken in
slices, so that sends and other pulls can run in between. A ``MessageFilter`` says which messages
a pull wants.

Source: broker/processor/PullMessageProcessor.java.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from mqserver.broker.broker_context import BrokerContext
from mqserver.broker.filters.messagefilter import OPERAND_WORK, MessageFilter, raw_properties
from mqserver.broker.pull.pull_check import PullChecks, PullFields
from mqserver.broker.pull.pull_hold import ANSWER_WORK, WAIT_MS_MAX, HeldPull, HeldPulls
from mqserver.broker.serving.answers import encode_pull_answer, encode_pull_refusal
from mqserver.broker.serving.cold_reads import fault_of
from mqserver.runtime.request import RequestRefused
from mqserver.store.commitlog.log_window import WORK_MAX
from mqserver.store.results import DispatchEntry, GetResult, GetStatus, PutMessage
from remoting.aio.server import ServerConn
from remoting.bodies import MessageQueue, OffsetMovedEvent
from remoting.codes import ResponseCode
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import DELAY, KEYS, TAGS, in_java_order, parse_properties
from storefmt.names import OFFSET_MOVED_TOPIC

LOG = logging.getLogger(__name__)

COMMIT: Final = 1
SUSPEND: Final = 2

_CODES: Final = {
    GetStatus.FOUND: ResponseCode.SUCCESS,
    GetStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    GetStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.NO_MESSAGE_IN_QUEUE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.NO_MATCHED_LOGIC_QUEUE: ResponseCode.PULL_NOT_FOUND,
    GetStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
    GetStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
}
_NO_MESSAGE: Final = GetStatus.NO_MESSAGE_IN_QUEUE
_EMPTY: Final = frozenset({_NO_MESSAGE, GetStatus.NO_MATCHED_LOGIC_QUEUE})


class PendingPull(NamedTuple):
    """Everything that is needed to answer a pull."""

    conn: ServerConn
    opaque: int
    serialize: int
    pull: PullFields
    wants: MessageFilter
    size: int
    """Bytes of its expression, which count as in flight for ``conn`` while the pull waits."""


def _refuse(conn: ServerConn, serialize: int, opaque: int, refused: RequestRefused) -> None:
    conn.send(encode_pull_refusal(serialize, opaque, code=refused.code, remark=refused.remark))


def _answer_fault(waiting: PendingPull, error: Exception) -> None:
    fault = RequestRefused(ResponseCode.SYSTEM_ERROR, fault_of(error))
    _refuse(waiting.conn, waiting.serialize, waiting.opaque, fault)


class Puller:
    """Handles the pulls of one broker.

    Args:
        context: the parts of the broker.
        checks: decides what is allowed and which filter applies.
        commit_soon: writes an OFFSET_MOVED_EVENT that was put.
        on_hold: called with the deadline (ms) of each pull that is held.
        accepts_puts: returns whether the broker still stores events; not while it stops.
    """

    def __init__(
        self,
        context: BrokerContext,
        *,
        checks: PullChecks,
        commit_soon: Callable[[], None],
        on_hold: Callable[[int], None],
        accepts_puts: Callable[[], bool] = lambda: True,
    ) -> None:
        self.held: HeldPulls[PendingPull] = HeldPulls(count_max=context.config.held_pull_count_max)
        """The pulls that wait for messages."""
        self._context = context
        # A pull is so short that looking these up in the context would be seen.
        self._config, self._store = context.config, context.store
        self._cold, self._stats = context.cold, context.stats
        self._checks = checks
        self._commit_soon = commit_soon
        self._on_hold = on_hold
        self._accepts_puts = accepts_puts
        self._is_waking = False

    def handle_pull(
        self, conn: ServerConn, pull: PullFields, *, opaque: int, serialize: int, now_ms: int
    ) -> None:
        """Answer a pull or hold it.

        Args:
            conn: the connection of the consumer.
            pull: the header of the request.
            opaque: number of the request, which its answer repeats.
            serialize: serialization code of the request and so of its answer.
            now_ms: when the request was read.
        """
        try:
            wants = self._checks.check(conn, pull, now_ms)
        except RequestRefused as refused:
            _refuse(conn, serialize, opaque, refused)
            return
        size = len(pull.subscription or "") + wants.size
        waiting = PendingPull(conn, opaque, serialize, pull, wants, size)
        self._serve(
            waiting, pull.suspend_timeout_millis if pull.sys_flag & SUSPEND else None, now_ms
        )
        commits = pull.sys_flag & COMMIT and not self._config.is_slave
        if commits and pull.commit_offset >= 0:
            self._context.offsets.commit(
                pull.consumer_group,
                pull.topic,
                queue_id=pull.queue_id,
                queue_offset=pull.commit_offset,
            )

    def _serve(self, waiting: PendingPull, wait_ms: int | None, now_ms: int) -> None:
        """Answer a pull or hold it, now or when its bytes are in the page cache.

        Args:
            waiting: the pull.
            wait_ms: how long it may wait for messages; None if it may not wait.
            now_ms: the present time.
        """
        self._cold.with_disk(
            partial(self._attempt, waiting, wait_ms, now_ms),
            now_ms,
            peer=waiting.conn,
            size=waiting.size,
            failed=partial(_answer_fault, waiting),
        )

    def _attempt(
        self,
        waiting: PendingPull,
        wait_ms: int | None,
        began_ms: int,
        now_ms: int,
        may_wait: bool,
    ) -> None:
        result = self._read(waiting, may_wait=may_wait)
        if now_ms > began_ms:
            self._stats.longest_get_ms = max(self._stats.longest_get_ms, now_ms - began_ms)
        code = self._code_of(waiting, result)
        is_empty = code is ResponseCode.PULL_NOT_FOUND
        if is_empty and wait_ms is not None and self.held.has_room(waiting.conn):
            self._suspend(waiting, wait_ms, now_ms)
        else:
            self._answer(waiting, result, code, now_ms)

    def dispatched(self, entries: Iterable[DispatchEntry]) -> None:
        """Note the messages that became visible, for the pulls that wait for them."""
        hold = self.held
        if not len(hold):
            return
        for entry in entries:
            if hold.is_waited_for(entry.topic, entry.queue_id):
                hold.arrived(
                    entry.topic,
                    entry.queue_id,
                    queue_offset=entry.queue_offset,
                    tags_code=entry.tags_code,
                    properties=partial(self._properties_at, entry.log_offset),
                )

    def _properties_at(self, log_offset: int) -> dict[str, str]:
        try:
            record = self._store.reader.read_record(log_offset)
        except OSError as error:
            # The held pull gets the error when it expires and reads this message itself.
            LOG.error("cannot read the record at %d: %s", log_offset, error)
            record = None
        return {} if record is None else parse_properties(raw_properties(record))

    def answer_woken(self, now_ms: int) -> None:
        """Answer the first slice of woken pulls now, and one more on each pass of the loop."""
        if not self._is_waking and self.held.has_news:
            self._wake_some(now_ms)

    def _wake_some(self, now_ms: int) -> None:
        self._is_waking = False
        self._answer_held(self.held.wake(), now_ms)
        if self.held.has_news:
            self._is_waking = True
            self._cold.soon(self._wake_some)

    def answer_expired(self, now_ms: int) -> None:
        """Answer one slice of the pulls whose time is over; more of them may be left."""
        self._answer_held(self.held.expired(now_ms), now_ms)

    def drop_topic(self, topic: str, *, now_ms: int) -> None:
        """Answer the pulls that wait for a topic that was deleted."""
        self.held.drop_topic(topic)
        self.answer_woken(now_ms)

    def _answer_held(self, pulls: Iterable[HeldPull[PendingPull]], now_ms: int) -> None:
        for held in pulls:
            try:
                self._answer_one(held.pull, now_ms)
            except Exception as error:
                _answer_fault(held.pull, error)

    def _answer_one(self, waiting: PendingPull, now_ms: int) -> None:
        waiting.conn.count_held(-waiting.size)
        if waiting.conn.is_closing:
            return
        try:
            wants = self._checks.check(waiting.conn, waiting.pull, now_ms)
        except RequestRefused as refused:
            _refuse(waiting.conn, waiting.serialize, waiting.opaque, refused)
        else:
            self._serve(waiting._replace(wants=wants), None, now_ms)

    def _suspend(self, waiting: PendingPull, wait_ms: int, now_ms: int) -> None:
        codes, wants = waiting.wants.codes, waiting.wants.by_properties
        if not self._config.long_polling_enable:
            wait_ms, codes = self._config.short_polling_time_ms, frozenset()
        deadline_ms = now_ms + max(0, min(wait_ms, WAIT_MS_MAX))
        self.held.add(
            HeldPull(
                topic=waiting.pull.topic,
                queue_id=waiting.pull.queue_id,
                queue_offset=waiting.pull.queue_offset,
                codes=codes,
                wants=wants,
                wants_work=waiting.wants.operand_count * OPERAND_WORK,
                # With an expression, a read may use the whole budget of one read.
                answer_work=ANSWER_WORK if wants is None else WORK_MAX,
                deadline_ms=deadline_ms,
                owner=waiting.conn,
                pull=waiting,
            )
        )
        # This may close the connection, which then takes the pull along.
        waiting.conn.count_held(waiting.size)
        self._on_hold(deadline_ms)

    def _read(self, waiting: PendingPull, *, may_wait: bool) -> GetResult:
        with self._cold.slices:
            return self._store.reader.get_message(
                waiting.pull.topic,
                waiting.pull.queue_id,
                waiting.pull.queue_offset,
                count_max=waiting.pull.max_msg_nums,
                codes=waiting.wants.codes,
                wants=waiting.wants,
                may_wait=may_wait,
            )

    @staticmethod
    def _code_of(waiting: PendingPull, result: GetResult) -> ResponseCode:
        if result.status in _EMPTY and waiting.pull.queue_offset != 0:
            return ResponseCode.PULL_OFFSET_MOVED
        return _CODES[result.status]

    def _as_slave(
        self, waiting: PendingPull, result: GetResult, code: ResponseCode
    ) -> tuple[GetResult, ResponseCode]:
        """Return a slave's answer: "pull again" if it may not serve reads or lacks the offset.

        A slave may be behind its master, so an offset that it lacks is not reported as moved.
        """
        moved = code is ResponseCode.PULL_OFFSET_MOVED and not self._config.offset_check_in_slave
        if not moved and self._config.slave_read_enable:
            return result, code
        next_offset = waiting.pull.queue_offset if moved else result.next_offset
        empty = replace(result, chunks=[], next_offset=next_offset)
        return empty, ResponseCode.PULL_RETRY_IMMEDIATELY

    def _answer(
        self, waiting: PendingPull, result: GetResult, code: ResponseCode, now_ms: int
    ) -> None:
        if self._config.is_slave:
            result, code = self._as_slave(waiting, result, code)
        frame = encode_pull_answer(
            waiting.serialize,
            waiting.opaque,
            code=code,
            # Java creates a queue when it is read, so a client sees it as empty, never missing.
            remark=_NO_MESSAGE if result.status in _EMPTY else result.status,
            next_offset=result.next_offset,
            min_offset=result.min_offset,
            max_offset=result.max_offset,
            chunks=result.chunks,
            suggested_broker_id=self._checks.suggested_broker(
                waiting.pull.consumer_group, is_slow=result.suggest_slave
            ),
        )
        waiting.conn.send(frame)
        if code is ResponseCode.SUCCESS:
            pull = waiting.pull
            self._stats.count_get(
                pull.topic, pull.consumer_group, result.count, sum(map(len, result.chunks))
            )
            return
        self._stats.get_missed.count += 1
        if code is ResponseCode.PULL_OFFSET_MOVED and not self._config.is_slave:
            self._put_moved_event(waiting, result.next_offset, now_ms)

    def _put_moved_event(self, waiting: PendingPull, queue_offset: int, now_ms: int) -> None:
        event = OffsetMovedEvent(
            consumer_group=waiting.pull.consumer_group,
            message_queue=MessageQueue(
                topic=waiting.pull.topic,
                broker_name=self._config.broker_name,
                queue_id=waiting.pull.queue_id,
            ),
            offset_request=waiting.pull.queue_offset,
            offset_new=queue_offset,
        )
        properties = in_java_order(
            {TAGS: waiting.pull.consumer_group, DELAY: "0", KEYS: waiting.pull.consumer_group}
        )
        message = PutMessage(
            topic=OFFSET_MOVED_TOPIC,
            topic_bytes=OFFSET_MOVED_TOPIC.encode(),
            queue_id=0,
            body=event.encode(),
            properties=properties.encode(),
            born_ms=now_ms,
            born_host=self._context.store_host,
            store_host=self._context.store_host,
            tags_code=tags_code(waiting.pull.consumer_group),
            keys=(waiting.pull.consumer_group,),
        )
        if self._accepts_puts():
            self._store.put(message, now_ms)
            self._commit_soon()
