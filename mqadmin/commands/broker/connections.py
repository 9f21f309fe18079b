"""``broker connections``: list the producers and consumers that are connected to a broker.

Requests on each broker: GET_ALL_PRODUCER_INFO, or GET_PRODUCER_CONNECTION_LIST for one group;
GET_ALL_SUBSCRIPTIONGROUP_CONFIG, and GET_CONSUMER_CONNECTION_LIST for each group.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cli.types import GROUP, TOPIC, Choice
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import ServerNode, masters, masters_of_route
from mqadmin.cluster.groups import connection
from mqadmin.errors import ItemNotFound
from mqclient.errors import BrokerRefused
from remoting.bodies import Connection, ProducerInfo

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class ClientConnection(Row):
    """One client of one group at one broker, with the last heartbeat if the broker reports it."""

    identity = "client_id"

    broker: str
    kind: str
    group: str
    client_id: str
    client_address: str
    language: str
    version: int
    last_heartbeat_ms: EpochMs


@command(
    "broker connections",
    examples=(
        ("mqadmin broker connections -b broker-a", "producers and consumers"),
        ("mqadmin broker connections --kind producer -g shop", "producers of one group"),
    ),
    rows=ClientConnection,
)
@of_masters
@click.option("--topic", type=TOPIC, help="only brokers that have this topic")
@click.option(
    "--kind", type=Choice(["producer", "consumer"]), help="only producers, or only consumers"
)
@click.option("--group", "-g", type=GROUP, help="only clients of this group")
async def broker_connections(
    call: Call,
    *,
    where: Where,
    topic: str | None,
    kind: Literal["producer", "consumer"] | None,
    group: str | None,
) -> Outcome:
    """Return one row for each connection, sorted.

    Raises:
        ItemNotFound: the named group has no connected clients.
        NoRoute: the topic does not exist.
    """
    admin = await call.admin()
    if topic is not None:
        nodes = masters_of_route(await admin.topic_route(topic))
    else:
        nodes = await masters(admin, where, every=True)
    rows: list[ClientConnection] = []
    for node in nodes:
        if kind != "consumer":
            rows += await _producers(admin, node, group)
        if kind != "producer":
            rows += await _consumers(admin, node, group)
    if not rows and group is not None:
        raise ItemNotFound(
            f"group {group} has no connected clients", hint="omit -g to list all clients"
        )
    rows.sort(key=lambda row: (row.broker, row.kind, row.group, row.client_id))
    return Outcome(rows, layout="" if group is None else "of a group")


async def _producers(admin: "Admin", node: ServerNode, group: str | None) -> list[ClientConnection]:
    if group is not None:
        try:
            table = await admin.producer_connection(node.address, group)
        except BrokerRefused:
            # A broker answers like this if the group has no producers.
            return []
        return [_row(node, "producer", group, producer) for producer in table.connection_set]
    return [
        _row(node, "producer", name, producer)
        for name, members in (await admin.producers(node.address)).data.items()
        for producer in members
    ]


async def _consumers(admin: "Admin", node: ServerNode, group: str | None) -> list[ClientConnection]:
    names = (
        sorted((await admin.subscription_groups(node.address)).groups) if group is None else [group]
    )

    async def one_group(name: str) -> list[ClientConnection]:
        body = await connection(admin, node, name)
        members = body.connection_set if body is not None else []
        return [_row(node, "consumer", name, member) for member in members]

    return [row for part in await each(names, one_group) for row in part]


def _row(
    node: ServerNode, kind: str, group: str, client: Connection | ProducerInfo
) -> ClientConnection:
    address, heard_ms = (
        (client.remote_ip, client.last_update_timestamp)
        if isinstance(client, ProducerInfo)
        else (client.client_addr, 0)
    )
    return ClientConnection(
        broker=node.broker,
        kind=kind,
        group=group,
        client_id=client.client_id or "",
        client_address=(address or "").lstrip("/"),
        language=client.language.name if client.language is not None else "",
        version=client.version,
        last_heartbeat_ms=heard_ms,
    )
