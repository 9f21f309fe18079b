"""``topic route``: show which brokers have a topic.

Request: GET_ROUTEINFO_BY_TOPIC.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import topic_argument
from storefmt.names import perm_text


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
@click.option("--brief", is_flag=True, help="with --compat: print Java's table instead of its JSON")
async def topic_route(call: Call, *, topic: str, brief: bool) -> Outcome:
    """Return one row for each broker.

    Raises:
        NoRoute: the topic does not exist.
    """
    admin = await call.topics()
    route = await admin.topic_route(topic)
    brokers = {data.broker_name: data for data in route.broker_datas}
    rows = []
    for data in sorted(route.queue_datas, key=lambda each: each.broker_name):
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
