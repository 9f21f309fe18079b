"""What the names in a store mean: system topics, permissions, delay levels, keys of settings.

Rule: this module knows names only; ``storefmt.offline.analyse.message_history`` interprets whole
records. A name that is not listed here means nothing to RocketMQ and belongs to the user.

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
AUTO_CREATE_TOPIC: Final = "TBW102"
"""The template of topics that are created when they are used."""
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
OFFSET_MOVED_TOPIC: Final = "OFFSET_MOVED_EVENT"
TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""The group of operators' tools, which every broker lets read."""
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
UNDELIVERED_TOPIC: Final = "rmq_sys_UNDELIVERED"
"""Messages whose topic was deleted while they waited; only our broker has it."""
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"
SYSTEM_PREFIX: Final = "rmq_sys_"
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"
REVIVE_PREFIX: Final = "rmq_sys_REVIVE_LOG_"
REPLY_SUFFIX: Final = "_REPLY_TOPIC"

PERM_READ: Final = 4
"""A bit of a topic's permission (PermName.java): consumers may pull from it."""
PERM_WRITE: Final = 2
"""Producers may send to it."""
PERM_INHERIT: Final = 1
"""Topics that are created when they are used may copy its settings."""
PERM_READ_WRITE: Final = PERM_READ | PERM_WRITE


class TopicKind(Enum):
    """The purpose of a topic; the value is a text for people."""

    ORDINARY = "messages of the users"
    DELAY = "delayed messages wait here, one queue per delay level"
    HALF = "half messages of transactions wait here for their end"
    OP = "ends of transactions: which half messages are decided"
    CHECK_MAX = "half messages that were never ended, given up after the last check"
    RETRY = "messages of a group that will be delivered to it again"
    DLQ = "messages that a group did not consume in all its deliveries"
    LMQ = "a light queue: only entries, the records are in another topic"
    REPLY = "answers of request-reply, by cluster"
    TRACE = "traces of sent and consumed messages"
    TIMER = "messages with a time of delivery wait here (5.x)"
    REVIVE = "popped and acknowledged messages (5.x)"
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
    TRACE_TOPIC: TopicKind.TRACE,
    OFFSET_MOVED_TOPIC: TopicKind.OFFSET_MOVED,
    AUTO_CREATE_TOPIC: TopicKind.AUTO_CREATE,
    SELF_TEST_TOPIC: TopicKind.SELF_TEST,
    BENCHMARK_TOPIC: TopicKind.BENCHMARK,
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
    ("RMQ_SYS_ROCKSDB_TRANS_", TopicKind.SYSTEM),
)


def kind_of(topic: str) -> TopicKind:
    """Return the purpose of a topic, which its name alone decides."""
    exact = _EXACT.get(topic)
    if exact is not None:
        return exact
    for prefix, kind in _PREFIXES:
        if topic.startswith(prefix):
            return kind
    return TopicKind.REPLY if topic.endswith(REPLY_SUFFIX) else TopicKind.ORDINARY


def group_of(topic: str) -> str | None:
    """Return the consumer group that a retry or dead letter topic belongs to, else None.

    A POP retry topic of 5.x joins group and topic, as ``%RETRY%group_topic`` (which does not
    show where the group ends) or ``%RETRY%group+topic``.
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
            raise BadCall(
                f"delay level {word[:20]!r} is not a time; expected for example 10s, 5m, 2h or 1d"
            )
        levels.append(int(number) * _UNITS_MS[unit])
    return tuple(levels)


DELAYS_MS: Final[Sequence[int]] = parse_delay_levels(DELAY_LEVELS)


def perm_text(perm: int) -> str:
    """Return a permission as Java prints it, for example ``RW-``, ``R--`` or ``RWX``."""
    bits = (("R", PERM_READ), ("W", PERM_WRITE), ("X", PERM_INHERIT))
    return "".join(letter if perm & bit else "-" for letter, bit in bits)


def camel_case(attribute: str) -> str:
    """Return the Java name of an attribute: ``queue_id`` gives ``queueId``."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)
