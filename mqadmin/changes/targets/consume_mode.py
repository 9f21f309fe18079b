"""How a group consumes a topic on one broker of RocketMQ 5: by PULL or by POP.

Rule: a broker cannot delete a mode that was set. PULL is the mode of groups without one, so `undo`
sets PULL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from mqadmin.changes.targets.base import MANY, ListedTarget
from mqadmin.errors import CommandError, ServerRefused
from remoting import bodies
from storefmt.config.fastjson import Json


class ConsumeMode(NamedTuple):
    """PULL or POP, and how many further members read each queue (0: all of them)."""

    mode: str
    share_queues: int


DEFAULT = ConsumeMode("PULL", 0)


@dataclass(frozen=True, slots=True)
class ConsumeModeTarget(ListedTarget[ConsumeMode, Mapping[tuple[str, str], ConsumeMode]]):
    """The mode of a group and topic on one broker; ``names`` has both."""

    kind: ClassVar[str] = "consume mode"
    width: ClassVar[int] = MANY

    async def listing(self) -> Mapping[tuple[str, str], ConsumeMode]:
        """Return the modes that were set at the broker."""
        modes = await self.admin.message_request_modes(self.node.address)
        return {
            names: ConsumeMode(body.mode.name if body.mode else "PULL", body.pop_share_queue_num)
            for names, body in modes.items()
        }

    def find(self, listing: Mapping[tuple[str, str], ConsumeMode]) -> ConsumeMode:
        """Return the mode of this group and topic."""
        group, topic = self.names
        return listing.get((group, topic), DEFAULT)

    async def write(self, value: ConsumeMode | None) -> None:
        """Set it."""
        if value is None:
            raise ServerRefused("a broker cannot delete a consume mode", hint="set PULL")
        mode, share_queues = value
        group, topic = self.names
        body = bodies.SetMessageRequestModeRequestBody(
            topic=topic,
            consumer_group=group,
            mode=bodies.MessageRequestMode[mode],
            pop_share_queue_num=share_queues,
        )
        await self.admin.set_message_request_mode(self.node.address, body)

    def encode(self, value: ConsumeMode) -> Json:
        """Return the mode as the journal keeps it."""
        return {"mode": value.mode, "shareQueues": value.share_queues}

    def decode(self, value: Json) -> ConsumeMode:
        """Read what ``encode`` made."""
        match value:
            case {"mode": str(mode), "shareQueues": int(share_queues)}:
                return ConsumeMode(mode, share_queues)
        raise CommandError(f"the journal entry {value!r} is not a consume mode")
