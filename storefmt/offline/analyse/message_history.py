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
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from storefmt.formats import properties as names
from storefmt.formats.message import Record
from storefmt.formats.properties import DELAY, REAL_QUEUE_ID, REAL_TOPIC, RETRY_TOPIC
from storefmt.formats.sysflag import (
    TRANSACTION_COMMIT,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED,
    TRANSACTION_ROLLBACK,
)
from storefmt.names import (
    DELAYS_MS,
    RETRY_PREFIX,
    TopicKind,
    kind_of,
)

_NUMBER_SIZE_MAX: Final = 19
_OP_BODY_SIZE_MAX: Final = 1 << 20


class TransactionState(Enum):
    """The state of a transaction as far as one record shows it; the value is its ``StepKind``."""

    HALF = "half"
    COMMITTED = "commit"
    ROLLED_BACK = "rollback"
    OP = "op"
    GIVEN_UP = "given_up"


class Transaction(NamedTuple):
    """The part of a record in a transaction."""

    state: TransactionState
    half_log_offset: int | None = None
    """Of a committed message: commit log position (bytes) of its half message."""
    half_queue_offsets: tuple[int, ...] = ()
    """Of an op record: offsets in the half queue with the same queue id."""
    check_times: int = 0


class Delay(NamedTuple):
    """A wait: ``due_ms`` is known while it lasts, ``level`` if it is one of the delay levels."""

    level: int | None
    due_ms: int | None
    is_waiting: bool
    deletes: str | None = None
    """Unique key of the waiting message that this one takes back (5.x timer)."""


class Place(NamedTuple):
    """A queue of a topic."""

    topic: str
    queue_id: int


@dataclass(frozen=True, slots=True)
class MessageHistory:
    """What one record says about its message; None for each part that does not apply."""

    kind: TopicKind
    destination: Place | None
    """Where a waiting message goes to when its wait is over."""
    transaction: Transaction | None
    delay: Delay | None


def describe(record: Record) -> MessageHistory:
    """Return what ``record`` says about its message; delays are those of the default levels."""
    kind = kind_of(record.topic)
    found = record.properties
    delay = _delay(record, kind, found)
    transaction = _transaction(record, kind, found)
    waits = kind in (TopicKind.HALF, TopicKind.CHECK_MAX) or (delay and delay.is_waiting)
    return MessageHistory(
        kind=kind,
        destination=_destination(found) if waits else None,
        transaction=transaction,
        delay=delay,
    )


def _transaction(record: Record, kind: TopicKind, found: Mapping[str, str]) -> Transaction | None:
    checks = _number(found.get(names.TRANSACTION_CHECK_TIMES)) or 0
    bits = record.sys_flag & TRANSACTION_MASK
    if kind is TopicKind.OP:
        return Transaction(TransactionState.OP, half_queue_offsets=_op_offsets(record.body))
    if kind is TopicKind.CHECK_MAX:
        return Transaction(TransactionState.GIVEN_UP, check_times=checks)
    if kind is TopicKind.HALF or bits == TRANSACTION_PREPARED:
        return Transaction(TransactionState.HALF, check_times=checks)
    if bits == TRANSACTION_COMMIT:
        half = record.prepared_transaction_offset
        return Transaction(TransactionState.COMMITTED, half, (), checks)
    if bits == TRANSACTION_ROLLBACK:
        return Transaction(TransactionState.ROLLED_BACK, check_times=checks)
    return None


def _op_offsets(body: bytes) -> tuple[int, ...]:
    # 4.9 writes one number, 5.x a list with a comma behind each.
    words = body[:_OP_BODY_SIZE_MAX].decode("ascii", "replace").split(",")
    return tuple(number for word in words if (number := _number(word)) is not None)


def _delay(record: Record, kind: TopicKind, found: Mapping[str, str]) -> Delay | None:
    level = _number(found.get(names.DELAY))
    if kind is TopicKind.DELAY:
        # The queue is what the broker goes by; the property only brought it there.
        level = record.queue_id + 1
        known = 0 < level <= len(DELAYS_MS)
        return Delay(level, record.store_ms + DELAYS_MS[level - 1] if known else None, True)
    timer_ms = _number(found.get("TIMER_OUT_MS"))
    if kind is TopicKind.TIMER or timer_ms is not None:
        taken_over = _number(found.get("TIMER_DELAY_LEVEL"))
        deletes = found.get("TIMER_DEL_UNIQKEY")
        return Delay(taken_over, timer_ms, kind is TopicKind.TIMER, deletes)
    return Delay(level, None, False) if level else None


def _destination(found: Mapping[str, str]) -> Place | None:
    topic, queue_id = found.get(names.REAL_TOPIC), _number(found.get(names.REAL_QUEUE_ID))
    return None if topic is None or queue_id is None else Place(topic, queue_id)


def _number(text: str | None) -> int | None:
    digits = (text or "").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _NUMBER_SIZE_MAX:
        return None
    return int(text or "")


_TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"


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


def step_of(record: Record) -> StepKind:
    """Return the step that a record stands for (an op record is always ``OP`` here)."""
    return _step(record, describe(record))


def _step(record: Record, history: MessageHistory) -> StepKind:
    if history.delay is not None and history.delay.is_waiting:
        if history.delay.deletes is not None:
            return StepKind.RECALL
        back = history.destination is not None and history.destination.topic.startswith(
            RETRY_PREFIX
        )
        return StepKind.RETRY_DELAY if back else StepKind.DELAY
    if history.transaction is not None:
        if history.transaction.state is TransactionState.HALF and history.transaction.check_times:
            return StepKind.HALF_CHECK
        return StepKind(history.transaction.state.value)
    kinds = {
        TopicKind.TRACE: StepKind.TRACE,
        TopicKind.RETRY: StepKind.RETRY,
        TopicKind.DLQ: StepKind.DEAD_LETTER,
    }
    if history.kind in kinds:
        return kinds[history.kind]
    properties = record.properties
    waited = DELAY in properties or _TIMER_DEQUEUE_MS in properties
    if waited and properties.get(REAL_TOPIC) == record.topic:
        return StepKind.DELIVER
    return StepKind.STORE


def own_topic(record: Record) -> str:
    """Return the topic that the producer sent the message to."""
    properties = record.properties
    return properties.get(RETRY_TOPIC) or properties.get(REAL_TOPIC) or record.topic


def detail_of(record: Record, step: StepKind) -> str:
    """Return a phrase with the details of a record's step; empty if there are none."""
    properties, history = record.properties, describe(record)
    target = f"{properties.get(REAL_TOPIC, '?')} {properties.get(REAL_QUEUE_ID, '?')}"
    checks = history.transaction.check_times if history.transaction else 0
    if step in (StepKind.DELAY, StepKind.RETRY_DELAY):
        level = history.delay.level if history.delay else None
        return f"timer for {target}" if level is None else f"level {level} for {target}"
    if step is StepKind.RECALL and history.delay:
        return f"takes {history.delay.deletes} back"
    if step is StepKind.HALF:
        return f"for {target}"
    if step is StepKind.HALF_CHECK:
        return f"check {checks} for {target}"
    if step is StepKind.GIVEN_UP:
        return f"after {checks} checks, for {target}"
    if step is StepKind.COMMIT:
        return f"of the half message at log offset {record.prepared_transaction_offset}"
    if step in (StepKind.RETRY, StepKind.DEAD_LETTER):
        origin = properties.get(RETRY_TOPIC)
        told = f"delivery {record.reconsume_times + 1}"
        if step is StepKind.DEAD_LETTER:
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
