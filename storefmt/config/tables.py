"""The JSON files of ``config/``: typed values, and the text Java writes for them.

    topics.json             TopicTable         dataVersion, topicConfigTable
    topicChanges.json       TopicChanges       the same, base and deleted; only our broker has it
    subscriptionGroup.json  GroupTable         dataVersion, subscriptionGroupTable
    consumerOffset.json     ConsumerOffsets    offsetTable: topic@group -> queue -> offset
    lmqConsumerOffset.json  the same           and lmqOffsetTable: topic@group -> offset
    delayOffset.json        DelayOffsets       offsetTable: delay level -> offset

``MEANINGS`` names the other files of ``config/``, which no program here writes.

Rule: reading is as lenient as fastjson (missing keys keep Java's default, numbers and booleans may
be text). Writing gives fastjson's pretty text, with a table in the order of its dict. Fields that
are unknown here, such as most fields that 5.x adds, are kept in ``extra`` and written back in their
place, and a table is written in the layout of the library that wrote it (``dialect``). So
rewriting a file of 5.x loses nothing. Names are only data here; ``storefmt.paths`` checks them
where they become a path.

Source: common/TopicConfig.java, common/subscription/SubscriptionGroupConfig.java,
common/DataVersion.java, common/ConfigManager.java, broker/offset/ConsumerOffsetManager.java,
broker/offset/LmqConsumerOffsetManager.java (4.9.7; 5.4.0 writes the same names and more).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self, TypeVar

from storefmt.config.fastjson import Dialect, Json, JsonText, Key, dialect_of, dumps, loads
from storefmt.config.jsonvalues import (
    as_counts,
    as_number,
    as_numbers,
    as_object,
    bool_of,
    int_of,
    merge_items,
    str_of,
    table_of,
    unknown_items,
)
from storefmt.config.topic_attributes import MESSAGE_TYPE, NORMAL
from storefmt.errors import ConfigDamaged

MEANINGS: Final[Mapping[str, str]] = {
    "topics.json": "settings of every topic",
    "topicChanges.json": "topics that changed since a broker of this project wrote topics.json",
    "subscriptionGroup.json": "settings of every consumer group",
    "consumerOffset.json": "how far each group has read each queue",
    "lmqConsumerOffset.json": "the same on a broker with enableLmq, light queues included",
    "delayOffset.json": "how far each delay level is delivered",
    "consumerFilter.json": "SQL92 expressions of the groups that use them",
    "consumerOrderInfo.json": "orderly POP: messages that each group holds (5.x)",
    "topicQueueMapping.json": "static topics: where each logical queue lies (5.x)",
    "messageRequestMode.json": "groups that POP instead of pulling (5.x)",
    "timermetrics": "messages in the timer wheel, by topic (5.x)",
    "transactionMetrics": "open half messages, by topic (5.x)",
    "timercheck": "how far the timer got; binary (5.x)",
}
"""Every file of ``config/`` by its name; each may have a ``.bak`` with what it held before."""
SINGLE_TAG: Final = "SINGLE_TAG"
MULTI_TAG: Final = "MULTI_TAG"
UNIT_FLAG: Final = 1
"""``topic_sys_flag`` of a topic whose producers belong to a unit."""
UNIT_SUB_FLAG: Final = 2
"""The same for its consumers."""
_FILTER_TYPES: Final = (SINGLE_TAG, MULTI_TAG)
_SEPARATOR: Final = "@"
DELIVERED_LOG_OFFSET: Final = "deliveredLogOffset"
_TOPIC_NAMES: Final = frozenset({
    "order", "perm", "readQueueNums", "topicFilterType", "topicName", "topicSysFlag",
    "writeQueueNums",
})  # fmt: skip
_GROUP_NAMES: Final = frozenset({
    "brokerId", "consumeBroadcastEnable", "consumeEnable", "consumeFromMinEnable", "groupName",
    "notifyConsumerIdsChangedEnable", "retryMaxTimes", "retryQueueNums",
    "whichBrokerWhenConsumeSlowly",
})  # fmt: skip
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class DataVersion:
    """Time (ms) and number of changes of a table; brokers compare both for equality."""

    timestamp_ms: int = 0
    counter: int = 0
    extra: Mapping[Key, Json] = field(default_factory=dict, hash=False)
    """Fields of a later release that nothing here reads."""

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the version in a parsed object; null gives the empty version."""
        json = as_object(value, "dataVersion")
        return cls(
            int_of(json, "timestamp", 0),
            int_of(json, "counter", 0),
            unknown_items(json, ("timestamp", "counter")),
        )

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return merge_items({"counter": self.counter, "timestamp": self.timestamp_ms}, self.extra)


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The settings of one topic; perm is READ 4 | WRITE 2 | INHERIT 1."""

    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = 6
    topic_filter_type: str = SINGLE_TAG
    topic_sys_flag: int = 0
    order: bool = False
    extra: Mapping[Key, Json] = field(default_factory=dict, hash=False)
    """Fields of a later release, of which only ``attributes`` is read."""

    @classmethod
    def from_json(cls, value: Json, *, name: str = "") -> Self:
        """Return the topic in a parsed object; ``name`` stands in for a missing topicName."""
        json = as_object(value, f"topic {name}")
        return cls(
            topic_name=str_of(json, "topicName", name),
            read_queue_nums=int_of(json, "readQueueNums", 16),
            write_queue_nums=int_of(json, "writeQueueNums", 16),
            perm=int_of(json, "perm", 6),
            topic_filter_type=_filter_type(json.get("topicFilterType")),
            topic_sys_flag=int_of(json, "topicSysFlag", 0),
            order=bool_of(json, "order", False),
            extra=unknown_items(json, _TOPIC_NAMES),
        )

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        value: dict[Key, Json] = {
            "order": self.order,
            "perm": self.perm,
            "readQueueNums": self.read_queue_nums,
            "topicFilterType": self.topic_filter_type,
            "topicName": self.topic_name,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }
        return merge_items(value, self.extra)

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes that RocketMQ 5 gives to a topic (see ``topic_attributes``)."""
        attributes = self.extra.get("attributes")
        if not isinstance(attributes, Mapping):
            return {}
        return {str(name): str(value) for name, value in attributes.items()}

    @property
    def message_type(self) -> str:
        """The type of the messages that the topic is for; NORMAL if none is set."""
        return self.attributes.get(MESSAGE_TYPE, NORMAL)

    @property
    def other_attributes(self) -> dict[str, str]:
        """The attributes besides the message type."""
        return {name: value for name, value in self.attributes.items() if name != MESSAGE_TYPE}

    def with_attributes(self, attributes: Mapping[str, str]) -> Self:
        """Return the topic with these attributes; without any, the key is left out as in 4.9."""
        extra = {key: value for key, value in self.extra.items() if key != "attributes"}
        if attributes:
            values: dict[Key, Json] = dict(attributes.items())
            extra["attributes"] = values
        return replace(self, extra=extra)


@dataclass(frozen=True, slots=True)
class SubscriptionGroup:
    """The settings of one consumer group."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    extra: Mapping[Key, Json] = field(default_factory=dict, hash=False)
    """Fields of a later release that nothing here reads."""

    @classmethod
    def from_json(cls, value: Json, *, name: str = "") -> Self:
        """Return the group in a parsed object; ``name`` stands in for a missing groupName."""
        json = as_object(value, f"group {name}")
        return cls(
            group_name=str_of(json, "groupName", name),
            consume_enable=bool_of(json, "consumeEnable", True),
            consume_from_min_enable=bool_of(json, "consumeFromMinEnable", True),
            consume_broadcast_enable=bool_of(json, "consumeBroadcastEnable", True),
            retry_queue_nums=int_of(json, "retryQueueNums", 1),
            retry_max_times=int_of(json, "retryMaxTimes", 16),
            broker_id=int_of(json, "brokerId", 0),
            which_broker_when_consume_slowly=int_of(json, "whichBrokerWhenConsumeSlowly", 1),
            notify_consumer_ids_changed_enable=bool_of(
                json, "notifyConsumerIdsChangedEnable", True
            ),
            extra=unknown_items(json, _GROUP_NAMES),
        )

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        value: dict[Key, Json] = {
            "brokerId": self.broker_id,
            "consumeBroadcastEnable": self.consume_broadcast_enable,
            "consumeEnable": self.consume_enable,
            "consumeFromMinEnable": self.consume_from_min_enable,
            "groupName": self.group_name,
            "notifyConsumerIdsChangedEnable": self.notify_consumer_ids_changed_enable,
            "retryMaxTimes": self.retry_max_times,
            "retryQueueNums": self.retry_queue_nums,
            "whichBrokerWhenConsumeSlowly": self.which_broker_when_consume_slowly,
        }
        return merge_items(value, self.extra)


@dataclass(slots=True)
class _StateFile(ABC):
    """A table that is one JSON file, and that remembers in which layout the file was."""

    dialect: Dialect = field(default=Dialect.FASTJSON, compare=False, kw_only=True)

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the table in the text of the file.

        Raises:
            ConfigDamaged: it is not a JSON object, a key in it is not ``topic@group``, or a number
                is malformed.
        """
        table = cls.from_json(loads(text))
        table.dialect = dialect_of(text)
        return table

    @classmethod
    @abstractmethod
    def from_json(cls, value: Json) -> Self:
        """Return the table in a parsed object; errors as ``decode``."""

    @abstractmethod
    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""

    def encode(self) -> str:
        """Return the text of the file."""
        return dumps(self.to_json(), pretty=True, dialect=self.dialect)


@dataclass(slots=True)
class TopicTable(_StateFile):
    """topics.json: every topic by its name."""

    topics: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)
    extra: Mapping[Key, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the table in a parsed object; errors as ``decode``."""
        json = as_object(value, "topic table")
        table = table_of(json, "topicConfigTable")
        topics = {str(key): TopicConfig.from_json(item, name=str(key)) for key, item in table}
        version = DataVersion.from_json(json.get("dataVersion"))
        return cls(topics, version, unknown_items(json, ("dataVersion", "topicConfigTable")))

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return self._with({name: topic.to_json() for name, topic in self.topics.items()})

    def _with(self, topics: dict[Key, Json]) -> dict[Key, Json]:
        value: dict[Key, Json] = {
            "dataVersion": self.data_version.to_json(),
            "topicConfigTable": topics,
        }
        return merge_items(value, self.extra)

    def encode(self, known: "TopicTexts | None" = None) -> str:
        """Return the text of the file.

        Args:
            known: cached texts of its topics, if the table is written repeatedly.
        """
        topics = (TopicTexts() if known is None else known).texts_of(self)
        return dumps(self._with(topics), pretty=True, dialect=self.dialect)

    def changes_since(self, base: "TopicTable") -> "TopicChanges":
        """Return what changed since ``base``, an earlier snapshot of the same table."""
        deleted = sorted(base.topics.keys() - self.topics.keys())
        return TopicChanges(base.data_version, self.changed_since(base), deleted, self.data_version)

    def changed_since(self, base: "TopicTable") -> dict[str, TopicConfig]:
        """Return the topics that are new or changed since ``base``, an earlier snapshot."""
        old = base.topics
        # The same object: a topic does not change, it is replaced.
        return {name: topic for name, topic in self.topics.items() if old.get(name) is not topic}

    def apply(self, changes: "TopicChanges") -> None:
        """Apply changes if this is the table that they are based on.

        A table of another version was written later and has these changes already, or it comes from
        another broker or a backup, to which they do not apply.
        """
        if changes.base != self.data_version:
            return
        for name in changes.deleted:
            self.topics.pop(name, None)
        self.topics |= changes.topics
        self.data_version = changes.data_version


@dataclass(slots=True)
class TopicChanges(_StateFile):
    """topicChanges.json: what changed since topics.json was written, so that a change is cheap.

    ``base`` is the version of that topics.json; with any other version the changes do not apply.
    """

    base: DataVersion = field(default_factory=DataVersion)
    topics: dict[str, TopicConfig] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    data_version: DataVersion = field(default_factory=DataVersion)

    @property
    def count(self) -> int:
        """How many topics changed or were deleted."""
        return len(self.topics) + len(self.deleted)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the changes in a parsed object; errors as ``decode``."""
        json = as_object(value, "topic changes")
        table = TopicTable.from_json(value)
        deleted = json.get("deleted")
        if not isinstance(deleted, list):
            raise ConfigDamaged("deleted is not a list of topics")
        base = DataVersion.from_json(json.get("base"))
        return cls(base, table.topics, [str(name) for name in deleted], table.data_version)

    def to_json(self) -> dict[Key, Json]:
        """Return the object, with the keys of topics.json and two more."""
        table = TopicTable(self.topics, self.data_version)
        return {
            "base": self.base.to_json(),
            "deleted": list(self.deleted),
            **table.to_json(),
        }


class TopicTexts:
    """The texts of topics in topics.json, kept from one writing of the file to the next.

    Formatting 20,000 topics takes a third of a second, and joining cached texts a tenth of that.
    One thread at a time may use it.
    """

    def __init__(self) -> None:
        self.made_count = 0
        """Texts that were made so far."""
        self._texts: dict[str, tuple[TopicConfig, JsonText]] = {}

    def texts_of(self, table: TopicTable) -> dict[Key, Json]:
        """Return the text of each topic of a table, and forget those of others."""
        old_texts, self._texts = self._texts, {}
        for name, topic in table.topics.items():
            entry = old_texts.get(name)
            # The same object: a topic does not change, it is replaced.
            if entry is None or entry[0] is not topic:
                text = dumps(topic.to_json(), pretty=True, dialect=table.dialect, depth=2)
                entry = topic, JsonText(text)
                self.made_count += 1
            self._texts[name] = entry
        return {name: text for name, (_, text) in self._texts.items()}


@dataclass(slots=True)
class GroupTable(_StateFile):
    """subscriptionGroup.json: every consumer group by its name."""

    groups: dict[str, SubscriptionGroup] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)
    extra: Mapping[Key, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the table in a parsed object; errors as ``decode``."""
        json = as_object(value, "group table")
        table = table_of(json, "subscriptionGroupTable")
        groups = {str(key): SubscriptionGroup.from_json(item, name=str(key)) for key, item in table}
        version = DataVersion.from_json(json.get("dataVersion"))
        return cls(groups, version, unknown_items(json, ("dataVersion", "subscriptionGroupTable")))

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        value: dict[Key, Json] = {
            "dataVersion": self.data_version.to_json(),
            "subscriptionGroupTable": {
                name: group.to_json() for name, group in self.groups.items()
            },
        }
        return merge_items(value, self.extra)


@dataclass(slots=True)
class ConsumerOffsets(_StateFile):
    """consumerOffset.json: (topic, group) -> queue id -> next queue offset to read.

    ``lmq_offsets`` is used only with enableLmq: (topic, group) -> next queue offset of the
    only queue of a light queue; then the file is lmqConsumerOffset.json.
    """

    offsets: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    lmq_offsets: dict[tuple[str, str], int] | None = None
    extra: Mapping[Key, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the offsets in a parsed object; errors as ``decode``."""
        json = as_object(value, "consumer offsets")
        offsets = {
            topic_at_group(key): as_numbers(item, str(key))
            for key, item in table_of(json, "offsetTable")
        }
        extra = unknown_items(json, ("lmqOffsetTable", "offsetTable"))
        if "lmqOffsetTable" not in json:
            return cls(offsets, extra=extra)
        lmq = as_counts(json.get("lmqOffsetTable"), "lmqOffsetTable")
        return cls(offsets, {topic_at_group(key): number for key, number in lmq.items()}, extra)

    def by_queue(self) -> dict[tuple[str, str], dict[int, int]]:
        """Return a copy of all offsets; a light queue is queue 0 of its name."""
        offsets = {key: dict(queues) for key, queues in self.offsets.items()}
        for key, number in (self.lmq_offsets or {}).items():
            offsets.setdefault(key, {})[0] = number
        return offsets

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        value: dict[Key, Json] = {}
        if self.lmq_offsets is not None:
            value["lmqOffsetTable"] = {
                _SEPARATOR.join(key): number for key, number in self.lmq_offsets.items()
            }
        value["offsetTable"] = {
            _SEPARATOR.join(key): dict(queues.items()) for key, queues in self.offsets.items()
        }
        return merge_items(value, self.extra)


@dataclass(slots=True)
class DelayOffsets(_StateFile):
    """delayOffset.json: delay level (1 and up) -> next queue offset of its queue."""

    offsets: dict[int, int] = field(default_factory=dict)
    extra: Mapping[Key, Json] = field(default_factory=dict)
    log_offset: int | None = field(default=None, compare=False)
    """Every message that ``offsets`` counts as delivered lies below this offset of the commit
    log, and every later delivery lies at or after it; None if the file does not contain it.
    The real broker ignores this entry and leaves it out when it writes the file."""

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the offsets in a parsed object; errors as ``decode``."""
        json = as_object(value, "delay offsets")
        offsets = as_numbers(json.get("offsetTable"), "offsetTable")
        delivered = json.get(DELIVERED_LOG_OFFSET)
        log_offset = None if delivered is None else as_number(delivered, DELIVERED_LOG_OFFSET)
        return cls(offsets, unknown_items(json, ("offsetTable", DELIVERED_LOG_OFFSET)), log_offset)

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        value: dict[Key, Json] = {"offsetTable": dict(self.offsets.items())}
        if self.log_offset is not None:
            value = {DELIVERED_LOG_OFFSET: self.log_offset, **value}
        return merge_items(value, self.extra)


def load_config(
    path: Path, decode: Callable[[bytes], _Value], *, passed_over: list[str] | None = None
) -> _Value | None:
    """Return the content of a config file or of its ``.bak``; None if neither exists.

    Args:
        path: such as ``config/topics.json``.
        decode: such as ``TopicTable.decode``. An empty file counts as damaged.
        passed_over: is called with why ``path`` itself cannot be read, if its ``.bak`` can.

    Raises:
        ConfigDamaged: one of the files exists, but neither can be read. (Java then starts
            without topics or offsets, and forgets them.)
    """
    problems: list[str] = []
    for candidate in (path, path.with_name(path.name + ".bak")):
        try:
            data = candidate.read_bytes()
            if not data.strip():
                raise ConfigDamaged("the file is empty")
            config = decode(data)
        except FileNotFoundError:
            continue
        except (ConfigDamaged, OSError) as error:
            problems.append(f"{candidate}: {error}")
            continue
        if passed_over is not None:
            passed_over += problems
        return config
    if problems:
        raise ConfigDamaged(
            f"{' and '.join(problems)}; no copy of {path.name} can be read: restore one, or "
            f"delete {path} and {path.name}.bak to start without it"
        )
    return None


def topic_at_group(key: Key) -> tuple[str, str]:
    """Return the topic and the group of a key; ConfigDamaged when it is not ``topic@group``."""
    topic, separator, group = str(key).partition(_SEPARATOR)
    if not separator:
        raise ConfigDamaged(f"offset key {str(key)!r:.300} is not topic@group")
    return topic, group


def _filter_type(value: Json) -> str:
    # Java takes the name or the ordinal, and anything else as null.
    if isinstance(value, int) and 0 <= value < len(_FILTER_TYPES):
        return _FILTER_TYPES[value]
    return value if isinstance(value, str) and value in _FILTER_TYPES else SINGLE_TAG
