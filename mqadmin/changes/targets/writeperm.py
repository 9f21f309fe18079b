"""Whether a name server lets producers write to a broker.

    wipe   every queue of the broker loses W at this name server
    add    every queue gets RW, even those of read-only topics

The permission is read from the topic that is named after the broker. A broker that registers again
(because a topic changed, or it restarted) overwrites it with its own permissions.

Source: namesrv/routeinfo/RouteInfoManager.java#operateWritePermOfBrokerByLock.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from mqadmin.changes.targets.base import ChangeTarget
from mqclient.errors import NotFound
from storefmt.names import PERM_WRITE

FALLBACK: Final = "SELF_TEST_TOPIC"
"""A system topic for a cluster where topics of broker names are switched off."""


@dataclass(frozen=True, slots=True)
class WritePerm(ChangeTarget[bool]):
    """Whether a broker can be written to; ``names`` has its name.

    Attributes:
        changed: how many topics each name server has changed, by its address.
    """

    kind: ClassVar[str] = "write permission"

    changed: dict[str, int] = field(default_factory=dict, compare=False)

    async def read(self) -> bool | None:
        """Return whether the broker's own topic can be written to; None if the topic is unknown."""
        broker = self.names[0]
        for topic in (broker, FALLBACK):
            try:
                route = await self.admin.topic_route_at(self.node.address, topic)
            except NotFound:
                continue
            perms = [data.perm for data in route.queue_datas if data.broker_name == broker]
            if perms:
                return bool(perms[0] & PERM_WRITE)
        return None

    async def write(self, value: bool | None) -> None:
        """Grant or revoke the permission."""
        change = self.admin.add_write_perm if value else self.admin.wipe_write_perm
        self.changed[self.node.address] = await change(self.node.address, self.names[0])
