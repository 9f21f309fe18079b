"""A message to send, and a message that was received.

``Message`` is what the application sends; ids, times and compression are added at the send.
``MessageExt`` is one stored record and the broker that it came from; its ``body`` is decompressed.

Rule: a body that cannot be decompressed, or that fails its CRC, raises an error only where it is
read. The messages around it are read as usual.

Source: common/message/Message.java, common/message/MessageExt.java (4.9.7).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

from mqclient.argument_checks import check_moment, check_range, check_seconds
from mqclient.errors import BadAnswer, BadRequest
from remoting.receipt import POP_CK
from storefmt.errors import DamageKind, RecordDamaged, StoreError
from storefmt.formats.hosts import host_text
from storefmt.formats.message import Record, decode_record, decode_records
from storefmt.formats.properties import (
    DELAY,
    KEY_SEPARATOR,
    KEYS,
    SYSTEM_NAMES,
    TAGS,
    TIMER_DELAY_MS,
    TIMER_DELIVER_MS,
    UNIQUE_KEY,
    WAIT,
    check_property,
    hashmap_order,
)
from storefmt.formats.sysflag import COMPRESSED, inflate

_T = TypeVar("_T")

BODY_SIZE_MAX: Final = 4 * 1024 * 1024
"""The limit of producers and brokers on a body as it is sent, in bytes (maxMessageSize)."""

DELAY_LEVEL_MAX: Final = 18
"""The last delay level of a broker, whose queue of delayed messages has that many."""
DELAY_S_LIMIT: Final = 2**40
"""Beyond any delay that makes sense, and below what a number of ms can hold."""

INFLATED_SIZE_MAX: Final = 64 * 1024 * 1024
"""The limit on a body after it is decompressed, in bytes."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to send.

    Args:
        topic: an existing topic, or one that the broker may create.
        body: the content; at least one byte, at most 4 MiB.
        tags: one word that subscriptions filter by.
        keys: words to find the message by; a list, or one text with spaces between them.
        flag: a number for the application; brokers store it and ignore it.
        properties: the application's names and values; names of RocketMQ are refused.
        delay_level: 1 to 18 delays delivery (1 s to 2 h by default), 0 does not.
        delay_s: delays delivery by this time, in seconds; 0 does not. Brokers of RocketMQ 5 and
            ours deliver in steps of a second; a 4.9 broker delivers at once.
        deliver_at: delays delivery until this time, as ``delay_s`` does; with a time zone.
        wait_stored: False lets the broker answer before its disk and its slave have the message.
    """

    topic: str
    body: bytes
    tags: str | None = field(default=None, kw_only=True)
    keys: str | Sequence[str] | None = field(default=None, kw_only=True)
    flag: int = field(default=0, kw_only=True)
    properties: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    delay_level: int = field(default=0, kw_only=True)
    delay_s: float = field(default=0, kw_only=True)
    deliver_at: datetime | None = field(default=None, kw_only=True)
    wait_stored: bool = field(default=True, kw_only=True)

    def wire_properties(
        self, unique_key: str | None, *, system: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Return all properties of the send request, in the order in which Java writes them.

        Args:
            unique_key: the id of the message; None adds none.
            system: properties that are RocketMQ's own, which an application cannot set.

        Raises:
            BadRequest: a property cannot be encoded, or its name is RocketMQ's own; a delay is not
                allowed.
        """
        own = {
            name: value
            for name, value in (
                (TAGS, self.tags),
                (KEYS, self.keys_text),
                (WAIT, "true" if self.wait_stored else "false"),
                *self._delay_properties(),
            )
            if value
        }
        for name in self.properties:
            if name in SYSTEM_NAMES:
                raise BadRequest(f"property {name} is RocketMQ's own", hint="choose another name")
        own |= self.properties
        own |= system or {}
        if unique_key is not None:
            own[UNIQUE_KEY] = unique_key
        for name, value in own.items():
            if not all(isinstance(text, str) for text in (name, value)):
                raise BadRequest(
                    f"property {name!r} = {value!r}: name and value must be texts",
                    hint="give str(value)",
                )
            try:
                check_property(name, value)
            except StoreError as error:
                raise BadRequest(str(error)) from error
        return {name: own[name] for name in hashmap_order(list(own))}

    @property
    def is_delayed(self) -> bool:
        """Whether the message has a delay of any kind."""
        return bool(self.delay_level or self.delay_s or self.deliver_at)

    def _delay_properties(self) -> list[tuple[str, str]]:
        """Return the property that delays delivery, if there is one.

        Raises:
            BadRequest: a delay is not allowed, or there are several.
        """
        if not self.is_delayed:
            return []
        if sum(map(bool, (self.delay_level, self.delay_s, self.deliver_at))) > 1:
            raise BadRequest("delay_level, delay_s and deliver_at exclude each other")
        if self.delay_level:
            check_range("delay_level", self.delay_level, low=0, high=DELAY_LEVEL_MAX)
            return [(DELAY, str(self.delay_level))]
        if self.deliver_at is not None:
            check_moment("deliver_at", self.deliver_at)
            return [(TIMER_DELIVER_MS, str(math.ceil(self.deliver_at.timestamp() * 1000)))]
        check_seconds("delay_s", self.delay_s, limit=DELAY_S_LIMIT)
        return [(TIMER_DELAY_MS, str(math.ceil(self.delay_s * 1000)))]

    @property
    def keys_text(self) -> str:
        """The keys as one text with spaces between them; "" when there are none.

        Raises:
            BadRequest: a key is not a text.
        """
        if self.keys is None or isinstance(self.keys, str):
            return self.keys or ""
        try:
            return KEY_SEPARATOR.join(self.keys)
        except TypeError as error:
            raise BadRequest(f"keys {self.keys!r}, expected a text or a list of texts") from error


class MessageExt:
    """A received message.

    Args:
        record: the stored record, with packed hosts and the body as it is stored.
        broker_name: the broker that it came from; "" when that is not known.
        damage: what is wrong with the stored body; "" when nothing is.

    The body is decompressed, and the properties are parsed, when they are first read, because most
    consumers do not read all of a message.
    """

    __slots__ = ("_body", "_properties", "broker_name", "damage", "record")

    def __init__(self, record: Record, broker_name: str, *, damage: str = "") -> None:
        self.record = record
        self.broker_name = broker_name
        self.damage = damage
        self._body: bytes | None = None
        self._properties: Mapping[str, str] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MessageExt):
            return NotImplemented
        return self.record == other.record and self.broker_name == other.broker_name

    def __hash__(self) -> int:
        return hash((self.record.store_host, self.record.log_offset))

    def __repr__(self) -> str:
        record = self.record
        return (
            f"MessageExt({record.topic} of {self.broker_name}, queue {record.queue_id}, "
            f"offset {record.queue_offset}, {self.offset_msg_id})"
        )

    @property
    def body(self) -> bytes:
        """The body as it was sent, decompressed; ``record.body`` is the stored one.

        Raises:
            BadAnswer: the body is damaged, or cannot be decompressed.
        """
        if self._body is None:
            record = self.record
            if self.damage:
                raise BadAnswer(
                    f"message {self.offset_msg_id}: {self.damage}",
                    hint="record.body has what is left",
                )
            if not record.sys_flag & COMPRESSED:
                return record.body
            try:
                self._body = inflate(record.body, record.sys_flag, size_max=INFLATED_SIZE_MAX)
            except (StoreError, ImportError) as error:
                raise BadAnswer(
                    f"message {self.offset_msg_id}: {error}",
                    hint="record.body has the stored bytes",
                ) from error
        return self._body

    def body_as(self, kind: type[_T]) -> _T:
        """Return the body as a value of a type: a dataclass, a pydantic or msgspec model, a dict, …

        Raises:
            UnexpectedBody: the body is not JSON, or the value is of another type.
            BadAnswer: see ``body``.
        """
        # Most consumers read bytes and need no JSON.
        from mqclient.json_body import from_json

        return from_json(self.body, kind)

    @property
    def unreadable(self) -> str:
        """The text of the error that ``body`` raises; "" when it raises none."""
        if self._body is not None or not (self.damage or self.record.sys_flag & COMPRESSED):
            return ""
        try:
            self.body  # noqa: B018
        except BadAnswer as error:
            return str(error)
        return ""

    @property
    def properties(self) -> Mapping[str, str]:
        """All properties, including those of RocketMQ."""
        if self._properties is None:
            self._properties = self.record.properties
        return self._properties

    def but(
        self,
        *,
        topic: str | None = None,
        reconsume_times: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> "MessageExt":
        """Return the same message with another topic, count of deliveries, or properties."""
        record = self.record
        if topic is not None:
            record = record._replace(topic=topic)
        if reconsume_times is not None:
            record = record._replace(reconsume_times=reconsume_times)
        changed = MessageExt(record, self.broker_name, damage=self.damage)
        changed._body = self._body
        changed._properties = self._properties if properties is None else properties
        return changed

    def moved(self, queue_id: int, queue_offset: int) -> "MessageExt":
        """Return the same message at another place: that of a logical queue."""
        record = self.record._replace(queue_id=queue_id, queue_offset=queue_offset)
        changed = MessageExt(record, self.broker_name, damage=self.damage)
        changed._body = self._body
        changed._properties = self._properties
        return changed

    @property
    def receipt(self) -> str | None:
        """The handle of this delivery, for a message that a simple consumer received."""
        return self.properties.get(POP_CK)

    def renew_receipt(self, receipt: str) -> None:
        """Replace the handle of this delivery, because the broker has given another one."""
        self._properties = {**self.properties, POP_CK: receipt}

    @property
    def topic(self) -> str:
        """The topic of the message."""
        return self.record.topic

    @property
    def queue_id(self) -> int:
        """The id of the queue."""
        return self.record.queue_id

    @property
    def queue_offset(self) -> int:
        """The offset in the queue, in entries."""
        return self.record.queue_offset

    @property
    def log_offset(self) -> int:
        """The offset in the commit log, in bytes."""
        return self.record.log_offset

    @property
    def msg_id(self) -> str:
        """The unique key, or the offset id of a message without one (Java: getMsgId)."""
        return self.unique_key or self.offset_msg_id

    @property
    def offset_msg_id(self) -> str:
        """The offset id: the broker's address and the log offset (Java: getOffsetMsgId)."""
        return self.record.msg_id

    @property
    def unique_key(self) -> str | None:
        """The id that the producer gave to the message; None when it gave none."""
        return self.properties.get(UNIQUE_KEY)

    @property
    def tags(self) -> str | None:
        """The tag of the message; None when it has none."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        """The keys of the message, without empty ones."""
        return [key for key in self.properties.get(KEYS, "").split(KEY_SEPARATOR) if key]

    @property
    def born_ms(self) -> int:
        """When the producer sent it, in ms since 1970."""
        return self.record.born_ms

    @property
    def store_ms(self) -> int:
        """When the broker stored it, in ms since 1970."""
        return self.record.store_ms

    @property
    def born_host(self) -> str:
        """The address of the producer, ``ip:port``."""
        return host_text(self.record.born_host)

    @property
    def store_host(self) -> str:
        """The address of the broker that stored it, ``ip:port``."""
        return host_text(self.record.store_host)

    @property
    def reconsume_times(self) -> int:
        """How often the message was delivered again."""
        return self.record.reconsume_times


def read_messages(data: bytes, *, broker_name: str, address: str) -> list[MessageExt]:
    """Return the messages in the answer to a query or view.

    Args:
        data: whole records, one right after the other.
        broker_name: the broker that sent them.
        address: its address, for the error text.

    Raises:
        BadAnswer: the bytes are not whole records.
    """
    try:
        records = decode_records(data)
    except StoreError as error:
        raise BadAnswer(f"{address} sent messages that cannot be read: {error}") from error
    return [MessageExt(record, broker_name) for record in records]


def read_pulled(data: bytes, *, broker_name: str) -> tuple[list[MessageExt], RecordDamaged | None]:
    """Return the messages in the answer to a pull, and the damage after them, if there is any.

    The messages end at the first bytes that are not a record. Java's client leaves out what is
    after such bytes silently; here the caller gets the error. A record whose body alone is
    damaged becomes a message that is ``unreadable``; Java's client does not check the CRC.
    """
    try:
        return [MessageExt(record, broker_name) for record in decode_records(data)], None
    except RecordDamaged:
        # The records are decoded one by one, which is slower, to find the first damaged one.
        messages: list[MessageExt] = []
        pos = 0
        while pos < len(data):
            damage = ""
            try:
                record = decode_record(data, pos)
            except RecordDamaged as error:
                if error.kind is not DamageKind.BAD_CRC:
                    return messages, error
                record, damage = decode_record(data, pos, check_crc=False), str(error)
            messages.append(MessageExt(record, broker_name, damage=damage))
            pos += record.size
        return messages, None
