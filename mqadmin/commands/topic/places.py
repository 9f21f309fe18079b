"""``topic clusters``, ``topic route``: where a topic is: clusters, brokers, and how many queues.

Request: GET_ROUTEINFO_BY_TOPIC.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import topic_argument
from mqadmin.output.rows import Outcome, Row
from mqadmin.output.topic_kinds import perm_text
from mqadmin.session.call import Call


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
    """Return one row a cluster, sorted by name.

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
    """Return one row a broker.

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
