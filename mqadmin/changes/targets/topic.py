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
            await self.admin.create_topic(self.place.address, value)

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
        return replace(one, extra={}, order=other.order) == replace(other, extra={})
