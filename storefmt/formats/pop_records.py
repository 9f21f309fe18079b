"""The records of POP in the topic rmq_sys_REVIVE_LOG_<cluster>, whose bodies are JSON (5.x).

    tag    body                                                          meaning
    ck     {"bn":B,"c":G,"d":[0,1],"it":MS,"pt":MS,"q":Q,"so":S,"t":T}    messages S+0, S+1 are out
    ack    {"ao":OFFSET,"bn":B,"c":G,"pt":MS,"q":Q,"so":S,"t":T}          one is acknowledged
    bAck   {"ao":-1,"aol":[OFFSET,…], …}                                  several are

A checkpoint names the messages that one pop took from one queue: the queue offsets ``so`` plus each
of ``d``, or ``n`` messages in a row if there is no ``d``. Acknowledgements name its group, topic,
queue, ``so`` and pop time. The topic is the retry topic if the messages came from there.

Rule: this module reads the records for people. A record of any other form is None and not damage.

Source: store/pop/PopCheckPoint.java, AckMsg.java, BatchAckMsg.java (5.4.0).
"""

import json
from typing import Final, NamedTuple

CHECKPOINT: Final = "ck"
ACK: Final = "ack"
BATCH_ACK: Final = "bAck"
KINDS: Final = {CHECKPOINT: "checkpoint", ACK: "ack", BATCH_ACK: "batch ack"}
"""The name of each tag."""
_COUNT_MAX: Final = 1_000
"""A pop takes at most 32 messages; a body with more was not written by a broker."""


class PopRecord(NamedTuple):
    """A record of POP.

    Attributes:
        kind: checkpoint, ack or batch ack.
        group: the consumer group.
        topic: the topic of the messages.
        queue_id: the queue of the messages.
        start_offset: the queue offset that the pop began at.
        queue_offsets: the messages that are out, or acknowledged.
        pop_ms: when they were popped, in ms since 1970.
        invisible_ms: how long they are hidden, in ms; None in an acknowledgement.
        broker: the broker that popped them; None if the body does not name it.
    """

    kind: str
    group: str
    topic: str
    queue_id: int
    start_offset: int
    queue_offsets: tuple[int, ...]
    pop_ms: int
    invisible_ms: int | None
    broker: str | None

    @property
    def revive_ms(self) -> int | None:
        """When the messages are delivered again unless acknowledged; None in an acknowledgement."""
        return None if self.invisible_ms is None else self.pop_ms + self.invisible_ms


def read_pop_record(tag: str | None, body: bytes) -> PopRecord | None:
    """Return the content of a record of the revive log, or None if it is not a POP record.

    Args:
        tag: the tag of the record.
        body: its body.
    """
    if tag not in KINDS:
        return None
    try:
        fields = json.loads(body)
        start = _number(fields["so"])
        offsets, invisible_ms = _offsets_of(tag, fields, start)
        return PopRecord(
            kind=KINDS[tag],
            group=_text(fields["c"]),
            topic=_text(fields["t"]),
            queue_id=_number(fields["q"]),
            start_offset=start,
            queue_offsets=offsets,
            pop_ms=_number(fields["pt"]),
            invisible_ms=invisible_ms,
            broker=fields.get("bn"),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _offsets_of(
    tag: str, found: dict[str, object], start: int
) -> tuple[tuple[int, ...], int | None]:
    """Return the queue offsets of a body, and how long its messages are hidden."""
    if tag == ACK:
        return (_number(found["ao"]),), None
    if tag == BATCH_ACK:
        return _numbers(found["aol"]), None
    distances = found.get("d")
    if not distances:
        count = _number(found["n"])
        if count > _COUNT_MAX:
            raise ValueError(f"{count} messages")
        distances = list(range(count))
    return tuple(start + each for each in _numbers(distances)), _number(found["it"])


def _numbers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > _COUNT_MAX:
        raise TypeError("no list of numbers")
    return tuple(_number(each) for each in value)


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError("no number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
