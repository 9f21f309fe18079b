"""Whether a topic is ordered: an entry of the name servers, as BROKER:QUEUES;BROKER:QUEUES.

    updateTopic -o true ── topic on each broker ── ORDER_TOPIC_CONFIG of each name server

Rule: brokers take the word of the name servers, and learn it when they next register (within 30 s);
what a request says of order they do not look at. Entries of other brokers stay as they are.

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
    """What the entry of one topic is to say; without any broker it goes.

    Attributes:
        add: brokers that have queues of the topic for good, and how many.
        join: the same for brokers that the entry does not have yet.
        remove: brokers that have none any more.
    """

    topic: str
    add: dict[str, int] = field(default_factory=dict)
    join: dict[str, int] = field(default_factory=dict)
    remove: set[str] = field(default_factory=set)

    def over(self, old: str | None) -> str | None:
        """Return the entry after ``old``."""
        entry = dict(parts(old))
        had = {broker: count for broker, count in entry.items() if broker not in self.remove}
        joining = {broker: str(count) for broker, count in self.join.items() if broker not in had}
        new = had | joining | {broker: str(count) for broker, count in self.add.items()}
        if new == entry:
            return old
        return ";".join(f"{broker}:{count}" for broker, count in new.items()) or None


def parts(entry: str | None) -> list[tuple[str, str]]:
    """Return brokers and numbers of queues of an entry, as they stand there."""
    pairs = (part.partition(":") for part in (entry or "").split(";"))
    return [(broker, count) for broker, colon, count in pairs if colon]


async def ordered_brokers(admin: "NamesrvCalls") -> dict[str, frozenset[str]]:
    """Return the brokers of every ordered topic, as the name server says that is asked."""
    entries = await admin.kv_list(NAMESPACE)
    return {
        topic: frozenset(broker for broker, _ in parts(entry)) for topic, entry in entries.items()
    }


async def order_entries(call: Call, topic: str) -> list[KvEntry]:
    """Return the entry of a topic at each name server."""
    admin = await call.admin()
    return [KvEntry(admin, node, (NAMESPACE, topic)) for node in await namesrvs(call)]


async def plan_order(call: Call, wishes: Sequence[OrderUpdate]) -> list[ChangeStep[str]]:
    """Return the steps that bring the entries of topics to what is wished, at each name server.

    Raises:
        Unreachable: no name server answered.
    """
    return await plan_each(
        [(entry, wish.over) for wish in wishes for entry in await order_entries(call, wish.topic)]
    )
