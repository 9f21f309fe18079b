"""A message to send, and a message that was received.

Rule: ``Message`` is what the user wants to say; ids, times and compression are added when
it is sent. ``MessageExt`` is one stored record plus the broker it came from; its body is
the user's again, decompressed. A body that cannot be, or that is not what the producer sent,
is an error of who looks at it, and of nobody else: the messages around it are read as ever.

Source: common/message/Message.java, common/message/MessageExt.java (4.9.7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mqclient.errors import BadAnswer, BadRequest
from storefmt.errors import DamageKind, RecordDamaged, StoreError
from storefmt.hosts import host_text
from storefmt.message import Record, decode_record, decode_records
from storefmt.properties import (
    DELAY,
    KEY_SEPARATOR,
    KEYS,
    SYSTEM_NAMES,
    TAGS,
    UNIQUE_KEY,
    WAIT,
    check_property,
    hashmap_order,
)
from storefmt.sysflag import COMPRESSED, inflate

BODY_SIZE_MAX: Final = 4 * 1024 * 1024
"""The producer's and the broker's limit on a body as sent (maxMessageSize)."""

INFLATED_SIZE_MAX: Final = 64 * 1024 * 1024
"""No compressed body grows beyond this here."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a user sends.

    Args:
        topic: an existing topic, or one the broker may make.
        body: the content; not empty, 4 MiB at most.
        tags: one word that subscriptions filter by.
        keys: words to find the message by, a list or one blank separated text.
        flag: a number of the user's own, stored and never looked at.
        properties: the user's own names and values; RocketMQ's names are refused.
        delay_level: 1 to 18 delays delivery (1 s to 2 h by default), 0 does not.
        wait_stored: False lets the broker answer before slaves and disk have it.
    """

    topic: str
    body: bytes
    tags: str | None = field(default=None, kw_only=True)
    keys: str | Sequence[str] | None = field(default=None, kw_only=True)
    flag: int = field(default=0, kw_only=True)
    properties: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    delay_level: int = field(default=0, kw_only=True)
    wait_stored: bool = field(default=True, kw_only=True)

    def wire_properties(
        self, unique_key: str | None, *, system: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Return all properties as they travel, in the order in which Java writes them.

        Args:
            system: properties of RocketMQ's own, which a user cannot give.

        Raises:
            BadRequest: a property cannot be written, or is RocketMQ's own.
        """
        own = {
            name: value
            for name, value in (
                (TAGS, self.tags),
                (KEYS, self.keys_text),
                (WAIT, "true" if self.wait_stored else "false"),
                (DELAY, str(self.delay_level) if self.delay_level else None),
            )
            if value
        }
        for name in self.properties:
            if name in SYSTEM_NAMES:
                raise BadRequest(
                    f"property {name} is RocketMQ's own", hint="choose another name for yours"
                )
        own |= self.properties
        own |= system or {}
        if unique_key is not None:
            own[UNIQUE_KEY] = unique_key
        for name, value in own.items():
            if not all(isinstance(text, str) for text in (name, value)):
                raise BadRequest(
                    f"property {name!r} = {value!r}: name and value are texts", hint="as str(value)"
                )
            try:
                check_property(name, value)
            except StoreError as error:
                raise BadRequest(str(error)) from error
        return {name: own[name] for name in hashmap_order(list(own))}

    @property
    def keys_text(self) -> str:
        """The keys as one text, "" without any; raises BadRequest where they are no texts."""
        if self.keys is None or isinstance(self.keys, str):
            return self.keys or ""
        try:
            return KEY_SEPARATOR.join(self.keys)
        except TypeError as error:
            raise BadRequest(f"keys {self.keys!r}, expected a text or a list of texts") from error


class MessageExt:
    """A received message.

    Args:
        record: the stored record; hosts are packed, its body is as stored.
        broker_name: where it came from, "" when that is not known.
        damage: what is wrong with the stored body, "" when nothing is.

    The body is decompressed and the properties are parsed when they are first asked for: most
    messages that pass through a consumer are never asked for all of it.
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
            f"offset {record.queue_offset}, {self.msg_id})"
        )

    @property
    def body(self) -> bytes:
        """The user's body, decompressed; ``record.body`` is as it was stored.

        Raises:
            BadAnswer: the body is damaged, or cannot be decompressed.
        """
        if self._body is None:
            record = self.record
            if self.damage:
                raise BadAnswer(
                    f"message {self.msg_id}: {self.damage}", hint="record.body has what is left"
                )
            if not record.sys_flag & COMPRESSED:
                return record.body
            try:
                self._body = inflate(record.body, record.sys_flag, size_max=INFLATED_SIZE_MAX)
            except (StoreError, ImportError) as error:
                raise BadAnswer(
                    f"message {self.msg_id}: {error}", hint="record.body has the stored bytes"
                ) from error
        return self._body

    @property
    def unreadable(self) -> str:
        """Why ``body`` raises, "" when it does not."""
        if self._body is not None or not (self.damage or self.record.sys_flag & COMPRESSED):
            return ""
        try:
            self.body  # noqa: B018
        except BadAnswer as error:
            return str(error)
        return ""

    @property
    def properties(self) -> Mapping[str, str]:
        """All properties, RocketMQ's own too."""
        if self._properties is None:
            self._properties = self.record.properties
        return self._properties

    def but(self, *, topic: str | None = None, reconsume_times: int | None = None) -> "MessageExt":
        """Return the same message under another topic, or delivered so often."""
        record = self.record
        if topic is not None:
            record = record._replace(topic=topic)
        if reconsume_times is not None:
            record = record._replace(reconsume_times=reconsume_times)
        changed = MessageExt(record, self.broker_name, damage=self.damage)
        changed._body, changed._properties = self._body, self._properties
        return changed

    @property
    def topic(self) -> str:
        """The topic."""
        return self.record.topic

    @property
    def queue_id(self) -> int:
        """The queue."""
        return self.record.queue_id

    @property
    def queue_offset(self) -> int:
        """Place in the queue, in entries."""
        return self.record.queue_offset

    @property
    def log_offset(self) -> int:
        """Place in the commit log, in bytes."""
        return self.record.log_offset

    @property
    def msg_id(self) -> str:
        """The offset message id: broker address and log offset."""
        return self.record.msg_id

    @property
    def unique_key(self) -> str | None:
        """The id the producer gave, None where it gave none."""
        return self.properties.get(UNIQUE_KEY)

    @property
    def tags(self) -> str | None:
        """The tag, None without one."""
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        """The keys, empty ones dropped."""
        return [key for key in self.properties.get(KEYS, "").split(KEY_SEPARATOR) if key]

    @property
    def born_ms(self) -> int:
        """When the producer made it."""
        return self.record.born_ms

    @property
    def store_ms(self) -> int:
        """When the broker stored it."""
        return self.record.store_ms

    @property
    def born_host(self) -> str:
        """Where the producer was, ``ip:port``."""
        return host_text(self.record.born_host)

    @property
    def store_host(self) -> str:
        """Which broker stored it, ``ip:port``."""
        return host_text(self.record.store_host)

    @property
    def reconsume_times(self) -> int:
        """How often it was delivered again."""
        return self.record.reconsume_times


def read_messages(data: bytes, *, broker_name: str, address: str) -> list[MessageExt]:
    """Return the messages of a pull, query or view answer.

    Raises:
        BadAnswer: the bytes are not whole records.
    """
    try:
        records = decode_records(data)
    except StoreError as error:
        raise BadAnswer(f"{address} sent messages that cannot be read: {error}") from error
    return [MessageExt(record, broker_name) for record in records]


def read_pulled(data: bytes, *, broker_name: str) -> tuple[list[MessageExt], RecordDamaged | None]:
    """Return the messages of a pull, those before the first bytes that are no record.

    Where Java leaves out what comes behind such bytes without a word, they are told here. A
    record that is whole but for its body is a message that is ``unreadable``; Java's clients
    do not look at the CRC.
    """
    try:
        return [MessageExt(record, broker_name) for record in decode_records(data)], None
    except RecordDamaged:
        # One by one, which is slower: how far they are good.
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
