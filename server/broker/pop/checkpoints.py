r"""The records of the revive log: what a pop gave out, and what was acknowledged.

    topic rmq_sys_REVIVE_LOG_<cluster>, eight queues; the tag says what a record is

    ck    {"bm":0,"bn":"broker-a","c":"G","d":[0,1,2],"it":6000,"n":3,"pt":1795476736034,"q":0,
           "reviveTime":1795476742034,"ro":0,"so":0,"t":"T"}
    ack   {"ao":2,"bn":"broker-a","c":"G","pt":1795476736034,"q":0,"so":0,"t":"T"}
    bAck  {"ao":-1,"aol":[0,1],"bn":"broker-a","c":"G","pt":1795476736034,"q":0,"so":0,"t":"T"}

A checkpoint (``ck``) says which messages one pop took from one queue: those at ``so`` plus each of
``d``. Acknowledgements name its group, topic, queue, ``so`` and pop time, and the queue offsets of
the messages. A change of the invisible time is a new checkpoint for one message, and an
acknowledgement of the old one.

Rule: this module knows the records, and neither stores nor counts. A record with a body that is
none of these is not an error, it means nothing; somebody else wrote it.

Source: store/pop/PopCheckPoint.java, AckMsg.java, BatchAckMsg.java,
broker/processor/PopMessageProcessor.java#buildCkMsg, AckMessageProcessor.java#appendAck (5.4.0;
keys and their order are those of a store that it wrote).
"""

import json
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from server.store.results import PutMessage
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import Record
from storefmt.formats.properties import TAGS, TIMER_DELIVER_MS, UNIQUE_KEY, in_java_order
from storefmt.names import REVIVE_PREFIX

REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"
"""Its offsets in the revive log are the last entries that are done with."""
COUNTED_GROUP: Final = "CID_RMQ_SYS_REVIVE_COUNTED"
"""Its offsets in the revive log are the first checkpoints that the saved consumer offsets do not
count. Only our broker has it."""
REVIVE_QUEUE_COUNT: Final = 8
CK_TAG: Final = "ck"
ACK_TAG: Final = "ack"
BATCH_ACK_TAG: Final = "bAck"
ACK_INTERVAL_MS: Final = 1_000
"""A checkpoint is due this long before its acknowledgements, so that it comes first."""
COUNT_MAX: Final = 32
"""Messages of one checkpoint at most; their state is one int32."""

_CODES: Final = {tag: tags_code(tag) for tag in (CK_TAG, ACK_TAG, BATCH_ACK_TAG)}
_INT: Final = 1 << 31
_LONG: Final = 1 << 63


def revive_topic(cluster: str) -> str:
    """Return the topic of the revive log."""
    return REVIVE_PREFIX + cluster


Place = tuple[str, str, int]
"""Topic, group, queue id."""


class PopKey(NamedTuple):
    """What names one pop of one queue, in checkpoints and acknowledgements alike."""

    topic: str
    group: str
    queue_id: int
    start_offset: int
    """Queue offset that the pop began at."""
    pop_time_ms: int

    @property
    def place(self) -> Place:
        """The queue, and the group that popped from it."""
        return self[:3]


class PopCheckpoint(NamedTuple):
    """What one pop took from one queue."""

    key: PopKey
    invisible_ms: int
    distances: tuple[int, ...]
    """How far each message lies behind ``start_offset``, in entries, ascending."""
    done: int = 0
    """A bit for each message that needs no reviving, the first message being bit 0."""

    @property
    def revive_ms(self) -> int:
        """When its messages come again unless they are acknowledged, in ms since 1970."""
        return self.key.pop_time_ms + self.invisible_ms


class Acknowledged(NamedTuple):
    """Queue offsets of messages of a pop that need no reviving any more."""

    key: PopKey
    queue_offsets: tuple[int, ...]


def checkpoint_message(
    checkpoint: PopCheckpoint, *, cluster: str, broker: str, queue_id: int, host: bytes, now_ms: int
) -> PutMessage:
    """Return the record of a checkpoint.

    Args:
        checkpoint: what was popped.
        cluster: name of the cluster, which is part of the topic.
        broker: name of this broker.
        queue_id: queue of the revive log.
        host: packed host of this broker.
        now_ms: when the record is born.
    """
    key = checkpoint.key
    body: dict[str, object] = {
        "bm": _signed(checkpoint.done),
        "bn": broker,
        "c": key.group,
        "d": checkpoint.distances,
        "it": checkpoint.invisible_ms,
        "n": len(checkpoint.distances),
        "pt": key.pop_time_ms,
        "q": key.queue_id,
        "reviveTime": checkpoint.revive_ms,
        "ro": 0,
        "so": key.start_offset,
        "t": key.topic,
    }
    name = f"{key.topic}@{key.queue_id}@{key.start_offset}@{key.group}@{key.pop_time_ms}@{broker}"
    return _message(
        cluster, queue_id, CK_TAG, body, f"{name}@{CK_TAG}",
        deliver_ms=checkpoint.revive_ms - ACK_INTERVAL_MS, host=host, now_ms=now_ms,
    )  # fmt: skip


def acknowledgement_message(
    acknowledged: Acknowledged,
    *,
    cluster: str,
    broker: str,
    queue_id: int,
    deliver_ms: int,
    host: bytes,
    now_ms: int,
) -> PutMessage:
    """Return the record of an acknowledgement: ``ack`` for one message, ``bAck`` for several.

    Args:
        acknowledged: the messages.
        cluster: name of the cluster, which is part of the topic.
        broker: name of the broker that popped them.
        queue_id: queue of the revive log that has their checkpoint.
        deliver_ms: when they would come again, in ms since 1970.
        host: packed host of this broker.
        now_ms: when the record is born.
    """
    key, queue_offsets = acknowledged
    is_one = len(queue_offsets) == 1
    body: dict[str, object] = {"ao": queue_offsets[0] if is_one else -1}
    if not is_one:
        body["aol"] = queue_offsets
    body |= {
        "bn": broker,
        "c": key.group,
        "pt": key.pop_time_ms,
        "q": key.queue_id,
        "so": key.start_offset,
        "t": key.topic,
    }
    # 5.4.0 gives this key to both kinds of record.
    name = f"{key.topic}@{key.queue_id}@{body['ao']}@{key.group}@{key.pop_time_ms}@{broker}"
    return _message(
        cluster, queue_id, ACK_TAG if is_one else BATCH_ACK_TAG, body, f"{name}@{ACK_TAG}",
        deliver_ms=deliver_ms, host=host, now_ms=now_ms,
    )  # fmt: skip


def _message(
    cluster: str,
    queue_id: int,
    tag: str,
    body: dict[str, object],
    unique_key: str,
    *,
    deliver_ms: int,
    host: bytes,
    now_ms: int,
) -> PutMessage:
    topic = revive_topic(cluster)
    # 5.4.0 has the timer deliver the record at this time, and reads it from here.
    named = {TAGS: tag, TIMER_DELIVER_MS: str(deliver_ms), UNIQUE_KEY: unique_key}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return PutMessage(
        topic, topic.encode(), queue_id, text.encode(), in_java_order(named).encode(), 0, 0,
        now_ms, host, host, 0, 0, _CODES[tag], (unique_key,),
    )  # fmt: skip


def read_record(record: Record) -> PopCheckpoint | Acknowledged | None:
    """Return what a record of the revive log says, or None if it says nothing that is valid."""
    try:
        body = json.loads(record.body)
        tag = record.tags
        key = PopKey(
            _text(body["t"]), _text(body["c"]), _number(body["q"], _INT),
            _number(body["so"], _LONG), _number(body["pt"], _LONG),
        )  # fmt: skip
        if tag == CK_TAG:
            return _checkpoint(key, body)
        if tag == ACK_TAG:
            return Acknowledged(key, (_number(body["ao"], _LONG),))
        if tag == BATCH_ACK_TAG:
            return Acknowledged(key, tuple(_number(item, _LONG) for item in body["aol"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return None


def _checkpoint(key: PopKey, body: dict[str, object]) -> PopCheckpoint | None:
    count = _number(body["n"], 128)
    found = body.get("d")
    # 4.x brokers of a development line wrote no distances; the messages then lie together.
    items: Sequence[object] = found if isinstance(found, list) and found else range(count)
    distances = tuple(_number(item, _INT) for item in items)
    if not 0 < len(distances) <= COUNT_MAX or list(distances) != sorted(set(distances)):
        return None
    done = _number(body.get("bm", 0), _INT) & ((1 << len(distances)) - 1)
    return PopCheckpoint(key, _number(body["it"], _LONG), distances, done)


def _signed(bits: int) -> int:
    """Return 32 bits as Java's int."""
    return bits - (1 << 32) if bits >= _INT else bits


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a name is missing")
    # The table of open pops has the same few names very often.
    return sys.intern(value)


def _number(value: object, limit: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
        raise ValueError(f"{value!r} is no number below {limit}")
    return value
