"""The JSON files of ``config/``: typed values, and the text Java writes for them.

    topics.json             TopicTable         dataVersion, topicConfigTable
    subscriptionGroup.json  GroupTable         dataVersion, subscriptionGroupTable
    consumerOffset.json     ConsumerOffsets    offsetTable: topic@group -> queue -> offset
    lmqConsumerOffset.json  the same           and lmqOffsetTable: topic@group -> offset
    delayOffset.json        DelayOffsets       offsetTable: delay level -> offset

Rule: reading is as lenient as fastjson (missing keys keep Java's default, unknown keys
are dropped, numbers and booleans may be text); writing gives fastjson's pretty text
with a table in the order of its dict. Names are data here: they are checked where they
become a path (``storefmt.paths``). What 5.x adds to these files is dropped.

Source: common/TopicConfig.java, common/subscription/SubscriptionGroupConfig.java,
common/DataVersion.java, common/ConfigManager.java, broker/offset/ConsumerOffsetManager.java,
broker/offset/LmqConsumerOffsetManager.java (4.9.7).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self, TypeVar

from storefmt.errors import ConfigDamaged
from storefmt.fastjson import Json, Key, dumps, loads

SINGLE_TAG: Final = "SINGLE_TAG"
MULTI_TAG: Final = "MULTI_TAG"
_FILTER_TYPES: Final = (SINGLE_TAG, MULTI_TAG)
_SEPARATOR: Final = "@"
_Object = Mapping[Key, Json]
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class DataVersion:
    """When a table was changed last (ms), and how often: a slave copies what is newer."""

    timestamp_ms: int = 0
    counter: int = 0

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the version in a parsed object; null gives the empty version."""
        found = _object(value, "dataVersion")
        return cls(_int(found, "timestamp", 0), _int(found, "counter", 0))

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return {"counter": self.counter, "timestamp": self.timestamp_ms}


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

    @classmethod
    def from_json(cls, value: Json, *, name: str = "") -> Self:
        """Return the topic in a parsed object; ``name`` stands in for a missing topicName."""
        found = _object(value, f"topic {name}")
        return cls(
            topic_name=_str(found, "topicName", name),
            read_queue_nums=_int(found, "readQueueNums", 16),
            write_queue_nums=_int(found, "writeQueueNums", 16),
            perm=_int(found, "perm", 6),
            topic_filter_type=_filter_type(found.get("topicFilterType")),
            topic_sys_flag=_int(found, "topicSysFlag", 0),
            order=_bool(found, "order", False),
        )

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return {
            "order": self.order,
            "perm": self.perm,
            "readQueueNums": self.read_queue_nums,
            "topicFilterType": self.topic_filter_type,
            "topicName": self.topic_name,
            "topicSysFlag": self.topic_sys_flag,
            "writeQueueNums": self.write_queue_nums,
        }


@dataclass(frozen=True, slots=True)
class SubscriptionGroup:
    """The settings of one consumer group; counts are what their names say."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True

    @classmethod
    def from_json(cls, value: Json, *, name: str = "") -> Self:
        """Return the group in a parsed object; ``name`` stands in for a missing groupName."""
        found = _object(value, f"group {name}")
        return cls(
            group_name=_str(found, "groupName", name),
            consume_enable=_bool(found, "consumeEnable", True),
            consume_from_min_enable=_bool(found, "consumeFromMinEnable", True),
            consume_broadcast_enable=_bool(found, "consumeBroadcastEnable", True),
            retry_queue_nums=_int(found, "retryQueueNums", 1),
            retry_max_times=_int(found, "retryMaxTimes", 16),
            broker_id=_int(found, "brokerId", 0),
            which_broker_when_consume_slowly=_int(found, "whichBrokerWhenConsumeSlowly", 1),
            notify_consumer_ids_changed_enable=_bool(found, "notifyConsumerIdsChangedEnable", True),
        )

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return {
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


@dataclass(slots=True)
class TopicTable:
    """topics.json: every topic by its name."""

    topics: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = DataVersion()

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the table in the text of the file.

        Raises:
            ConfigDamaged: it is no JSON object, or a number in it is none.
        """
        return cls.from_json(loads(text))

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the table in a parsed object; errors as ``decode``."""
        found = _object(value, "topic table")
        table = _table(found, "topicConfigTable")
        topics = {str(key): TopicConfig.from_json(item, name=str(key)) for key, item in table}
        return cls(topics, DataVersion.from_json(found.get("dataVersion")))

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return {
            "dataVersion": self.data_version.to_json(),
            "topicConfigTable": {name: topic.to_json() for name, topic in self.topics.items()},
        }

    def encode(self) -> str:
        """Return the text of the file."""
        return dumps(self.to_json(), pretty=True)


@dataclass(slots=True)
class GroupTable:
    """subscriptionGroup.json: every consumer group by its name."""

    groups: dict[str, SubscriptionGroup] = field(default_factory=dict)
    data_version: DataVersion = DataVersion()

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the table in the text of the file; errors as ``TopicTable.decode``."""
        return cls.from_json(loads(text))

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the table in a parsed object; errors as ``decode``."""
        found = _object(value, "group table")
        table = _table(found, "subscriptionGroupTable")
        groups = {str(key): SubscriptionGroup.from_json(item, name=str(key)) for key, item in table}
        return cls(groups, DataVersion.from_json(found.get("dataVersion")))

    def to_json(self) -> dict[Key, Json]:
        """Return the object in the key order of Java."""
        return {
            "dataVersion": self.data_version.to_json(),
            "subscriptionGroupTable": {
                name: group.to_json() for name, group in self.groups.items()
            },
        }

    def encode(self) -> str:
        """Return the text of the file."""
        return dumps(self.to_json(), pretty=True)


@dataclass(slots=True)
class ConsumerOffsets:
    """consumerOffset.json: (topic, group) -> queue id -> next queue offset to read.

    ``lmq_offsets`` is there with enableLmq alone: (topic, group) -> next queue offset of
    the one queue of a light queue; then the file is lmqConsumerOffset.json.
    """

    offsets: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    lmq_offsets: dict[tuple[str, str], int] | None = None

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the offsets in the text of either file.

        Raises:
            ConfigDamaged: it is no JSON object, a key is not ``topic@group``, or an offset
                is no number.
        """
        return cls.from_json(loads(text))

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Return the offsets in a parsed object; errors as ``decode``."""
        found = _object(value, "consumer offsets")
        offsets = {
            _topic_at_group(key): _numbers(item, str(key))
            for key, item in _table(found, "offsetTable")
        }
        if "lmqOffsetTable" not in found:
            return cls(offsets)
        lmq = _numbers_by_text(found.get("lmqOffsetTable"), "lmqOffsetTable")
        return cls(offsets, {_topic_at_group(key): number for key, number in lmq.items()})

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
        return value

    def encode(self) -> str:
        """Return the text of the file."""
        return dumps(self.to_json(), pretty=True)


@dataclass(slots=True)
class DelayOffsets:
    """delayOffset.json: delay level (1 and up) -> next queue offset of its queue."""

    offsets: dict[int, int] = field(default_factory=dict)

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the offsets in the text of the file; errors as ``ConsumerOffsets.decode``."""
        found = _object(loads(text), "delay offsets")
        return cls(_numbers(found.get("offsetTable"), "offsetTable"))

    def encode(self) -> str:
        """Return the text of the file."""
        return dumps({"offsetTable": dict(self.offsets.items())}, pretty=True)


def load_config(path: Path, decode: Callable[[bytes], _Value]) -> _Value | None:
    """Return what a config file holds, or its ``.bak``; None when there is neither.

    Args:
        path: as ``config/topics.json``.
        decode: as ``TopicTable.decode``. An empty file counts as damaged.

    Raises:
        ConfigDamaged: one of the files is there and neither can be read. (Java starts
            without topics or offsets then, and forgets them.)
    """
    problems: list[str] = []
    for candidate in (path, path.with_name(path.name + ".bak")):
        try:
            data = candidate.read_bytes()
            if not data.strip():
                raise ConfigDamaged("the file is empty")
            return decode(data)
        except FileNotFoundError:
            continue
        except (ConfigDamaged, OSError) as error:
            problems.append(f"{candidate}: {error}")
    if problems:
        raise ConfigDamaged(
            f"{' and '.join(problems)}; no copy of {path.name} can be read: restore one, or "
            f"delete {path} and {path.name}.bak to start without it"
        )
    return None


def _object(value: Json, what: str) -> _Object:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigDamaged(f"{what} is {type(value).__name__}, expected a json object")
    return value


def _table(found: _Object, name: str) -> list[tuple[Key, Json]]:
    # Java's maps take no null values.
    return [item for item in _object(found.get(name), name).items() if item[1] is not None]


def _number(value: Json, what: str) -> int:
    # Java reads numbers out of text too.
    if isinstance(value, int | float | str):
        try:
            return int(value)
        except ValueError as error:
            raise ConfigDamaged(f"{what} is {value!r:.40}, expected a number") from error
    raise ConfigDamaged(f"{what} is {value!r:.40}, expected a number")


def _numbers(value: Json, what: str) -> dict[int, int]:
    found = _object(value, what)
    return {
        _number(key if isinstance(key, int) else str(key), f"key of {what}"): _number(item, what)
        for key, item in found.items()
        if item is not None
    }


def _numbers_by_text(value: Json, what: str) -> dict[Key, int]:
    return {
        key: _number(item, what) for key, item in _object(value, what).items() if item is not None
    }


def _topic_at_group(key: Key) -> tuple[str, str]:
    topic, separator, group = str(key).partition(_SEPARATOR)
    if not separator:
        raise ConfigDamaged(f"offset key {str(key)!r:.300} is not topic@group")
    return topic, group


def _int(found: _Object, name: str, default: int) -> int:
    value = found.get(name)
    return default if value is None else _number(value, name)


def _str(found: _Object, name: str, default: str) -> str:
    value = found.get(name)
    return default if value is None else str(value)


def _bool(found: _Object, name: str, default: bool) -> bool:
    value = found.get(name)
    if value is None:
        return default
    if isinstance(value, str):
        return value.lower() in ("true", "1")
    if isinstance(value, int):
        return value != 0
    raise ConfigDamaged(f"{name} is {value!r:.40}, expected true or false")


def _filter_type(value: Json) -> str:
    # Java takes the name or the ordinal, and anything else as null.
    if isinstance(value, int) and 0 <= value < len(_FILTER_TYPES):
        return _FILTER_TYPES[value]
    return value if isinstance(value, str) and value in _FILTER_TYPES else SINGLE_TAG
