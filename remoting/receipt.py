"""The receipt handle of a popped message, and what a pop answers about its queues.

    handle              "START_OFFSET POP_TIME INVISIBLE REVIVE_QUEUE KIND BROKER QUEUE OFFSET"
    start offsets       "KIND QUEUE OFFSET;KIND QUEUE OFFSET"
    message offsets     "KIND QUEUE OFFSET,OFFSET;KIND QUEUE OFFSET"
    order counts        "KIND QUEUE COUNT;KIND qoQUEUE%OFFSET COUNT"

KIND says which topic a queue belongs to: ``0`` the topic that was asked for, ``1`` and ``2`` the
retry topics that a broker pops along with it, ``%RETRY%GROUP_TOPIC`` and ``%RETRY%GROUP+TOPIC``.
A handle that the 5.x proxy gives to its clients has a ninth word: the log offset of the message.

Rule: this module knows the texts, and neither sends nor waits.

Source: remoting/protocol/header/ExtraInfoUtil.java, common/consumer/ReceiptHandle.java,
common/KeyBuilder.java (5.4.0).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from remoting.errors import BadCall, BadHeader
from remoting.header import parse_int
from storefmt.names import RETRY_PREFIX

POP_CK: Final = "POP_CK"
"""The property with the handle of a popped message."""
FIRST_POP_TIME: Final = "1ST_POP_TIME"
"""The property with the time when a message was popped first, in ms since 1970."""

NORMAL: Final = "0"
"""The topic that was asked for."""
RETRY_V1: Final = "1"
"""``%RETRY%GROUP_TOPIC``."""
RETRY_V2: Final = "2"
"""``%RETRY%GROUP+TOPIC``, of brokers with ``enableRetryTopicV2``."""

ORDERED_REVIVE_QUEUE: Final = 999
"""Stands in the handle of a message that was popped in order: it has no revive queue."""

_USUAL: Final = re.compile(
    r"([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,9}) ([012]) ([^ ]+) ([0-9]{1,9}) "
    r"([0-9]{1,18})(?: ([0-9]{1,18}))?"
)
"""A handle without signs and the largest numbers; others are read word by word."""
_SEPARATORS: Final = {RETRY_V1: "_", RETRY_V2: "+"}
_WORDS: Final = 8
_LONG: Final = 1 << 63
_INT: Final = 1 << 31

_K = TypeVar("_K")
_V = TypeVar("_V")


def topic_kind(topic: str) -> str:
    """Return the kind that handles name a topic by, from the topic's own name."""
    if not topic.startswith(RETRY_PREFIX):
        return NORMAL
    return RETRY_V2 if _SEPARATORS[RETRY_V2] in topic else RETRY_V1


def real_topic(topic: str, group: str, *, kind: str) -> str:
    """Return the topic that holds the messages of a kind.

    Args:
        topic: the topic that the group consumes.
        group: the consumer group.
        kind: ``NORMAL``, ``RETRY_V1`` or ``RETRY_V2``.

    Raises:
        BadCall: there is no such kind.
    """
    if kind == NORMAL:
        return topic
    if kind not in _SEPARATORS:
        raise BadCall(f"no topic of kind {kind!r}; the kinds are 0, 1 and 2")
    return f"{RETRY_PREFIX}{group}{_SEPARATORS[kind]}{topic}"


@dataclass(frozen=True, slots=True)
class ReceiptHandle:
    """Names one delivery of a message: it is acknowledged and hidden longer by this.

    Attributes:
        start_offset: the first queue offset of the pop in this queue; it finds the checkpoint.
        pop_time_ms: when the message was popped, in ms since 1970.
        invisible_ms: how long the message is hidden from then on, in ms.
        revive_queue_id: the queue of the revive topic that has the checkpoint.
        topic_kind: ``NORMAL``, ``RETRY_V1`` or ``RETRY_V2``.
        broker_name: the broker that popped the message.
        queue_id: the queue of the message.
        queue_offset: the message's offset in that queue.
        log_offset: the message's offset in the commit log, in bytes; only in handles of the proxy.
    """

    start_offset: int
    pop_time_ms: int
    invisible_ms: int
    revive_queue_id: int
    topic_kind: str
    broker_name: str
    queue_id: int
    queue_offset: int
    log_offset: int | None = None

    @property
    def expires_at_ms(self) -> int:
        """When the message can be popped again, in ms since 1970."""
        return self.pop_time_ms + self.invisible_ms

    @property
    def is_ordered(self) -> bool:
        """Whether the message was popped in order."""
        return self.revive_queue_id == ORDERED_REVIVE_QUEUE

    def real_topic(self, topic: str, group: str) -> str:
        """Return the topic that holds the message, for a group that consumes ``topic``."""
        return real_topic(topic, group, kind=self.topic_kind)

    def encode(self) -> str:
        """Return the text of the handle."""
        words = (
            f"{self.start_offset} {self.pop_time_ms} {self.invisible_ms} {self.revive_queue_id} "
            f"{self.topic_kind} {self.broker_name} {self.queue_id} {self.queue_offset}"
        )
        return words if self.log_offset is None else f"{words} {self.log_offset}"


def decode_receipt(text: str) -> ReceiptHandle:
    """Return the handle that a text is.

    Raises:
        BadHeader: the text is not a handle that a broker gave out.
    """
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        start, popped, invisible, revive, kind, broker_name, queue, offset, log = usual.groups()
        return ReceiptHandle(
            int(start), int(popped), int(invisible), int(revive), kind, broker_name, int(queue),
            int(offset), None if log is None else int(log),
        )  # fmt: skip
    words = _Words(text, header="ReceiptHandle", key="extraInfo")
    parts = text.split(" ")
    if len(parts) not in (_WORDS, _WORDS + 1):
        raise words.wrong(f"{len(parts)} words instead of {_WORDS} or {_WORDS + 1}")
    if not parts[5]:
        raise words.wrong("no broker name")
    return ReceiptHandle(
        start_offset=words.number(parts[0], _LONG),
        pop_time_ms=words.number(parts[1], _LONG),
        invisible_ms=words.number(parts[2], _LONG),
        revive_queue_id=words.number(parts[3], _INT),
        topic_kind=words.kind(parts[4]),
        broker_name=parts[5],
        queue_id=words.number(parts[6], _INT),
        queue_offset=words.number(parts[7], _LONG),
        log_offset=words.number(parts[8], _LONG) if len(parts) > _WORDS else None,
    )


class PoppedQueue(NamedTuple):
    """One queue of a pop."""

    topic_kind: str
    queue_id: int


class OrderKey(NamedTuple):
    """What a count of consumptions is about: a message, or all popped messages of a queue."""

    topic_kind: str
    queue_id: int
    queue_offset: int | None = None
    """None: the whole queue."""


def encode_start_offsets(offsets: Mapping[PoppedQueue, int]) -> str:
    """Return ``startOffsetInfo``: the first queue offset of a pop in each queue."""
    return ";".join(
        f"{queue.topic_kind} {queue.queue_id} {offset}" for queue, offset in offsets.items()
    )


def decode_start_offsets(text: str | None) -> dict[PoppedQueue, int]:
    """Return what ``encode_start_offsets`` was given; nothing for None and "".

    Raises:
        BadHeader: the text has another form, or names a queue twice.
    """
    words = _Words(text or "", header="PopMessageResponse", key="startOffsetInfo")
    return words.table(
        (PoppedQueue(words.kind(kind), words.number(queue, _INT)), words.number(offset, _LONG))
        for kind, queue, offset in words.triples()
    )


def encode_message_offsets(offsets: Mapping[PoppedQueue, Sequence[int]]) -> str:
    """Return ``msgOffsetInfo``: the queue offsets of the popped messages of each queue."""
    return ";".join(
        f"{queue.topic_kind} {queue.queue_id} {','.join(map(str, each))}"
        for queue, each in offsets.items()
    )


def decode_message_offsets(text: str | None) -> dict[PoppedQueue, tuple[int, ...]]:
    """Return what ``encode_message_offsets`` was given; nothing for None and "".

    Raises:
        BadHeader: the text has another form, or names a queue twice.
    """
    words = _Words(text or "", header="PopMessageResponse", key="msgOffsetInfo")
    return words.table(
        (
            PoppedQueue(words.kind(kind), words.number(queue, _INT)),
            tuple(words.number(offset, _LONG) for offset in offsets.split(",")),
        )
        for kind, queue, offsets in words.triples()
    )


def encode_order_counts(counts: Mapping[OrderKey, int]) -> str:
    """Return ``orderCountInfo``: how often each message or queue was consumed before."""
    return ";".join(f"{key.topic_kind} {_order_word(key)} {count}" for key, count in counts.items())


def decode_order_counts(text: str | None) -> dict[OrderKey, int]:
    """Return what ``encode_order_counts`` was given; nothing for None and "".

    Raises:
        BadHeader: the text has another form, or counts something twice.
    """
    words = _Words(text or "", header="PopMessageResponse", key="orderCountInfo")
    return words.table(
        (words.order_key(kind, key), words.number(count, _INT))
        for kind, key, count in words.triples()
    )


def _order_word(key: OrderKey) -> str:
    if key.queue_offset is None:
        return str(key.queue_id)
    return f"qo{key.queue_id}%{key.queue_offset}"


class _Words:
    """Reads the words of one text; every error names the text."""

    def __init__(self, text: str, *, header: str, key: str) -> None:
        self._text, self._header, self._key = text, header, key

    def wrong(self, why: str) -> BadHeader:
        return BadHeader(
            f"{self._key} {self._text[:100]!r}: {why}", header=self._header, field=self._key
        )

    def triples(self) -> Iterator[list[str]]:
        for entry in self._text.split(";") if self._text else ():
            words = entry.split(" ")
            if len(words) != 3:
                raise self.wrong(f"{len(words)} words in an entry instead of 3")
            yield words

    def number(self, word: str, limit: int) -> int:
        try:
            number = parse_int(word)
        except ValueError as error:
            raise self.wrong(str(error)) from None
        if not -limit <= number < limit:
            raise self.wrong(f"{number} is outside {-limit} to {limit - 1}")
        return number

    def kind(self, word: str) -> str:
        if word not in (NORMAL, RETRY_V1, RETRY_V2):
            raise self.wrong(f"{word!r} is not a kind of topic; the kinds are 0, 1 and 2")
        return word

    def order_key(self, kind: str, word: str) -> OrderKey:
        if not word.startswith("qo"):
            return OrderKey(self.kind(kind), self.number(word, _INT))
        queue, _, offset = word.removeprefix("qo").partition("%")
        return OrderKey(self.kind(kind), self.number(queue, _INT), self.number(offset, _LONG))

    def table(self, pairs: Iterable[tuple[_K, _V]]) -> dict[_K, _V]:
        entries: dict[_K, _V] = {}
        for key, value in pairs:
            if key in entries:
                raise self.wrong("the same entry twice")
            entries[key] = value
        return entries
