"""Gathers what the checks of ``mqadmin.health.checkup`` are made of.

    GET_BROKER_CLUSTER_INFO --> GET_BROKER_RUNTIME_INFO on each broker
                            --> settings of topics and groups on each master
                            --> a route for each topic, the members of each group
    each name server        --> its brokers, topics and routes, where there are several

Rule: reads only, so many requests at a time; a member that does not answer is left out,
a broker that does not is a finding of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers, peers_of
from mqadmin.cluster.groups import is_system, running_infos
from mqadmin.health.checkup import BrokerFacts
from mqadmin.health.checkup_namesrv import NamesrvView, Queues, queues_of
from mqadmin.output.topic_kinds import kind_of
from mqclient.errors import ClientError, NoRoute, NotFound
from remoting.bodies import ConsumerRunningInfo, TopicRouteData
from storefmt.config.tables import TopicConfig
from storefmt.names import RETRY_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as each master has it, by broker name, and as the name server announces it."""

    topic: str
    configs: dict[str, TopicConfig]
    route: TopicRouteData | None


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """The members of a group that said what they want: topic -> expression by client id."""

    group: str
    wanted: dict[str, dict[str, str]]
    broadcasting: bool

    @property
    def topics(self) -> list[str]:
        """Return what any of them wants, without the retry topic."""
        return sorted({topic for topics in self.wanted.values() for topic in topics})


async def brokers(admin: "Admin", now_ms: Callable[[], int]) -> list[BrokerFacts]:
    """Return what every broker says of itself, those that were replaced among them."""

    async def ask(place: ServerNode) -> BrokerFacts:
        asked_ms = now_ms()
        try:
            runtime = await admin.broker_runtime(place.address)
        except ClientError as error:
            return BrokerFacts(place, {}, asked_ms, now_ms(), str(error))
        return BrokerFacts(place, runtime, asked_ms, now_ms())

    found = await each(await all_brokers(admin), ask)
    listed = {one.place.address for one in found}
    peers = {peer for one in found for peer in peers_of(one.place, one.runtime)}
    return found + await each(sorted(peer for peer in peers if peer.address not in listed), ask)


def masters_of(facts: Iterable[BrokerFacts]) -> list[ServerNode]:
    """Return the masters that answer, without those that were replaced."""
    return [
        one.place
        for one in facts
        if one.place.broker_id == MASTER and one.error is None and not one.is_fenced
    ]


async def topics(admin: "Admin", masters: list[ServerNode]) -> list[TopicFacts]:
    """Return every topic that a person made, as broker and name server see it."""
    listed = await admin.topic_list()
    tables = await each(masters, lambda place: admin.topic_configs(place.address))
    own = {place.broker for place in masters} | {place.cluster for place in masters}
    held: dict[str, dict[str, TopicConfig]] = {topic: {} for topic in listed}
    for place, table in zip(masters, tables, strict=True):
        for name, config in table.topics.items():
            held.setdefault(name, {})[place.broker] = config
    names = [name for name in sorted(held) if kind_of(name, brokers_and_clusters=own) == "normal"]

    async def ask(name: str) -> TopicFacts:
        try:
            route = await admin.topic_route(name)
        except NoRoute:
            return TopicFacts(name, held[name], None)
        return TopicFacts(name, held[name], route)

    return await each(names, ask)


async def waiting(admin: "Admin", masters: list[ServerNode], group: str) -> dict[str, int]:
    """Return how many messages of each topic wait for a group."""
    found: dict[str, int] = {}
    for stats in await each(masters, lambda place: admin.consume_stats(place.address, group)):
        for queue, at in stats.offset_table.items():
            left = max(0, at.broker_offset - at.consumer_offset)
            found[queue.topic] = found.get(queue.topic, 0) + left
    return found


async def namesrvs(admin: "Admin", addresses: Sequence[str]) -> list[NamesrvView]:
    """Return what each of several name servers says."""

    async def ask(address: str) -> NamesrvView:
        try:
            places = await all_brokers(admin, namesrv=address)
            listed = await admin.topic_list(address=address)
        except ClientError as error:
            return NamesrvView(address, error=str(error))

        async def route(topic: str) -> tuple[str, dict[str, Queues]]:
            try:
                return topic, queues_of(await admin.topic_route_at(address, topic))
            except NotFound:
                # It was deleted meanwhile.
                return topic, {}

        wanted = [topic for topic in sorted(listed) if kind_of(topic) == "normal"]
        return NamesrvView(address, frozenset(places), dict(await each(wanted, route)))

    return await each(sorted(addresses), ask)


async def groups(admin: "Admin", masters: list[ServerNode]) -> list[GroupFacts]:
    """Return every group with a member online that says what it wants."""
    tables = await each(masters, lambda place: admin.subscription_groups(place.address))
    names = sorted({name for table in tables for name in table.groups if not is_system(name)})

    async def ask(name: str) -> GroupFacts:
        at: dict[str, str] = {}
        for place in masters:
            at |= dict.fromkeys(await admin.consumer_ids(place.address, name), place.address)
        answers = await running_infos(admin, name, at)
        return GroupFacts(
            name,
            {who: _wanted(info) for who, info in answers.items()},
            any(info.properties.get("messageModel") == "BROADCASTING" for info in answers.values()),
        )

    return [facts for facts in await each(names, ask) if facts.wanted]


def _wanted(info: ConsumerRunningInfo) -> dict[str, str]:
    return {
        one.topic: one.sub_string or "*"
        for one in info.subscription_set
        if not one.topic.startswith(RETRY_PREFIX)
    }
