"""A topic on one broker: its settings; its messages go with it and do not come back."""

from dataclasses import dataclass, replace
from typing import ClassVar

from mqadmin.things.base import Thing
from storefmt.configs import TopicConfig
from storefmt.fastjson import Json


@dataclass(frozen=True, slots=True)
class TopicThing(Thing[TopicConfig]):
    """Named by the topic.

    Attributes:
        says_order: whether it is ordered counts, too. Brokers take that from the name servers
            alone (``mqadmin.topicorder``), so a write that differs in it does not go through.
    """

    kind: ClassVar[str] = "topic"

    says_order: bool = False

    async def read(self) -> TopicConfig | None:
        """Return its settings."""
        return (await self.admin.topic_configs(self.place.address)).topics.get(self.names[0])

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
        order = one.order if self.says_order else other.order
        return replace(one, extra={}, order=order) == replace(other, extra={})
