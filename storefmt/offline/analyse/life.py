"""What a record is in the life of its message: half message, commit, delay, retry, copy.

    half ─ half_check* ─ commit ─ op            a transaction (op: the half one is decided)
    half ─ op = rollback                        … that was taken back, or given_up
    delay ─ deliver                             a delayed message (levels; timers of 5.x)
    store ─ retry_delay ─ retry ─ … ─ dead_letter   a message that a group sends back

Rule: a record says what it is by its topic and its properties alone, so that every one can
be named without the others; only what an op means needs its half message's fate.

Source: broker/transaction/queue/TransactionalMessageBridge.java,
store/schedule/ScheduleMessageService.java, broker/processor/SendMessageProcessor.java
(4.9.7); store/timer/TimerMessageStore.java (5.3.3).
"""

from enum import StrEnum
from typing import Final

from storefmt.formats.message import Record
from storefmt.formats.properties import DELAY, REAL_QUEUE_ID, REAL_TOPIC, RETRY_TOPIC
from storefmt.names import RETRY_PREFIX, TopicKind
from storefmt.offline.analyse.message_history import Story, TransactionState, describe

_TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
_OF_STATE: Final = {
    TransactionState.HALF: "half",
    TransactionState.COMMITTED: "commit",
    TransactionState.ROLLED_BACK: "rollback",
    TransactionState.OP: "op",
    TransactionState.GIVEN_UP: "given_up",
}


class Step(StrEnum):
    """One step in the life of a message."""

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
    """Return what a record is in the life of its message (an op is always ``OP`` here)."""
    return _step(record, describe(record))


def _step(record: Record, story: Story) -> Step:
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
    """Return what else a record tells about its step, one phrase; empty for nothing."""
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
    """Return when a wait ends by the record's own word (ms); 0 where it does not say."""
    delay = describe(record).delay
    return delay.due_ms or 0 if delay is not None and delay.is_waiting else 0


def decided_offsets(record: Record) -> frozenset[int]:
    """Return the half queue offsets that an op record decides; none for a damaged body."""
    transaction = describe(record).transaction
    return frozenset(transaction.half_queue_offsets) if transaction is not None else frozenset()
