"""Interprets one record: which step in the history of its message it stands for.

    topic kind      delay        transaction       resend              dispatch, reply, batch
    SCHEDULE_…  ->  level, due   HALF, COMMITTED,  group, deliveries,  other queues, who waits
    wheel_timer     due          OP, GIVEN_UP      origin              for the answer

    half ─ half_check* ─ commit ─ op            a transaction (an op ends its half message)
    half ─ op = rollback                        a transaction rolled back, or given up
    delay ─ deliver                             a delayed message (levels; timers of 5.x)
    store ─ retry_delay ─ retry ─ … ─ dead_letter   a message that a group sends back

Rule: everything comes from the one record, and no file is read. A property that should be a number
and is not counts as missing. The broker leaves DELAY, REAL_TOPIC and REAL_QID in the record when
it delivers a message, so they only mean a wait if the record's topic is one in which messages
wait. The real topic of a dead letter is the retry topic to which it did not return. The topic and
the properties of a record decide its step; only the result of an op depends on another record,
its half message.

Source: store/schedule/ScheduleMessageService.java, broker/transaction/queue/*.java,
broker/processor/SendMessageProcessor.java#consumerSendMsgBack, store/MultiDispatch.java
(4.9.7); store/timer/TimerMessageStore.java, broker/processor/PopReviveService.java (5.3.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from storefmt.errors import RecordDamaged
from storefmt.formats import properties as names
from storefmt.formats.message import Record
from storefmt.formats.properties import DELAY, REAL_QUEUE_ID, REAL_TOPIC, RETRY_TOPIC
from storefmt.formats.sysflag import (
    COMPRESSED,
    INNER_BATCH,
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
    Compression,
    compression_of,
)
from storefmt.names import (
    DELAYS_MS,
    RETRY_PREFIX,
    TopicKind,
    group_of,
    is_light,
    kind_of,
)

_NUMBER_SIZE_MAX: Final = 19
_OP_BODY_SIZE_MAX: Final = 1 << 20


class TransactionState(Enum):
    """The state of a transaction as far as one record shows it; the value is a text."""

    HALF = "half message, waiting for its end (or ended: an op record tells)"
    COMMITTED = "committed: consumers see it"
    ROLLED_BACK = "rolled back"
    OP = "end of transactions: the half messages at these offsets are done with"
    GIVEN_UP = "never ended, given up after the last check"


class Transaction(NamedTuple):
    """The part of a record in a transaction."""

    state: TransactionState
    half_log_offset: int | None = None
    """Of a committed message: commit log position (bytes) of its half message."""
    half_queue_offsets: tuple[int, ...] = ()
    """Of an op record: offsets in the half queue with the same queue id."""
    check_times: int = 0
    producer_group: str | None = None


class Delay(NamedTuple):
    """A wait: ``due_ms`` is known while it lasts, ``level`` if it is one of the delay levels."""

    level: int | None
    due_ms: int | None
    is_waiting: bool
    deletes: str | None = None
    """Unique key of the waiting message that this one takes back (5.x timer)."""


class Resend(NamedTuple):
    """A message that a group did not consume."""

    group: str
    is_dead: bool
    delivery_count: int
    """Deliveries that failed (reconsume times)."""
    origin_topic: str | None
    origin_id: str | None
    """Offset id of the record that was consumed first."""


class Reply(NamedTuple):
    """A request, or the answer to one."""

    is_answer: bool
    client_id: str | None
    correlation_id: str | None
    wait_ms: int | None


class Place(NamedTuple):
    """A queue, and the offset in it where it is known."""

    topic: str
    queue_id: int
    queue_offset: int | None = None


@dataclass(frozen=True, slots=True)
class MessageHistory:
    """What one record says about its message; None for each part that does not apply."""

    kind: TopicKind
    destination: Place | None
    """Where a waiting message goes to when its wait is over."""
    transaction: Transaction | None
    delay: Delay | None
    resend: Resend | None
    reply: Reply | None
    dispatch: tuple[Place, ...]
    """More queues that have an entry for the record."""
    message_count: int
    """Messages in the record; 1 but for an inner batch of 5.x."""
    compression: Compression | None

    def sentences(self) -> list[str]:
        """Return what there is to say, for people; a plain message has nothing."""
        said: list[str] = []
        if self.kind is not TopicKind.ORDINARY:
            said.append(f"topic: {self.kind.value}")
        if self.transaction is not None:
            said.append(_say_transaction(self.transaction))
        if self.delay is not None:
            said.append(_say_delay(self.delay))
        if self.destination is not None:
            said.append(f"goes to {self.destination.topic} queue {self.destination.queue_id}")
        if self.resend is not None:
            said.append(_say_resend(self.resend))
        if self.reply is not None:
            verb = "answers" if self.reply.is_answer else "waits for an answer to"
            said.append(f"{self.reply.client_id} {verb} {self.reply.correlation_id}")
        said += [f"also in {place.topic} at {place.queue_offset}" for place in self.dispatch]
        if self.message_count > 1:
            said.append(f"holds {self.message_count} messages")
        if self.compression is not None:
            said.append(f"body compressed with {self.compression.name.lower()}")
        return said


def describe(
    record: Record, *, delays_ms: Sequence[int] = DELAYS_MS, light_queues: bool = True
) -> MessageHistory:
    """Return what ``record`` says about its message.

    Args:
        delays_ms: the delay (ms) of each level of the broker that wrote it, level 1 first.
        light_queues: the broker had enableLmq (its offsets are in lmqConsumerOffset.json),
            so that a ``%LMQ%`` queue has the queue id 0; without, that of the record.
    """
    kind = kind_of(record.topic)
    found = record.properties
    delay = _delay(record, kind, found, delays_ms)
    transaction = _transaction(record, kind, found)
    waits = kind in (TopicKind.HALF, TopicKind.CHECK_MAX) or (delay and delay.is_waiting)
    count = _number(found.get("INNER_NUM"))
    return MessageHistory(
        kind=kind,
        destination=_destination(found) if waits else None,
        transaction=transaction,
        delay=delay,
        resend=_resend(record, kind, found),
        reply=_reply(kind, found),
        dispatch=_dispatch(record.queue_id, found, light_queues),
        message_count=max(count or 1, 1) if record.sys_flag & INNER_BATCH else 1,
        compression=_compression(record.sys_flag),
    )


def _transaction(record: Record, kind: TopicKind, found: Mapping[str, str]) -> Transaction | None:
    group = found.get(names.PRODUCER_GROUP)
    checks = _number(found.get(names.TRANSACTION_CHECK_TIMES)) or 0
    bits = record.sys_flag & TRANSACTION_MASK
    if kind is TopicKind.OP:
        return Transaction(TransactionState.OP, half_queue_offsets=_op_offsets(record.body))
    if kind is TopicKind.CHECK_MAX:
        return Transaction(TransactionState.GIVEN_UP, check_times=checks, producer_group=group)
    if kind is TopicKind.HALF or bits == TRANSACTION_PREPARED:
        return Transaction(TransactionState.HALF, check_times=checks, producer_group=group)
    if bits == TRANSACTION_COMMIT:
        half = record.prepared_transaction_offset
        return Transaction(TransactionState.COMMITTED, half, (), checks, group)
    if bits == TRANSACTION_ROLLBACK:
        return Transaction(TransactionState.ROLLED_BACK, check_times=checks, producer_group=group)
    return None


def _op_offsets(body: bytes) -> tuple[int, ...]:
    # 4.9 writes one number, 5.x a list with a comma behind each.
    words = body[:_OP_BODY_SIZE_MAX].decode("ascii", "replace").split(",")
    return tuple(number for word in words if (number := _number(word)) is not None)


def _delay(
    record: Record, kind: TopicKind, found: Mapping[str, str], delays_ms: Sequence[int]
) -> Delay | None:
    level = _number(found.get(names.DELAY))
    if kind is TopicKind.DELAY:
        # The queue is what the broker goes by; the property only brought it there.
        level = record.queue_id + 1
        known = 0 < level <= len(delays_ms)
        return Delay(level, record.store_ms + delays_ms[level - 1] if known else None, True)
    timer_ms = _number(found.get("TIMER_OUT_MS"))
    if kind is TopicKind.TIMER or timer_ms is not None:
        taken_over = _number(found.get("TIMER_DELAY_LEVEL"))
        deletes = found.get("TIMER_DEL_UNIQKEY")
        return Delay(taken_over, timer_ms, kind is TopicKind.TIMER, deletes)
    return Delay(level, None, False) if level else None


def _resend(record: Record, kind: TopicKind, found: Mapping[str, str]) -> Resend | None:
    topic = record.topic
    if kind is TopicKind.DELAY and found.get(names.REAL_TOPIC, "").startswith(RETRY_PREFIX):
        topic = found[names.REAL_TOPIC]
    # A POP retry topic does not show where the group ends; the record does.
    popped = found.get("ORIGIN_GROUP")
    group = popped or group_of(topic)
    if group is None or (popped and kind not in (TopicKind.RETRY, TopicKind.DLQ)):
        return None
    origin = found.get(names.RETRY_TOPIC) or found.get("DLQ_ORIGIN_TOPIC")
    joined = f"{RETRY_PREFIX}{popped}"
    if origin is None and popped and topic.startswith(joined) and len(topic) > len(joined):
        origin = topic[len(joined) + 1 :]
    return Resend(
        group=group,
        is_dead=kind is TopicKind.DLQ,
        delivery_count=record.reconsume_times,
        origin_topic=origin,
        origin_id=found.get(names.ORIGIN_MESSAGE_ID) or found.get("DLQ_ORIGIN_MESSAGE_ID"),
    )


def _reply(kind: TopicKind, found: Mapping[str, str]) -> Reply | None:
    is_answer = found.get(names.MESSAGE_TYPE) == "reply" or kind is TopicKind.REPLY
    client_id = found.get(names.REPLY_TO_CLIENT)
    if client_id is None and not is_answer:
        return None
    wait_ms = _number(found.get(names.TTL))
    return Reply(is_answer, client_id, found.get(names.CORRELATION_ID), wait_ms)


def _destination(found: Mapping[str, str]) -> Place | None:
    topic, queue_id = found.get(names.REAL_TOPIC), _number(found.get(names.REAL_QUEUE_ID))
    return None if topic is None or queue_id is None else Place(topic, queue_id)


def _dispatch(queue_id: int, found: Mapping[str, str], light_queues: bool) -> tuple[Place, ...]:
    queues = found.get(names.INNER_MULTI_DISPATCH)
    if queues is None:
        return ()
    offsets = found.get(names.INNER_MULTI_QUEUE_OFFSET, "").split(",")
    topics = queues.split(",")
    offsets += [""] * (len(topics) - len(offsets))
    return tuple(
        Place(topic, 0 if light_queues and is_light(topic) else queue_id, _number(offset))
        for topic, offset in zip(topics, offsets, strict=False)
        if topic
    )


def _compression(sys_flag: int) -> Compression | None:
    if not sys_flag & COMPRESSED:
        return None
    try:
        return compression_of(sys_flag)
    except RecordDamaged:
        # A codec that nobody knows: whoever wants the body is told.
        return None


def _number(text: str | None) -> int | None:
    digits = (text or "").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _NUMBER_SIZE_MAX:
        return None
    return int(text or "")


def _say_transaction(found: Transaction) -> str:
    said = f"transaction: {found.state.value}"
    if found.half_log_offset is not None:
        said += f"; its half message is at byte {found.half_log_offset}"
    if found.half_queue_offsets:
        said += f": {', '.join(map(str, found.half_queue_offsets))}"
    return said + (f"; checked {found.check_times} times" if found.check_times else "")


def _say_delay(found: Delay) -> str:
    level = f" by level {found.level}" if found.level is not None else ""
    if found.deletes is not None:
        return f"takes back the waiting message {found.deletes}"
    if not found.is_waiting:
        return f"was delayed{level}"
    return f"waits{level}" + (f" until {found.due_ms} ms" if found.due_ms is not None else "")


def _say_resend(found: Resend) -> str:
    verb = "is dead for" if found.is_dead else "goes again to"
    origin = f"; first from {found.origin_topic}" if found.origin_topic else ""
    return f"{verb} group {found.group} after {found.delivery_count} deliveries{origin}"


_TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
_OF_STATE: Final = {
    TransactionState.HALF: "half",
    TransactionState.COMMITTED: "commit",
    TransactionState.ROLLED_BACK: "rollback",
    TransactionState.OP: "op",
    TransactionState.GIVEN_UP: "given_up",
}


class Step(StrEnum):
    """One step in the history of a message."""

    STORE = "store"
    HALF = "half"
    HALF_CHECK = "half_check"
    COMMIT = "commit"
    OP = "op"
    ROLLBACK = "rollback"
    GIVEN_UP = "given_up"
    DELAY = "delay"
    DELIVER = "deliver"
    RECALL = "recall"
    RETRY_DELAY = "retry_delay"
    RETRY = "retry"
    DEAD_LETTER = "dead_letter"
    COPY = "copy"
    TRACE = "trace"
    GROUP = "group"


def step_of(record: Record) -> Step:
    """Return the step that a record stands for (an op record is always ``OP`` here)."""
    return _step(record, describe(record))


def _step(record: Record, story: MessageHistory) -> Step:
    if story.delay is not None and story.delay.is_waiting:
        if story.delay.deletes is not None:
            return Step.RECALL
        back = story.destination is not None and story.destination.topic.startswith(RETRY_PREFIX)
        return Step.RETRY_DELAY if back else Step.DELAY
    if story.transaction is not None:
        if story.transaction.state is TransactionState.HALF and story.transaction.check_times:
            return Step.HALF_CHECK
        return Step(_OF_STATE[story.transaction.state])
    kinds = {
        TopicKind.TRACE: Step.TRACE,
        TopicKind.RETRY: Step.RETRY,
        TopicKind.DLQ: Step.DEAD_LETTER,
    }
    if story.kind in kinds:
        return kinds[story.kind]
    properties = record.properties
    waited = DELAY in properties or _TIMER_DEQUEUE_MS in properties
    if waited and properties.get(REAL_TOPIC) == record.topic:
        return Step.DELIVER
    return Step.STORE


def own_topic(record: Record) -> str:
    """Return the topic that the producer sent the message to."""
    properties = record.properties
    return properties.get(RETRY_TOPIC) or properties.get(REAL_TOPIC) or record.topic


def detail_of(record: Record, step: Step) -> str:
    """Return a phrase with the details of a record's step; empty if there are none."""
    properties, story = record.properties, describe(record)
    target = f"{properties.get(REAL_TOPIC, '?')} {properties.get(REAL_QUEUE_ID, '?')}"
    checks = story.transaction.check_times if story.transaction else 0
    if step in (Step.DELAY, Step.RETRY_DELAY):
        level = story.delay.level if story.delay else None
        return f"timer for {target}" if level is None else f"level {level} for {target}"
    if step is Step.RECALL and story.delay:
        return f"takes {story.delay.deletes} back"
    if step is Step.HALF:
        return f"for {target}"
    if step is Step.HALF_CHECK:
        return f"check {checks} for {target}"
    if step is Step.GIVEN_UP:
        return f"after {checks} checks, for {target}"
    if step is Step.COMMIT:
        return f"of the half message at log offset {record.prepared_transaction_offset}"
    if step in (Step.RETRY, Step.DEAD_LETTER):
        origin = properties.get(RETRY_TOPIC)
        told = f"delivery {record.reconsume_times + 1}"
        if step is Step.DEAD_LETTER:
            told = f"after {record.reconsume_times} deliveries"
        return f"{told} of {origin}" if origin else told
    return ""


def due_of(record: Record) -> int:
    """Return the time (ms) at which a wait ends, as the record has it; 0 if it has none."""
    delay = describe(record).delay
    return delay.due_ms or 0 if delay is not None and delay.is_waiting else 0


def decided_offsets(record: Record) -> frozenset[int]:
    """Return the half queue offsets that an op record ends; none for a damaged body."""
    transaction = describe(record).transaction
    return frozenset(transaction.half_queue_offsets) if transaction is not None else frozenset()
