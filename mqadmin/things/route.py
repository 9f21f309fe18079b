"""That a name server knows a topic: brokers register it, and it stays until it is deleted."""

from dataclasses import dataclass
from typing import ClassVar

from mqadmin.errors import Refused
from mqadmin.things.base import Thing
from storefmt.fastjson import Json


@dataclass(frozen=True, slots=True)
class RouteThing(Thing[bool]):
    """Named by the topic, and a cluster where only its queues are meant."""

    kind: ClassVar[str] = "route"
    is_kept: ClassVar[bool] = False

    async def read(self) -> bool | None:
        """Return True where the name server lists the topic, in the cluster if one is named."""
        topic, *clusters = self.names
        address = self.place.address
        if topic not in await self.admin.topic_list(address=address):
            return None
        if not clusters:
            return True
        route = await self.admin.topic_route_at(address, topic)
        return any(data.cluster in clusters for data in route.broker_datas) or None

    async def write(self, value: bool | None) -> None:
        """Have the name server forget the topic."""
        if value:
            raise Refused("brokers register a topic, nobody else")
        topic, *clusters = self.names
        await self.admin.delete_topic_in_namesrv(
            self.place.address, topic, cluster=clusters[0] if clusters else None
        )

    def encode(self, value: bool) -> Json:
        """Return it as it is."""
        return value

    def decode(self, value: Json) -> bool:
        """Read true or false."""
        return bool(value)
