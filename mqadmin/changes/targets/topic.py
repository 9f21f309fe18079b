"""A topic on one broker, and its route at a name server, as targets of a change.

Deleting a topic deletes its messages for good. Brokers register it with the name servers, where it
stays until it is deleted there as well.

Rule: whether a topic is ordered is not one of its settings. Brokers get that from the name servers
(``mqadmin.changes.topic_order``) and ignore it in a request.
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from mqadmin.changes.targets.base import MANY, ListedTarget
from mqadmin.errors import ServerRefused
from storefmt.config.fastjson import Json
from storefmt.config.tables import TopicConfig
from storefmt.config.topic_attributes import changes_between


@dataclass(frozen=True, slots=True)
class TopicTarget(ListedTarget[TopicConfig, Mapping[str, TopicConfig]]):
    """The settings of a topic on one broker; ``names`` has the topic."""

    kind: ClassVar[str] = "topic"
    width: ClassVar[int] = MANY

    async def listing(self) -> Mapping[str, TopicConfig]:
        """Return the topics of the broker."""
        return (await self.admin.topic_configs(self.node.address)).topics

    async def write(self, value: TopicConfig | None) -> None:
        """Create, replace or delete it."""
        if value is None:
            await self.admin.delete_topic_in_broker(self.node.address, self.names[0])
        else:
            await self.admin.create_topic(
                self.node.address, value, attributes=await self._attribute_changes(value)
            )

    async def _attribute_changes(self, value: TopicConfig) -> str | None:
        """Return the attributes of the request; None if they do not change."""
        # The topic may have attributes by now that the value, if it is restored, does not have.
        old = await self.admin.topic_attributes(self.node.address, self.names[0])
        return changes_between(old or {}, value.attributes) or None

    def encode(self, value: TopicConfig) -> Json:
        """Return Java's json."""
        return value.to_json()

    def decode(self, value: Json) -> TopicConfig:
        """Read Java's json."""
        return TopicConfig.from_json(value, name=self.names[0])

    def same(self, left: TopicConfig | None, right: TopicConfig | None) -> bool:
        """Compare what the request sets; a broker of 5.x answers with more."""
        if left is None or right is None:
            return left is right
        if (left.message_type, left.other_attributes) != (
            right.message_type,
            right.other_attributes,
        ):
            return False
        return replace(left, extra={}, order=right.order) == replace(right, extra={})


@dataclass(frozen=True, slots=True)
class RouteTarget(ListedTarget[bool, Collection[str]]):
    """The route of a topic at one name server.

    ``names`` has the topic, and a cluster where only the queues of that cluster are meant.
    """

    kind: ClassVar[str] = "route"
    is_kept: ClassVar[bool] = False

    @property
    def listing_key(self) -> Hashable:
        """Return the key of the listing; a target with a cluster has its own listing."""
        _, *clusters = self.names
        return type(self), self.node.address, self.names if clusters else ()

    async def listing(self) -> Collection[str]:
        """Return the topics that the name server knows."""
        return set(await self.admin.topic_list(address=self.node.address))

    def find(self, listing: Collection[str]) -> bool | None:
        """Return True if the name server lists the topic."""
        return self.names[0] in listing or None

    async def read(self) -> bool | None:
        """Return True if the name server lists the topic, in the cluster if one is named."""
        topic, *clusters = self.names
        listed = self.find(await self.listing())
        if not listed or not clusters:
            return listed
        route = await self.admin.topic_route_at(self.node.address, topic)
        return any(data.cluster in clusters for data in route.broker_datas) or None

    async def write(self, value: bool | None) -> None:
        """Delete the topic on the name server."""
        if value:
            raise ServerRefused("only brokers register topics")
        topic, *clusters = self.names
        await self.admin.delete_topic_in_namesrv(
            self.node.address, topic, cluster=clusters[0] if clusters else None
        )
