"""``topic consumers``: show which groups read a topic.

Requests: GET_ROUTEINFO_BY_TOPIC; on each master QUERY_TOPIC_CONSUME_BY_WHO, then
GET_CONSUME_STATS and GET_CONSUMER_LIST_BY_GROUP for each group.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.bounded_gather import each
from mqclient.client import routes

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class TopicConsumer(Row):
    """One group; ``members`` are connected now, ``lag`` is in entries over all queues."""

    topic: str
    group: str
    members: int
    lag: int
    brokers: tuple[str, ...]


@command(
    "topic consumers",
    examples=(("mqadmin topic consumers orders --sort -lag", "the slowest group first"),),
    rows=TopicConsumer,
)
@topic_argument()
async def topic_consumers(call: Call, *, topic: str) -> Outcome:
    """Return one row for each group, sorted by name; empty if no group ever read the topic.

    Raises:
        NoRoute: the topic does not exist.
    """
    admin = await call.admin()
    masters = routes.masters(await admin.topic_route(topic))
    lists = await asyncio.gather(
        *(admin.groups_of_topic(address, topic) for address in masters.values())
    )
    addresses: dict[str, list[str]] = {}
    for broker, groups in zip(masters, lists, strict=True):
        for group in groups:
            addresses.setdefault(group, []).append(broker)
    rows = await each(
        sorted(addresses),
        lambda group: _row(admin, topic, group, {name: masters[name] for name in addresses[group]}),
    )
    return Outcome(rows)


async def _row(admin: "Admin", topic: str, group: str, addresses: dict[str, str]) -> TopicConsumer:
    members: set[str] = set()
    lag = 0
    for address in addresses.values():
        members.update(await admin.consumer_ids(address, group))
        lag += (await admin.consume_stats(address, group, topic)).total_diff()
    return TopicConsumer(topic, group, len(members), lag, tuple(sorted(addresses)))
