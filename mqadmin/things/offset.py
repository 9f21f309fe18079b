"""The next offset of a group in one queue.

Rule: a member that is online would overwrite what is stored behind its back; with one, a
write is refused. A broker cannot forget one offset, so None cannot be written either.
"""

from dataclasses import dataclass
from typing import ClassVar

from mqadmin.errors import Refused
from mqadmin.things.base import Thing
from remoting.bodies import MessageQueue
from storefmt.fastjson import Json


@dataclass(frozen=True, slots=True)
class OffsetThing(Thing[int]):
    """Named by group, topic and queue id."""

    kind: ClassVar[str] = "offset"

    @property
    def queue(self) -> MessageQueue:
        """Return the queue."""
        _, topic, queue_id = self.names
        return MessageQueue(topic=topic, broker_name=self.place.broker, queue_id=int(queue_id))

    async def read(self) -> int | None:
        """Return what is stored; asked for one queue, a broker says 0 where nothing is."""
        group, topic, queue_id = self.names
        table = await self.admin.all_consumer_offsets(self.place.address)
        return table.get((topic, group), {}).get(int(queue_id))

    async def write(self, value: int | None) -> None:
        """Store an offset."""
        group = self.names[0]
        if value is None:
            raise Refused("a broker cannot forget one offset")
        if await self.admin.consumer_ids(self.place.address, group):
            raise Refused("members are online and would overwrite it", hint="stop them")
        await self.admin.update_consumer_offset(self.place.address, group, self.queue, value)

    def encode(self, value: int) -> Json:
        """Return the number."""
        return value

    def decode(self, value: Json) -> int:
        """Read a number."""
        return int(str(value))
