"""The other files of ``config/``: kept whole, with a typed view where the fields are known.

    consumerFilter.json      which SQL92 expression each group has on each topic
    consumerOrderInfo.json   orderly POP: what each group holds of each queue        (5.x)
    topicQueueMapping.json   static topics: where each logical queue lies            (5.x)
    messageRequestMode.json  which groups POP instead of pulling                     (5.x)
    timermetrics             messages in the timer wheel, by topic                   (5.x)
    transactionMetrics       half messages open, by topic                            (5.x)
    timercheck               no JSON: ``storefmt.formats.timer.TimerCheckpoint``             (5.x)

Rule: a ``StateFile`` holds everything that its text held and writes it again in the layout of
the library that wrote it, known or not; a view is a reading of it and changes nothing.
``storefmt.config.tables`` has the tables that a broker of ours writes.

Source: broker/filter/ConsumerFilterManager.java, ConsumerFilterData.java (4.9.7);
broker/pop/orderly/QueueLevelConsumerManager.java#OrderInfo,
broker/topic/TopicQueueMappingManager.java,
remoting/protocol/statictopic/TopicQueueMappingDetail.java, LogicQueueMappingItem.java,
broker/loadbalance/MessageRequestModeManager.java, store/timer/TimerMetrics.java,
broker/transaction/TransactionMetrics.java (5.4.0).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from storefmt.config.fastjson import Dialect, Json, Key, dialect_of, dumps, loads
from storefmt.config.jsonvalues import (
    Object,
    as_number,
    as_numbers,
    as_object,
    int_of,
    str_of,
    table_of,
)
from storefmt.config.tables import DataVersion, topic_at_group
from storefmt.errors import ConfigDamaged

MEANINGS: Final[Mapping[str, str]] = {
    "topics.json": "settings of every topic",
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


class ConsumerFilter(NamedTuple):
    """The expression of one group on one topic; times in ms, ``dead_ms`` 0 while in use."""

    topic: str
    group: str
    expression: str
    expression_type: str
    born_ms: int
    dead_ms: int
    client_version: int
    bit_count: int
    """Bits in the bit map of a consume queue ext unit."""
    bit_positions: tuple[int, ...]
    """The bits that are set where a message matches; bit 0 is the lowest of the first byte."""

    @property
    def is_dead(self) -> bool:
        """True when no consumer of the group was there: Java forgets it after a day."""
        return self.dead_ms >= self.born_ms


class PopOrder(NamedTuple):
    """What a group with orderly POP holds of one queue; times in ms."""

    topic: str
    group: str
    queue_id: int
    attempt_id: str
    pop_ms: int
    invisible_ms: int
    """How long (ms) the messages stay hidden after ``pop_ms``."""
    queue_offsets: tuple[int, ...]
    next_visible_ms: dict[int, int]
    """By queue offset, where it differs from the rest."""
    consumed_counts: dict[int, int]
    """By queue offset: how often it was given out, where more than once."""
    last_consumed_ms: int
    committed: tuple[bool, ...]
    """For each of ``queue_offsets``: whether it was acknowledged."""


class MappedQueue(NamedTuple):
    """One stretch of a logical queue of a static topic; ``end`` -1 while it grows."""

    generation: int
    queue_id: int
    broker_name: str
    logic_offset: int
    start_queue_offset: int
    end_queue_offset: int


class QueueMapping(NamedTuple):
    """The logical queues of one static topic that one broker holds."""

    topic: str
    scope: str
    broker_name: str
    queue_count: int
    epoch: int
    queues: dict[int, tuple[MappedQueue, ...]]
    """By logical queue id, oldest stretch first."""


class RequestMode(NamedTuple):
    """How one group asks for the messages of one topic: ``PULL`` or ``POP``."""

    topic: str
    group: str
    mode: str
    share_queue_count: int


class TopicCount(NamedTuple):
    """A count of messages of one topic, and when (ms) it changed last."""

    topic: str
    message_count: int
    changed_ms: int


@dataclass(frozen=True, slots=True)
class StateFile:
    """Any JSON file of ``config/``: its value, and how its text was laid out."""

    value: Json
    pretty: bool = True
    dialect: Dialect = Dialect.FASTJSON

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Return the file; ConfigDamaged when it is no JSON."""
        pretty = b"\n" in text if isinstance(text, bytes) else "\n" in text
        return cls(loads(text), pretty, dialect_of(text))

    def encode(self) -> str:
        """Return the text, as the library that wrote it would write it again."""
        return dumps(self.value, pretty=self.pretty, dialect=self.dialect)

    @property
    def data_version(self) -> DataVersion | None:
        """The version of the table, None in a file that has none; ConfigDamaged as below."""
        found = as_object(self.value, "state file")
        return DataVersion.from_json(found["dataVersion"]) if "dataVersion" in found else None


# Each view raises ConfigDamaged where the value is of another shape.


def consumer_filters(file: StateFile) -> list[ConsumerFilter]:
    """Return the expressions of consumerFilter.json, in the order of the file."""
    filters: list[ConsumerFilter] = []
    for topic, found in _objects(file, "filterDataByTopic"):
        for group, item in table_of(found, "groupFilterData"):
            data = as_object(item, f"filter of {group}")
            bloom = as_object(data.get("bloomFilterData"), "bloomFilterData")
            filters.append(
                ConsumerFilter(
                    topic=str_of(data, "topic", topic),
                    group=str_of(data, "consumerGroup", str(group)),
                    expression=str_of(data, "expression", ""),
                    expression_type=str_of(data, "expressionType", ""),
                    born_ms=int_of(data, "bornTime", 0),
                    dead_ms=int_of(data, "deadTime", 0),
                    client_version=int_of(data, "clientVersion", 0),
                    bit_count=int_of(bloom, "bitNum", 0),
                    bit_positions=_numbers(bloom, "bitPos"),
                )
            )
    return filters


def pop_orders(file: StateFile) -> list[PopOrder]:
    """Return what the groups of consumerOrderInfo.json hold, in the order of the file."""
    orders: list[PopOrder] = []
    for key, queues in _objects(file, "table"):
        topic, group = topic_at_group(key)
        for queue_id, item in queues.items():
            data = as_object(item, f"order info of {key}")
            found = _numbers(data, "o")
            # Java writes the first offset, and of the others how far they are from it.
            offsets = found[:1] + tuple(found[0] + step for step in found[1:])
            bits = int_of(data, "cm", 0)
            orders.append(
                PopOrder(
                    topic=topic,
                    group=group,
                    queue_id=as_number(str(queue_id), f"queue id of {key}"),
                    attempt_id=str_of(data, "a", ""),
                    pop_ms=int_of(data, "popTime", 0),
                    invisible_ms=int_of(data, "i", 0),
                    queue_offsets=offsets,
                    next_visible_ms=as_numbers(data.get("ot"), "ot"),
                    consumed_counts=as_numbers(data.get("oc"), "oc"),
                    last_consumed_ms=int_of(data, "l", 0),
                    committed=tuple(bool(bits >> bit & 1) for bit in range(len(offsets))),
                )
            )
    return orders


def queue_mappings(file: StateFile) -> list[QueueMapping]:
    """Return the static topics of topicQueueMapping.json, in the order of the file."""
    return [
        QueueMapping(
            topic=str_of(found, "topic", topic),
            scope=str_of(found, "scope", ""),
            broker_name=str_of(found, "bname", ""),
            queue_count=int_of(found, "totalQueues", 0),
            epoch=int_of(found, "epoch", 0),
            queues={
                as_number(str(queue_id), f"queue id of {topic}"): tuple(_mapped(items, topic))
                for queue_id, items in table_of(found, "hostedQueues")
            },
        )
        for topic, found in _objects(file, "topicQueueMappingInfoMap")
    ]


def _mapped(items: Json, topic: str) -> Iterator[MappedQueue]:
    if not isinstance(items, list):
        raise ConfigDamaged(f"a queue of {topic} is {type(items).__name__}, expected a list")
    for item in items:
        found = as_object(item, f"mapping of {topic}")
        yield MappedQueue(
            generation=int_of(found, "gen", 0),
            queue_id=int_of(found, "queueId", 0),
            broker_name=str_of(found, "bname", ""),
            logic_offset=int_of(found, "logicOffset", 0),
            start_queue_offset=int_of(found, "startOffset", 0),
            end_queue_offset=int_of(found, "endOffset", -1),
        )


def request_modes(file: StateFile) -> list[RequestMode]:
    """Return the groups of messageRequestMode.json, in the order of the file."""
    return [
        RequestMode(
            topic=str_of(found, "topic", topic),
            group=str_of(found, "consumerGroup", str(group)),
            mode=str_of(found, "mode", "PULL"),
            share_queue_count=int_of(found, "popShareQueueNum", 0),
        )
        for topic, groups in _objects(file, "messageRequestModeMap")
        for group, item in groups.items()
        for found in (as_object(item, f"request mode of {group}"),)
    ]


def topic_counts(file: StateFile) -> list[TopicCount]:
    """Return the counts of timermetrics or transactionMetrics, in the order of the file."""
    return [
        TopicCount(topic, int_of(found, "count", 0), int_of(found, "timeStamp", 0))
        for name in ("timingCount", "transactionCount")
        for topic, found in _objects(file, name)
    ]


def _objects(file: StateFile, name: str) -> Iterator[tuple[str, Object]]:
    for key, item in table_of(as_object(file.value, "state file"), name):
        yield str(key), as_object(item, f"{key} of {name}")


def _numbers(found: Mapping[Key, Json], name: str) -> tuple[int, ...]:
    items = found.get(name)
    if items is None:
        return ()
    if not isinstance(items, list):
        raise ConfigDamaged(f"{name} is {type(items).__name__}, expected a list of numbers")
    return tuple(as_number(item, name) for item in items)
