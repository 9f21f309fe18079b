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

Rule: this module knows the records, and neither stores nor counts. A record with another
body is not an error; it was not written by POP and is ignored.

Source: store/pop/PopCheckPoint.java, AckMsg.java, BatchAckMsg.java,
broker/processor/PopMessageProcessor.java#buildCkMsg, AckMessageProcessor.java#appendAck (5.4.0;
keys and their order are those of a store that it wrote).
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mqserver.broker.clients.consumer_offsets import Place
from mqserver.store.results import PutMessage
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
    """How far each message lies after ``start_offset``, in entries, ascending."""
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


class ReviveRecords:
    """Makes the records of the revive log of one broker.

    Args:
        cluster: name of the cluster, which is part of the topic.
        broker: name of the broker.
        host: its packed host.
    """

    def __init__(self, *, cluster: str, broker: str, host: bytes) -> None:
        self._topic = revive_topic(cluster)
        self._broker = broker
        self._host = host

    def checkpoint(self, checkpoint: PopCheckpoint, *, queue_id: int, now_ms: int) -> PutMessage:
        """Return the record of a checkpoint.

        Args:
            checkpoint: what was popped.
            queue_id: queue of the revive log.
            now_ms: when the record is born.
        """
        key = checkpoint.key
        own = {
            "bm": _signed(checkpoint.done),
            "d": checkpoint.distances,
            "it": checkpoint.invisible_ms,
            "n": len(checkpoint.distances),
            "reviveTime": checkpoint.revive_ms,
            "ro": 0,
        }
        return self._message(
            key, CK_TAG, own, f"{key.start_offset}", CK_TAG,
            queue_id=queue_id, deliver_ms=checkpoint.revive_ms - ACK_INTERVAL_MS, now_ms=now_ms,
        )  # fmt: skip

    def acknowledgement(
        self, acknowledged: Acknowledged, *, queue_id: int, deliver_ms: int, now_ms: int
    ) -> PutMessage:
        """Return the record of an acknowledgement: ``ack`` for one message, ``bAck`` for several.

        Args:
            acknowledged: the messages.
            queue_id: queue of the revive log that has their checkpoint.
            deliver_ms: when they would come again, in ms since 1970.
            now_ms: when the record is born.
        """
        key, queue_offsets = acknowledged
        tag = ACK_TAG
        own: dict[str, object] = {"ao": queue_offsets[0]}
        if len(queue_offsets) > 1:
            tag, own = BATCH_ACK_TAG, {"ao": -1, "aol": queue_offsets}
        # 5.4.0 ends the unique key of both kinds of record with this tag.
        return self._message(
            key, tag, own, f"{own['ao']}", ACK_TAG,
            queue_id=queue_id, deliver_ms=deliver_ms, now_ms=now_ms,
        )  # fmt: skip

    def _message(
        self,
        key: PopKey,
        tag: str,
        own: Mapping[str, object],
        offset: str,
        suffix: str,
        *,
        queue_id: int,
        deliver_ms: int,
        now_ms: int,
    ) -> PutMessage:
        """Return a record: its body has the keys of ``own`` and those that all records have."""
        body = {
            **own,
            "bn": self._broker,
            "c": key.group,
            "pt": key.pop_time_ms,
            "q": key.queue_id,
            "so": key.start_offset,
            "t": key.topic,
        }
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        parts = key.topic, key.queue_id, offset, key.group, key.pop_time_ms, self._broker, suffix
        unique_key = "@".join(map(str, parts))
        # 5.4.0 has the timer deliver the record at this time, and reads it from here.
        named = {TAGS: tag, TIMER_DELIVER_MS: str(deliver_ms), UNIQUE_KEY: unique_key}
        return PutMessage(
            topic=self._topic,
            topic_bytes=self._topic.encode(),
            queue_id=queue_id,
            body=text.encode(),
            properties=in_java_order(named).encode(),
            born_ms=now_ms,
            born_host=self._host,
            store_host=self._host,
            tags_code=_CODES[tag],
            keys=(unique_key,),
        )


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
        raise ValueError(f"{value!r} is not a number below {limit}")
    return value
