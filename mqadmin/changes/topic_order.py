"""Change whether a topic is ordered: an entry BROKER:QUEUES;BROKER:QUEUES of the name servers.

    updateTopic -o true ── topic on each broker ── ORDER_TOPIC_CONFIG of each name server

Rule: brokers get the order flag from the name servers when they next register (within 30 s), and
ignore it in requests. Entries of other brokers stay as they are.

Source: tools/command/topic/UpdateTopicSubCommand.java, broker/topic/TopicConfigManager.java
(updateOrderTopicConfig) (4.9.7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mqadmin.changes.targets.setting import KvEntry
from mqadmin.changes.write import ChangeStep, plan_each
from mqadmin.cluster.brokers import namesrvs
from mqadmin.session.call import Call

if TYPE_CHECKING:
    from mqclient.admin.broker import NamesrvCalls

NAMESPACE: Final = "ORDER_TOPIC_CONFIG"


@dataclass(frozen=True, slots=True)
class OrderUpdate:
    """A change of the entry of one topic; an entry without brokers is removed.

    Attributes:
        add: brokers that have queues of the topic, and how many.
        join: the same for brokers that the entry does not have yet.
        remove: brokers that no longer have queues.
    """

    topic: str
    add: dict[str, int] = field(default_factory=dict)
    join: dict[str, int] = field(default_factory=dict)
    remove: set[str] = field(default_factory=set)

    def apply_to(self, old: str | None) -> str | None:
        """Return the entry after ``old``."""
        entry = dict(parse_entry(old))
        had = {broker: count for broker, count in entry.items() if broker not in self.remove}
        joining = {broker: str(count) for broker, count in self.join.items() if broker not in had}
        new = had | joining | {broker: str(count) for broker, count in self.add.items()}
        if new == entry:
            return old
        return ";".join(f"{broker}:{count}" for broker, count in new.items()) or None


def parse_entry(entry: str | None) -> list[tuple[str, str]]:
    """Return the brokers of an entry and their numbers of queues, in order."""
    pairs = (part.partition(":") for part in (entry or "").split(";"))
    return [(broker, count) for broker, colon, count in pairs if colon]


async def ordered_brokers(admin: "NamesrvCalls") -> dict[str, frozenset[str]]:
    """Return the brokers of every ordered topic, according to one name server."""
    entries = await admin.kv_list(NAMESPACE)
    return {
        topic: frozenset(broker for broker, _ in parse_entry(entry))
        for topic, entry in entries.items()
    }


async def order_entries(call: Call, topic: str) -> list[KvEntry]:
    """Return the entry of a topic at each name server."""
    admin = await call.admin()
    return [KvEntry(admin, node, (NAMESPACE, topic)) for node in await namesrvs(call)]


async def plan_order(call: Call, updates: Sequence[OrderUpdate]) -> list[ChangeStep[str]]:
    """Return the steps that change the entries of topics at each name server.

    Raises:
        ServerUnreachable: no name server answered.
    """
    return await plan_each(
        [
            (entry, update.apply_to)
            for update in updates
            for entry in await order_entries(call, update.topic)
        ]
    )
