"""Whether a topic is ordered: an entry of the name servers, as BROKER:QUEUES;BROKER:QUEUES.

    updateTopic -o true ── topic on each broker ── ORDER_TOPIC_CONFIG of each name server

Rule: brokers take the word of the name servers, and learn it when they next register (within 30 s);
what a request says of order they do not look at. Entries of other brokers stay as they are.

Source: tools/command/topic/UpdateTopicSubCommand.java, broker/topic/TopicConfigManager.java
(updateOrderTopicConfig) (4.9.7).
"""

from collections.abc import Collection, Mapping
from typing import Final

from mqadmin.call import Call
from mqadmin.places import namesrvs
from mqadmin.things.setting import KvEntry
from mqadmin.writes import Done, carry_out, plan

NAMESPACE: Final = "ORDER_TOPIC_CONFIG"


async def order_entries(call: Call, topic: str) -> list[KvEntry]:
    """Return the entry of a topic at each name server."""
    admin = await call.admin()
    return [KvEntry(admin, place, (NAMESPACE, topic)) for place in await namesrvs(call)]


async def set_order(
    call: Call, topic: str, *, add: Mapping[str, int], remove: Collection[str] = ()
) -> list[Done[str]]:
    """Give brokers queues of an ordered topic for good, or take them back.

    Args:
        add: the number of queues of each broker.
        remove: brokers that have none any more; without any the topic is ordered no longer.
    """

    def choose(old: str | None) -> str | None:
        parts = dict(part.split(":", 1) for part in (old or "").split(";") if ":" in part)
        parts = {broker: count for broker, count in parts.items() if broker not in remove}
        parts |= {broker: str(count) for broker, count in add.items()}
        return ";".join(f"{broker}:{count}" for broker, count in parts.items()) or None

    return await carry_out(
        call,
        await plan(await order_entries(call, topic), choose),
        title=f"topic order-conf {topic}",
    )
