"""Ask for the groups and clusters of many topics, with two requests for each topic.

Requests: GET_ROUTEINFO_BY_TOPIC, QUERY_TOPIC_CONSUME_BY_WHO.
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cluster.bounded_gather import bounded_gather
from mqadmin.output.rows import Row
from mqadmin.output.topic_kinds import TopicKindName
from mqclient.errors import NoRoute

if TYPE_CHECKING:
    from mqadmin.session.call import Call
    from mqclient.admin.topic import TopicCalls


@dataclass(frozen=True, slots=True)
class TopicReaders(Row):
    """One topic with the clusters it is in and the groups that read it."""

    topic: str
    kind: str
    clusters: tuple[str, ...]
    groups: tuple[str, ...]


async def readers_of(
    call: "Call", topics: Iterable[tuple[str, TopicKindName]]
) -> AsyncIterator[Row]:
    """Yield a row for each topic and its kind, in order."""
    admin = await call.topics()
    async for row in bounded_gather(topics, lambda pair: _readers(admin, *pair)):
        yield row


async def _readers(admin: "TopicCalls", topic: str, kind: TopicKindName) -> TopicReaders:
    try:
        route = await admin.topic_route(topic)
    except NoRoute:
        # It was deleted since it was listed.
        return TopicReaders(topic, kind, (), ())
    groups: set[str] = set()
    for data in route.broker_datas:
        address = data.any_address()
        if address is not None:
            groups.update(await admin.groups_of_topic(address, topic))
    clusters = {data.cluster or "" for data in route.broker_datas}
    return TopicReaders(topic, kind, tuple(sorted(clusters)), tuple(sorted(groups)))
