"""The files of ``config/`` that have no typed table: each is kept as one JSON value.

    consumerFilter.json      which SQL92 expression each group has on each topic
    consumerOrderInfo.json   orderly POP: what each group holds of each queue        (5.x)
    topicQueueMapping.json   static topics: where each logical queue lies            (5.x)
    messageRequestMode.json  which groups POP instead of pulling                     (5.x)
    timermetrics             messages in the timer wheel, by topic                   (5.x)
    transactionMetrics       half messages open, by topic                            (5.x)
    timercheck               no JSON: ``storefmt.formats.timer.TimerCheckpoint``             (5.x)

Rule: a ``StateFile`` keeps everything that its text contained, and writes it again in the layout
of the library that wrote it. ``storefmt.config.tables`` has the tables that our broker writes.

Source: broker/filter/ConsumerFilterManager.java, ConsumerFilterData.java (4.9.7);
broker/pop/orderly/QueueLevelConsumerManager.java#OrderInfo,
broker/topic/TopicQueueMappingManager.java,
remoting/protocol/statictopic/TopicQueueMappingDetail.java, LogicQueueMappingItem.java,
broker/loadbalance/MessageRequestModeManager.java, store/timer/TimerMetrics.java,
broker/transaction/TransactionMetrics.java (5.4.0).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from storefmt.config.fastjson import Dialect, Json, dialect_of, dumps, loads
from storefmt.config.jsonvalues import (
    as_object,
)
from storefmt.config.tables import DataVersion

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
        """The version of the table, None if the file has none; ConfigDamaged if it is no object."""
        found = as_object(self.value, "state file")
        return DataVersion.from_json(found["dataVersion"]) if "dataVersion" in found else None
