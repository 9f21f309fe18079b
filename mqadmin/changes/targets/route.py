"""That a name server knows a topic: brokers register it, and it stays until it is deleted."""

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import ClassVar

from mqadmin.changes.targets.base import Listed
from mqadmin.errors import Refused


@dataclass(frozen=True, slots=True)
class RouteTarget(Listed[bool, Collection[str]]):
    """Named by the topic, and a cluster where only its queues are meant."""

    kind: ClassVar[str] = "route"
    is_kept: ClassVar[bool] = False

    @property
    def shelf(self) -> Hashable:
        """Return what names the listing; with a cluster it is no matter of a listing alone."""
        _, *clusters = self.names
        return type(self), self.place.address, self.names if clusters else ()

    async def listing(self) -> Collection[str]:
        """Return the topics that the name server knows."""
        return set(await self.admin.topic_list(address=self.place.address))

    def find(self, listing: Collection[str]) -> bool | None:
        """Return True where the name server lists the topic."""
        return self.names[0] in listing or None

    async def read(self) -> bool | None:
        """Return True where the name server lists the topic, in the cluster if one is named."""
        topic, *clusters = self.names
        listed = self.find(await self.listing())
        if not listed or not clusters:
            return listed
        route = await self.admin.topic_route_at(self.place.address, topic)
        return any(data.cluster in clusters for data in route.broker_datas) or None

    async def write(self, value: bool | None) -> None:
        """Have the name server forget the topic."""
        if value:
            raise Refused("brokers register a topic, nobody else")
        topic, *clusters = self.names
        await self.admin.delete_topic_in_namesrv(
            self.place.address, topic, cluster=clusters[0] if clusters else None
        )
