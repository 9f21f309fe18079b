"""Gather the facts that the checks of ``mqadmin.health.checkup`` judge.

    GET_BROKER_CLUSTER_INFO --> GET_BROKER_RUNTIME_INFO on each broker
                            --> settings of topics and groups on each master
                            --> a route for each topic, the members of each group
    each name server        --> its brokers, topics and routes, where there are several

Rule: reads only, so many requests at a time. A broker or a member that does not answer is a
finding of its own, and the checks that lack its answer are reported as not run.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import MASTER, ServerNode, all_brokers, peers_of
from mqadmin.cluster.group_positions import GroupReader
from mqadmin.cluster.partial_answers import Answers
from mqadmin.health.checkup import BrokerFacts
from mqadmin.health.checkup_consumers import GroupFacts
from mqadmin.health.checkup_namesrv import NamesrvView, Queues, queues_of
from mqadmin.messages.broker_reader import message_at
from mqadmin.output.topic_kinds import kind_of
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import ClientError, NoRoute, NotFound
from remoting.bodies import MessageQueue, TopicRouteData
from storefmt.config.tables import TopicConfig
from storefmt.names import HALF_TOPIC

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

CHECK_GROUP: Final = "CID_RMQ_SYS_TRANS"
"""The group whose offset is the position of a Java broker's check (MixAll.CID_SYS_RMQ_TRANS)."""


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic as each master has it (by broker name) and as the name server announces it."""

    topic: str
    configs: dict[str, TopicConfig]
    route: TopicRouteData | None


async def brokers(admin: "Admin", now_ms: Callable[[], int]) -> list[BrokerFacts]:
    """Return what every broker reports, including replaced ones."""

    async def ask(place: ServerNode) -> BrokerFacts:
        asked_ms = now_ms()
        try:
            runtime = await admin.broker_runtime(place.address)
        except ClientError as error:
            return BrokerFacts(place, {}, asked_ms, now_ms(), str(error))
        return BrokerFacts(place, runtime, asked_ms, now_ms())

    facts = await each(await all_brokers(admin), ask)
    listed = {broker.place.address for broker in facts}
    peers = {peer for broker in facts for peer in peers_of(broker.place, broker.runtime)}
    return facts + await each(sorted(peer for peer in peers if peer.address not in listed), ask)


def masters_of(facts: Iterable[BrokerFacts]) -> list[ServerNode]:
    """Return the masters that answer, without those that were replaced."""
    return [
        broker.place
        for broker in facts
        if broker.place.broker_id == MASTER and broker.error is None and not broker.is_fenced
    ]


async def topics(admin: "Admin", masters: list[ServerNode], answers: Answers) -> list[TopicFacts]:
    """Return every topic that users made, as brokers and name server see it."""
    listed = await admin.topic_list()
    tables = await answers.each(masters, lambda place: admin.topic_configs(place.address))
    own = {place.broker for place in masters} | {place.cluster for place in masters}
    configs: dict[str, dict[str, TopicConfig]] = {topic: {} for topic in listed}
    for place, table in tables:
        for name, config in table.topics.items():
            configs.setdefault(name, {})[place.broker] = config
    names = [
        name for name in sorted(configs) if kind_of(name, brokers_and_clusters=own) == "normal"
    ]

    async def ask(name: str) -> TopicFacts:
        try:
            route = await admin.topic_route(name)
        except NoRoute:
            return TopicFacts(name, configs[name], None)
        return TopicFacts(name, configs[name], route)

    return await each(names, ask)


async def namesrvs(admin: "Admin", addresses: Sequence[str]) -> list[NamesrvView]:
    """Return what each of several name servers reports."""

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
                # It has been deleted since it was listed.
                return topic, {}

        normal_topics = [topic for topic in sorted(listed) if kind_of(topic) == "normal"]
        return NamesrvView(address, frozenset(places), dict(await each(normal_topics, route)))

    return await each(sorted(addresses), ask)


async def group_facts(reader: GroupReader, group: str, *, asks_members: bool) -> GroupFacts:
    """Return the answers of a group's members, and its positions.

    Args:
        asks_members: whether to ask the members; otherwise no answers are known.
    """
    answers = {}
    if asks_members:
        listed = await reader.answers.each(
            reader.nodes, lambda node: reader.admin.consumer_ids(node.address, group)
        )
        address_of = {who: node.address for node, members in listed for who in members}
        answers = await reader.members.survey(group, address_of)
    return GroupFacts(group, answers, await reader.positions(group))


async def half_message_ages(
    admin: "Admin", reader: PullConsumer, place: ServerNode, *, now_ms: int
) -> list[int]:
    """Return for how many ms each half message of a broker has waited, or the oldest of Java's.

    A Java broker does not list them. Its check moves the offset of its own group past decided
    messages, so the message at that offset is the oldest undecided one.
    """
    view = await admin.open_transactions(place.address)
    if view is not None:
        return [now_ms - half.born_ms for half in view.transactions]
    ages = []
    for queue, offset, _ in await undecided_queues(admin, place.address):
        message = await message_at(reader, queue, offset)
        if message is not None:
            ages.append(now_ms - message.born_ms)
    return ages


async def undecided_queues(admin: "Admin", address: str) -> list[tuple[MessageQueue, int, int]]:
    """Return the half queues that the check of a Java broker has not passed: where it is, the end.

    The broker moves the offset of its own group past decided messages, and writes undecided ones
    again at the end of the half topic.
    """
    try:
        stats = await admin.topic_stats_at(address, HALF_TOPIC)
    except NotFound:
        # The broker has never had a transaction, or has not checked one yet.
        return []
    offsets = (await admin.all_consumer_offsets(address)).get((HALF_TOPIC, CHECK_GROUP), {})
    spans = [
        (queue, offsets.get(queue.queue_id, ends.min_offset), ends.max_offset)
        for queue, ends in stats.items()
    ]
    return [(queue, passed, end) for queue, passed, end in spans if passed < end]
