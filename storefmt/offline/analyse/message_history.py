"""Interprets one record: which step in the history of its message it stands for.

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

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from storefmt.formats import properties as names
from storefmt.formats.message import Record
from storefmt.formats.sysflag import (
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
)
from storefmt.names import DELAYS_MS, RETRY_PREFIX, TopicKind, kind_of
from storefmt.offline.views.tree import QueueKey

_NUMBER_SIZE_MAX: Final = 19
_OP_BODY_SIZE_MAX: Final = 1 << 20


class StepKind(StrEnum):
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


_BY_FLAG: Final = {
    TRANSACTION_PREPARED: StepKind.HALF,
    TRANSACTION_COMMIT: StepKind.COMMIT,
    TRANSACTION_ROLLBACK: StepKind.ROLLBACK,
}
_BY_TOPIC: Final = {
    TopicKind.OP: StepKind.OP,
    TopicKind.CHECK_MAX: StepKind.GIVEN_UP,
    TopicKind.HALF: StepKind.HALF,
}
_BY_TOPIC_ALONE: Final = {
    TopicKind.TRACE: StepKind.TRACE,
    TopicKind.RETRY: StepKind.RETRY,
    TopicKind.DLQ: StepKind.DEAD_LETTER,
}
"""The steps of a record whose flag says nothing about a transaction."""


class Delay(NamedTuple):
    """A wait: ``due_ms`` is known while it lasts, ``level`` if it is one of the delay levels."""

    level: int | None
    due_ms: int | None
    is_waiting: bool
    deletes: str | None = None
    """Unique key of the waiting message that this one cancels (5.x timer)."""


class MessageHistory(NamedTuple):
    """What one record says about its message.

    Attributes:
        kind: the purpose of the record's topic.
        step: the step that the record stands for; an op record is always ``OP`` here.
        destination: where a waiting message goes when its wait is over; None for any other.
        delay: its wait, which may be over; None if it has none.
        check_times: how often the broker asked for the end of the transaction.
        half_queue_offsets: of an op record: offsets in the half queue with the same queue id.
    """

    kind: TopicKind
    step: StepKind
    destination: QueueKey | None
    delay: Delay | None
    check_times: int
    half_queue_offsets: tuple[int, ...]

    @property
    def due_ms(self) -> int:
        """When a wait ends, as the record has it; 0 if it has none."""
        return self.delay.due_ms or 0 if self.delay is not None and self.delay.is_waiting else 0


def describe(record: Record) -> MessageHistory:
    """Return what ``record`` says about its message; delays are those of the default levels."""
    kind, properties = kind_of(record.topic), record.properties
    delay = _delay(record, kind, properties)
    checks = _number(properties.get(names.TRANSACTION_CHECK_TIMES)) or 0
    waits = kind in (TopicKind.HALF, TopicKind.CHECK_MAX) or (delay and delay.is_waiting)
    destination = _destination(properties) if waits else None
    return MessageHistory(
        kind=kind,
        step=_step(record, kind, delay, destination, properties),
        destination=destination,
        delay=delay,
        check_times=checks,
        half_queue_offsets=_op_offsets(record.body) if kind is TopicKind.OP else (),
    )


def _op_offsets(body: bytes) -> tuple[int, ...]:
    # 4.9 writes one number, 5.x a list with a comma after each.
    words = body[:_OP_BODY_SIZE_MAX].decode("ascii", "replace").split(",")
    return tuple(number for word in words if (number := _number(word)) is not None)


def _delay(record: Record, kind: TopicKind, properties: Mapping[str, str]) -> Delay | None:
    level = _number(properties.get(names.DELAY))
    if kind is TopicKind.DELAY:
        # The broker decides by the queue; the property only brought the message there.
        level = record.queue_id + 1
        is_level = 0 < level <= len(DELAYS_MS)
        return Delay(level, record.store_ms + DELAYS_MS[level - 1] if is_level else None, True)
    timer_ms = _number(properties.get(names.TIMER_OUT_MS))
    if kind is TopicKind.TIMER or timer_ms is not None:
        taken_over = _number(properties.get("TIMER_DELAY_LEVEL"))
        deletes = properties.get(names.TIMER_DEL_UNIQUE_KEY)
        return Delay(taken_over, timer_ms, kind is TopicKind.TIMER, deletes)
    return Delay(level, None, False) if level else None


def _destination(properties: Mapping[str, str]) -> QueueKey | None:
    topic, queue_id = properties.get(names.REAL_TOPIC), _number(properties.get(names.REAL_QUEUE_ID))
    return None if topic is None or queue_id is None else (topic, queue_id)


def _number(text: str | None) -> int | None:
    digits = (text or "").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _NUMBER_SIZE_MAX:
        return None
    return int(text or "")


def _step(
    record: Record,
    kind: TopicKind,
    delay: Delay | None,
    destination: QueueKey | None,
    properties: Mapping[str, str],
) -> StepKind:
    if delay is not None and delay.is_waiting:
        if delay.deletes is not None:
            return StepKind.RECALL
        is_retry = destination is not None and destination[0].startswith(RETRY_PREFIX)
        return StepKind.RETRY_DELAY if is_retry else StepKind.DELAY
    step = _BY_TOPIC.get(kind) or _BY_FLAG.get(record.sys_flag & TRANSACTION_MASK)
    if step is StepKind.HALF and _number(properties.get(names.TRANSACTION_CHECK_TIMES)):
        return StepKind.HALF_CHECK
    waited = names.DELAY in properties or names.TIMER_DEQUEUE_MS in properties
    is_delivered = waited and properties.get(names.REAL_TOPIC) == record.topic
    return (
        step or _BY_TOPIC_ALONE.get(kind) or (StepKind.DELIVER if is_delivered else StepKind.STORE)
    )


def own_topic(record: Record) -> str:
    """Return the topic that the producer sent the message to."""
    properties = record.properties
    return properties.get(names.RETRY_TOPIC) or properties.get(names.REAL_TOPIC) or record.topic


def detail_of(record: Record, history: MessageHistory) -> str:
    """Return a phrase with the details of a record's step; empty if there are none."""
    properties, delay, checks = record.properties, history.delay, history.check_times
    target = f"{properties.get(names.REAL_TOPIC, '?')} {properties.get(names.REAL_QUEUE_ID, '?')}"
    match history.step:
        case StepKind.DELAY | StepKind.RETRY_DELAY:
            level = delay.level if delay else None
            return f"timer for {target}" if level is None else f"level {level} for {target}"
        case StepKind.RECALL if delay:
            return f"cancels {delay.deletes}"
        case StepKind.HALF:
            return f"for {target}"
        case StepKind.HALF_CHECK:
            return f"check {checks} for {target}"
        case StepKind.GIVEN_UP:
            return f"after {checks} checks, for {target}"
        case StepKind.COMMIT:
            return f"of the half message at log offset {record.prepared_transaction_offset}"
        case StepKind.RETRY | StepKind.DEAD_LETTER:
            count = record.reconsume_times
            text = f"delivery {count + 1}"
            if history.step is StepKind.DEAD_LETTER:
                text = f"after {count} deliveries"
            origin = properties.get(names.RETRY_TOPIC)
            return f"{text} of {origin}" if origin else text
    return ""
