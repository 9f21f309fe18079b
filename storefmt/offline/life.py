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

from storefmt.message import Record
from storefmt.properties import (
    DELAY,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    RETRY_TOPIC,
    TAGS,
    TRANSACTION_CHECK_TIMES,
)
from storefmt.sysflag import TRANSACTION_COMMIT, TRANSACTION_MASK
from storefmt.vocabulary import (
    CHECK_MAX_TIME_TOPIC,
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_HALF_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
)

TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
OP_REMOVE_TAG: Final = "d"
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_DEL_UNIQUE_KEY: Final = "TIMER_DEL_UNIQKEY"
_OP_OFFSETS_MAX: Final = 100_000


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
    topic, properties = record.topic, record.properties
    if topic in (SCHEDULE_TOPIC, TIMER_TOPIC):
        if TIMER_DEL_UNIQUE_KEY in properties:
            return Step.RECALL
        back = properties.get(REAL_TOPIC, "").startswith(RETRY_PREFIX)
        return Step.RETRY_DELAY if back else Step.DELAY
    if topic == HALF_TOPIC:
        return Step.HALF_CHECK if TRANSACTION_CHECK_TIMES in properties else Step.HALF
    plain = {OP_HALF_TOPIC: Step.OP, CHECK_MAX_TIME_TOPIC: Step.GIVEN_UP, TRACE_TOPIC: Step.TRACE}
    if topic in plain:
        return plain[topic]
    if topic.startswith(RETRY_PREFIX):
        return Step.RETRY
    if topic.startswith(DLQ_PREFIX):
        return Step.DEAD_LETTER
    if record.sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT:
        return Step.COMMIT
    waited = DELAY in properties or TIMER_DEQUEUE_MS in properties
    if waited and properties.get(REAL_TOPIC) == topic:
        return Step.DELIVER
    return Step.STORE


def own_topic(record: Record) -> str:
    """Return the topic that the producer sent the message to."""
    properties = record.properties
    return properties.get(RETRY_TOPIC) or properties.get(REAL_TOPIC) or record.topic


def detail_of(record: Record, step: Step) -> str:
    """Return what else a record tells about its step, one phrase; empty for nothing."""
    properties = record.properties
    target = f"{properties.get(REAL_TOPIC, '?')} {properties.get(REAL_QUEUE_ID, '?')}"
    if step in (Step.DELAY, Step.RETRY_DELAY):
        level = properties.get(DELAY)
        return f"level {level} for {target}" if level else f"timer for {target}"
    if step is Step.HALF:
        return f"for {target}"
    if step is Step.HALF_CHECK:
        return f"check {properties[TRANSACTION_CHECK_TIMES]} for {target}"
    if step is Step.GIVEN_UP:
        return f"after {properties.get(TRANSACTION_CHECK_TIMES, '?')} checks, for {target}"
    if step is Step.COMMIT:
        return f"of the half message at log offset {record.prepared_transaction_offset}"
    if step is Step.RECALL:
        return f"takes {properties[TIMER_DEL_UNIQUE_KEY]} back"
    if step in (Step.RETRY, Step.DEAD_LETTER):
        origin = properties.get(RETRY_TOPIC)
        told = f"delivery {record.reconsume_times + 1}"
        if step is Step.DEAD_LETTER:
            told = f"after {record.reconsume_times} deliveries"
        return f"{told} of {origin}" if origin else told
    return ""


def decided_offsets(record: Record) -> frozenset[int]:
    """Return the half queue offsets that an op record decides; none for a damaged body.

    4.9 writes one number, 5.x numbers with a comma behind each.
    """
    if record.topic != OP_HALF_TOPIC or record.properties.get(TAGS) != OP_REMOVE_TAG:
        return frozenset()
    parts = record.body.split(b",")[:_OP_OFFSETS_MAX]
    return frozenset(int(part) for part in parts if part.isdigit() and len(part) < 20)
