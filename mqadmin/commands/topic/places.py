"""``topic clusters``, ``route``, ``consumers``: show where a topic is, and who reads it.

clusters, route    GET_ROUTEINFO_BY_TOPIC
consumers          GET_ROUTEINFO_BY_TOPIC; on each master QUERY_TOPIC_CONSUME_BY_WHO, and
                   GET_CONSUME_STATS and GET_CONSUMER_LIST_BY_GROUP for each group
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.bounded_gather import each
from mqclient.client import routes
from storefmt.names import perm_text

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class TopicCluster(Row):
    """One cluster that has the topic."""

    topic: str
    cluster: str
    brokers: tuple[str, ...]


@command(
    "topic clusters",
    examples=(("mqadmin topic clusters orders", "clusters and brokers that have it"),),
    rows=TopicCluster,
)
@topic_argument()
async def topic_clusters(call: Call, *, topic: str) -> Outcome:
    """Return one row for each cluster, sorted by name.

    Raises:
        NoRoute: there is no such topic.
    """
    admin = await call.topics()
    found: dict[str, set[str]] = {}
    for data in (await admin.topic_route(topic)).broker_datas:
        found.setdefault(data.cluster or "", set()).add(data.broker_name)
    return Outcome(
        [TopicCluster(topic, cluster, tuple(sorted(found[cluster]))) for cluster in sorted(found)]
    )


@dataclass(frozen=True, slots=True)
class TopicRoute(Row):
    """The queues of a topic on one broker; ``addresses`` by broker id, 0 is the master."""

    topic: str
    cluster: str
    broker: str
    addresses: dict[int, str]
    read_queues: int
    write_queues: int
    perm: str
    order_conf: str | None
    sys_flag: int


@command(
    "topic route",
    examples=(("mqadmin topic route orders -o json", "its brokers, addresses and queues"),),
    rows=TopicRoute,
    columns=("cluster", "broker", "addresses", "read_queues", "write_queues", "perm"),
)
@topic_argument()
@click.option("--brief", is_flag=True, help="with --compat: Java's table, not its JSON")
async def topic_route(call: Call, *, topic: str, brief: bool) -> Outcome:
    """Return one row for each broker.

    Raises:
        NoRoute: there is no such topic.
    """
    admin = await call.topics()
    route = await admin.topic_route(topic)
    brokers = {data.broker_name: data for data in route.broker_datas}
    rows = []
    for data in sorted(route.queue_datas, key=lambda one: one.broker_name):
        broker = brokers.get(data.broker_name)
        rows.append(
            TopicRoute(
                topic=topic,
                cluster=(broker.cluster or "") if broker else "",
                broker=data.broker_name,
                addresses=dict(sorted(broker.broker_addrs.items())) if broker else {},
                read_queues=data.read_queue_nums,
                write_queues=data.write_queue_nums,
                perm=perm_text(data.perm),
                order_conf=route.order_topic_conf or None,
                sys_flag=data.topic_sys_flag,
            )
        )
    return Outcome(rows, layout="--brief" if brief else "")


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
    """Return one row for each group, sorted by name; none where nobody ever read the topic.

    Raises:
        NoRoute: there is no such topic.
    """
    admin = await call.admin()
    masters = routes.masters(await admin.topic_route(topic))
    lists = await asyncio.gather(
        *(admin.groups_of_topic(address, topic) for address in masters.values())
    )
    at: dict[str, list[str]] = {}
    for broker, groups in zip(masters, lists, strict=True):
        for group in groups:
            at.setdefault(group, []).append(broker)
    rows = await each(
        sorted(at),
        lambda group: _row(admin, topic, group, {name: masters[name] for name in at[group]}),
    )
    return Outcome(rows)


async def _row(admin: "Admin", topic: str, group: str, at: dict[str, str]) -> TopicConsumer:
    members: set[str] = set()
    lag = 0
    for address in at.values():
        members.update(await admin.consumer_ids(address, group))
        lag += (await admin.consume_stats(address, group, topic)).total_diff()
    return TopicConsumer(topic, group, len(members), lag, tuple(sorted(at)))
