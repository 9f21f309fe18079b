"""What the names in a store mean: system topics, properties, delay levels.

Rule: this module knows names and says what they stand for;
``storefmt.offline.analyse.message_history`` tells what became of one record. A name that is not
here means nothing to RocketMQ: it is the user's.

Source: common/topic/TopicValidator.java, common/MixAll.java, common/KeyBuilder.java,
common/message/MessageConst.java, store/config/MessageStoreConfig.java#messageDelayLevel
(RocketMQ 4.9.7 and 5.3.3).
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from storefmt.errors import BadCall

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"
SYSTEM_PREFIX: Final = "rmq_sys_"
REVIVE_PREFIX: Final = "rmq_sys_REVIVE_LOG_"
REPLY_SUFFIX: Final = "_REPLY_TOPIC"


class TopicKind(Enum):
    """What a topic is for; the value is a sentence for people."""

    ORDINARY = "messages of the users"
    DELAY = "delayed messages wait here, one queue a delay level"
    HALF = "half messages of transactions wait here for their end"
    OP = "ends of transactions: which half messages are done with"
    CHECK_MAX = "half messages that nobody ended, given up after the last check"
    RETRY = "messages of a group that will be delivered to it again"
    DLQ = "messages that a group did not consume in all its deliveries"
    LMQ = "a light queue: entries alone, the records are in another topic"
    REPLY = "answers of request-reply, by cluster"
    TRACE = "traces of sent and consumed messages"
    TIMER = "messages with a time of delivery wait here (5.x)"
    REVIVE = "what POP gave out and what was acknowledged (5.x)"
    SYNC_MEMBER = "broker members exchange their state here (5.x)"
    OFFSET_MOVED = "events: a consumer asked for an offset outside a queue"
    AUTO_CREATE = "the template of topics that are created when they are used"
    SELF_TEST = "the broker's own test topic"
    BENCHMARK = "the topic of the benchmarks that come with RocketMQ"
    CHECKPOINT = "offsets of queues in RocksDB (5.x)"
    SYSTEM = "a topic of the broker itself"


_EXACT: Final[Mapping[str, TopicKind]] = {
    SCHEDULE_TOPIC: TopicKind.DELAY,
    HALF_TOPIC: TopicKind.HALF,
    OP_HALF_TOPIC: TopicKind.OP,
    CHECK_MAX_TIME_TOPIC: TopicKind.CHECK_MAX,
    TIMER_TOPIC: TopicKind.TIMER,
    "RMQ_SYS_TRACE_TOPIC": TopicKind.TRACE,
    "OFFSET_MOVED_EVENT": TopicKind.OFFSET_MOVED,
    "TBW102": TopicKind.AUTO_CREATE,
    "SELF_TEST_TOPIC": TopicKind.SELF_TEST,
    "BenchmarkTest": TopicKind.BENCHMARK,
    "CHECKPOINT_TOPIC": TopicKind.CHECKPOINT,
}
# The longer prefix first, where one is the beginning of another.
_PREFIXES: Final = (
    (RETRY_PREFIX, TopicKind.RETRY),
    (DLQ_PREFIX, TopicKind.DLQ),
    (LMQ_PREFIX, TopicKind.LMQ),
    (REVIVE_PREFIX, TopicKind.REVIVE),
    ("rmq_sys_TRACE_DATA_", TopicKind.TRACE),
    ("rmq_sys_SYNC_BROKER_MEMBER_", TopicKind.SYNC_MEMBER),
    (SYSTEM_PREFIX, TopicKind.SYSTEM),
)


def kind_of(topic: str) -> TopicKind:
    """Return what a topic is for, told from its name alone."""
    exact = _EXACT.get(topic)
    if exact is not None:
        return exact
    for prefix, kind in _PREFIXES:
        if topic.startswith(prefix):
            return kind
    return TopicKind.REPLY if topic.endswith(REPLY_SUFFIX) else TopicKind.ORDINARY


def group_of(topic: str) -> str | None:
    """Return the consumer group that a retry or dead letter topic belongs to, else None.

    A POP retry topic of 5.x joins group and topic, as ``%RETRY%group_topic`` (where the
    group ends cannot be seen then) or ``%RETRY%group+topic``.
    """
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if topic.startswith(prefix):
            return topic[len(prefix) :].partition("+")[0]
    return None


def is_light(topic: str) -> bool:
    """Return whether a queue of this name is a light one (LMQ)."""
    return topic.startswith(LMQ_PREFIX)


DELAY_LEVELS: Final = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
"""The delay levels of a broker with default settings (its key messageDelayLevel)."""
_UNITS_MS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_delay_levels(text: str) -> tuple[int, ...]:
    """Return the delay (ms) of each level, the first one being level 1.

    Raises:
        BadCall: a level is not a number with a unit of s, m, h or d.
    """
    levels: list[int] = []
    for word in text.split():
        number, unit = word[:-1], word[-1]
        if unit not in _UNITS_MS or not (number.isascii() and number.isdigit()) or len(word) > 10:
            raise BadCall(f"delay level {word[:20]!r} is no time; expected as 10s, 5m, 2h or 1d")
        levels.append(int(number) * _UNITS_MS[unit])
    return tuple(levels)


DELAYS_MS: Final[Sequence[int]] = parse_delay_levels(DELAY_LEVELS)

PROPERTY_MEANINGS: Final[Mapping[str, str]] = {
    "KEYS": "the user's keys, blank between them; each is indexed",
    "TAGS": "the tag that consumers filter by",
    "WAIT": "whether the producer waits for disk and slaves",
    "DELAY": "delay level, from 1",
    "RETRY_TOPIC": "topic from which the message was sent back first",
    "REAL_TOPIC": "topic it goes to when its wait is over",
    "REAL_QID": "queue it goes to when its wait is over",
    "TRAN_MSG": "sent as a half message of a transaction",
    "PGROUP": "producer group that is asked how the transaction ended",
    "MIN_OFFSET": "smallest offset of the queue, added for the consumer",
    "MAX_OFFSET": "largest offset of the queue, added for the consumer",
    "BUYER_ID": "the user's buyer id",
    "ORIGIN_MESSAGE_ID": "offset id of the record that was sent back first",
    "ORIGIN_GROUP": "consumer group that did not acknowledge it (POP)",
    "TRANSFER_FLAG": "transfer flag",
    "CORRECTION_FLAG": "correction flag",
    "MQ2_FLAG": "flag of an older system",
    "RECONSUME_TIME": "deliveries before, as the client counts them",
    "MSG_REGION": "region of the broker",
    "TRACE_ON": "whether the client traces it",
    "UNIQ_KEY": "the id that the producer gave; indexed",
    "EXTEND_UNIQ_INFO": "more of the producer's id",
    "MAX_RECONSUME_TIMES": "deliveries after which it is dead",
    "CONSUME_START_TIME": "when (ms) a consumer began with it",
    "INNER_NUM": "messages in the record",
    "INNER_BASE": "queue offset of the first message in the record",
    "DUP_INFO": "where a copy came from",
    "CHECK_IMMUNITY_TIME_IN_SECONDS": "the transaction is not checked so long (s)",
    "TRAN_PREPARED_QUEUE_OFFSET": "half queue offset of the first copy of the half message",
    "__transactionId__": "the transaction's id",
    "TRANSACTION_CHECK_TIMES": "how often the producer was asked for the end",
    "INSTANCE_ID": "instance of the producer",
    "CORRELATION_ID": "joins a request with its reply",
    "REPLY_TO_CLIENT": "client id that waits for the reply",
    "TTL": "how long (ms) the requester waits",
    "ARRIVE_TIME": "when (ms) the reply came to the broker",
    "PUSH_REPLY_TIME": "when (ms) the reply was pushed to the requester",
    "CLUSTER": "cluster of the broker that stored it",
    "MSG_TYPE": "reply, for the answer to a request",
    "POP_CK": "receipt handle of a POP",
    "POP_CK_OFFSET": "queue offset of a POP's receipt",
    "1ST_POP_TIME": "when (ms) it was given out by POP first",
    "__SHARDINGKEY": "the key that orders messages of one queue",
    "PROPERTY_FORWARD_QUEUE_ID": "queue that a proxy forwards to",
    "REDIRECT": "sent on by another broker",
    "INNER_MULTI_DISPATCH": "more queues with an entry for this record, comma between them",
    "INNER_MULTI_QUEUE_OFFSET": "the queue offset in each of those queues",
    "TRACE_CONTEXT": "context of a distributed trace",
    "TIMER_DELAY_SEC": "deliver so many seconds after it was sent",
    "TIMER_DELAY_MS": "deliver so many milliseconds after it was sent",
    "TIMER_DELIVER_MS": "deliver at this time (ms)",
    "TIMER_OUT_MS": "tick (ms) at which the timer delivers it",
    "TIMER_ENQUEUE_MS": "when (ms) it entered the timer wheel",
    "TIMER_DEQUEUE_MS": "when (ms) it left the timer wheel",
    "TIMER_ROLL_TIMES": "how often it entered the wheel again, being due too late for it",
    "TIMER_DEL_UNIQKEY": "producer's id of the waiting message that this one deletes",
    "TIMER_DELAY_LEVEL": "delay level that the timer took over",
    "__BORNHOST": "address of the producer behind a proxy",
    "BORN_TIMESTAMP": "when (ms) the producer made it",
    "__CRC32#": "CRC-32 of the whole record (enabledAppendPropCRC)",
    "DLQ_ORIGIN_TOPIC": "topic from which it came to the dead letters",
    "DLQ_ORIGIN_MESSAGE_ID": "id of the message that came to the dead letters",
}
"""Every property that RocketMQ itself gives a meaning; all others are the user's."""
