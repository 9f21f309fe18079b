"""Find a group on the brokers, and its members.

Rule: a group exists if a broker has settings or offsets of it, or if a member is connected; a group
that is in none of the three is "not found".
"""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mqadmin.cli.decorators import Where
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.partial_answers import Answers, ask_each
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import Row
from mqclient.errors import BrokerRefused
from remoting.bodies import ConsumerConnection
from storefmt.config.tables import SubscriptionGroup

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

SYSTEM_PREFIX: Final = "CID_ONSAPI_"
SYSTEM_GROUPS: Final = frozenset(
    {
        "TOOLS_CONSUMER",
        "FILTERSRV_CONSUMER",
        "SELF_TEST_C_GROUP",
        "CID_RMQ_SYS_TRANS",
        "CID_SYS_RMQ_TRANS",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_PULL",
        "SELF_TEST_CONSUMER_GROUP",
    }
)


@dataclass(slots=True)
class GroupAt:
    """A group on one broker; offsets by topic and queue id, in entries."""

    node: ServerNode
    settings: SubscriptionGroup | None = None
    offsets: dict[str, dict[int, int]] = field(default_factory=dict)
    members: list[str] = field(default_factory=list)

    @property
    def is_known(self) -> bool:
        """Return whether the broker knows the group."""
        return bool(self.settings or self.offsets or self.members)


@dataclass(frozen=True, slots=True)
class GroupOffset(Row):
    """Where a group reads next in one queue, in entries; no broker in a store directory."""

    group: str
    topic: str
    broker: str | None
    queue_id: int
    consumer_offset: int


def is_system(group: str) -> bool:
    """Return whether a broker creates this group itself."""
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_PREFIX)


async def find_group(
    admin: "Admin", group: str, *, broker: str | None = None, answers: Answers | None = None
) -> list[GroupAt]:
    """Return the group on each master, or on one broker.

    Args:
        answers: skips masters that do not answer; without it, that is an error.

    Raises:
        ItemNotFound: no broker knows the group.
    """
    nodes = await masters(admin, Where(broker=broker), every=True)
    answered = await ask_each(nodes, lambda node: _at(admin, node, group), answers=answers)
    places = [place for _, place in answered]
    is_whole = answers is None or not answers.exit_code()
    if is_whole and not any(place.is_known for place in places):
        raise ItemNotFound(f"group {group} not found on any broker", hint="`group list` shows them")
    return places


async def _at(admin: "Admin", node: ServerNode, group: str) -> GroupAt:
    table, offsets, members = await asyncio.gather(
        admin.subscription_groups(node.address),
        admin.all_consumer_offsets(node.address),
        admin.consumer_ids(node.address, group),
    )
    own = {topic: queues for (topic, name), queues in offsets.items() if name == group}
    return GroupAt(node, table.groups.get(group), own, members)


async def connection(admin: "Admin", node: ServerNode, group: str) -> ConsumerConnection | None:
    """Return the members that are connected to one broker; None if there are none."""
    try:
        return await admin.consumer_connection(node.address, group)
    except BrokerRefused:
        # A 4.9 broker answers with code 206; others say "system error" for the same.
        return None
