"""The next offset of a group in one queue.

Rule: a write is refused while a member is online, because the member would overwrite the stored
offset. A broker cannot delete a single offset, so None cannot be written either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from mqadmin.changes.targets.base import ListedTarget
from mqadmin.errors import ServerRefused
from remoting.bodies import MessageQueue

Offsets = Mapping[tuple[str, str], Mapping[int, int]]
"""By topic and group; the next offset by queue id."""


@dataclass(frozen=True, slots=True)
class OffsetTarget(ListedTarget[int, Offsets]):
    """An offset at one broker; ``names`` has group, topic and queue id."""

    kind: ClassVar[str] = "offset"

    @property
    def queue(self) -> MessageQueue:
        """Return the queue."""
        _, topic, queue_id = self.names
        return MessageQueue(topic=topic, broker_name=self.node.broker, queue_id=int(queue_id))

    async def listing(self) -> Offsets:
        """Return the offsets of the broker, because asked for one queue it answers 0 for a missing
        one."""
        return await self.admin.all_consumer_offsets(self.node.address)

    def find(self, listing: Offsets) -> int | None:
        """Return the stored offset."""
        group, topic, queue_id = self.names
        return listing.get((topic, group), {}).get(int(queue_id))

    async def write(self, value: int | None) -> None:
        """Store an offset."""
        group = self.names[0]
        if value is None:
            raise ServerRefused("a broker cannot delete a single offset")
        if await self.admin.consumer_ids(self.node.address, group):
            raise ServerRefused("members are online and would overwrite it", hint="stop them")
        await self.admin.update_consumer_offset(self.node.address, group, self.queue, value)
