"""A topic on one broker: its settings; its messages go with it and do not come back.

Rule: whether it is ordered is no setting of it. Brokers take that from the name servers
(``mqadmin.changes.topic_order``) and do not look at what a request says of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from mqadmin.changes.targets.base import MANY, Listed
from storefmt.config.fastjson import Json
from storefmt.config.tables import TopicConfig
from storefmt.config.topic_attributes import MESSAGE_TYPE


@dataclass(frozen=True, slots=True)
class TopicTarget(Listed[TopicConfig, Mapping[str, TopicConfig]]):
    """Named by the topic."""

    kind: ClassVar[str] = "topic"
    width: ClassVar[int] = MANY

    async def listing(self) -> Mapping[str, TopicConfig]:
        """Return the topics of the broker."""
        return (await self.admin.topic_configs(self.place.address)).topics

    async def write(self, value: TopicConfig | None) -> None:
        """Create, replace or delete it."""
        if value is None:
            await self.admin.delete_topic_in_broker(self.place.address, self.names[0])
        else:
            await self.admin.create_topic(
                self.place.address, value, attributes=await self._attributes(value)
            )

    async def _attributes(self, value: TopicConfig) -> str | None:
        """Return what the request says of the topic's message type; None where nothing changes."""
        if MESSAGE_TYPE in value.attributes:
            return f"+{MESSAGE_TYPE}={value.message_type}"
        # A topic that had no type, and gets its old settings back, may have one now.
        now = (await self.listing()).get(self.names[0])
        if now is None or now.message_type == value.message_type:
            return None
        return f"+{MESSAGE_TYPE}={value.message_type}"

    def encode(self, value: TopicConfig) -> Json:
        """Return Java's json."""
        return value.to_json()

    def decode(self, value: Json) -> TopicConfig:
        """Read Java's json."""
        return TopicConfig.from_json(value, name=self.names[0])

    def same(self, one: TopicConfig | None, other: TopicConfig | None) -> bool:
        """Compare what the request sets; a broker of 5.x answers with more."""
        if one is None or other is None:
            return one is other
        if one.message_type != other.message_type:
            return False
        return replace(one, extra={}, order=other.order) == replace(other, extra={})
