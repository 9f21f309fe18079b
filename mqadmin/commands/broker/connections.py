"""``broker connections``: the producers and consumers that are connected to a broker.

Requests on each broker: GET_ALL_PRODUCER_INFO, or GET_PRODUCER_CONNECTION_LIST for one group;
GET_ALL_SUBSCRIPTIONGROUP_CONFIG, and GET_CONSUMER_CONNECTION_LIST for each group.
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.groups import PARALLEL_MAX, connection
from mqadmin.parameters import Kind, option
from mqadmin.places import MASTER, Place, masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqclient.client import routes
from mqclient.errors import BrokerRefused
from remoting.bodies import Connection

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which brokers, and which connections."""

    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the masters of a cluster", kind=Kind.CLUSTER)] = None
    topic: Annotated[str | None, option("of the brokers of this topic", kind=Kind.TOPIC)] = None
    kind: Annotated[
        Literal["producer", "consumer"] | None, option("only producers, or only consumers")
    ] = None
    group: Annotated[str | None, option("only of this group", short="g", kind=Kind.GROUP)] = None


@dataclass(frozen=True, slots=True)
class ClientConnection(Row):
    """One client of one group at one broker; the last heartbeat where the broker tells it."""

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
    "show who is connected to a broker",
    examples=(
        ("mqadmin broker connections -b broker-a", "producers and consumers"),
        ("mqadmin broker connections --kind producer -g shop", "producers of one group"),
    ),
    rows=ClientConnection,
    java=(
        Java(
            "producer",
            (JavaOption("b", "broker", "broker", required=True),),
            preset=(("kind", "producer"),),
        ),
        Java(
            "producerConnection",
            (
                JavaOption("g", "producerGroup", "group", required=True),
                JavaOption("t", "topic", "topic", required=True),
            ),
            preset=(("kind", "producer"),),
        ),
    ),
)
async def broker_connections(call: Call, args: Arguments) -> Outcome:
    """Return one row a connection, sorted.

    Raises:
        NotFound: a group is named and nobody of it is connected.
        NoRoute: there is no such topic.
    """
    admin = await call.admin()
    if args.topic is not None:
        route = await admin.topic_route(args.topic)
        places = [
            Place("", name, MASTER, address) for name, address in routes.masters(route).items()
        ]
    else:
        places = await masters(admin, broker=args.broker, cluster=args.cluster, every=True)
    rows: list[ClientConnection] = []
    for place in places:
        if args.kind != "consumer":
            rows += await _producers(admin, place, args.group)
        if args.kind != "producer":
            rows += await _consumers(admin, place, args.group)
    if not rows and args.group is not None:
        raise NotFound(
            f"nobody of group {args.group} is connected", hint="leave -g out to see who is"
        )
    rows.sort(key=lambda row: (row.broker, row.kind, row.group, row.client_id))
    return Outcome(rows, layout="" if args.group is None else "of a group")


async def _producers(admin: "Admin", place: Place, group: str | None) -> list[ClientConnection]:
    if group is not None:
        try:
            found = await admin.producer_connection(place.address, group)
        except BrokerRefused:
            # That is how a broker says that it has none of this group.
            return []
        return [_row(place, "producer", group, one) for one in found.connection_set]
    return [
        ClientConnection(
            broker=place.broker,
            kind="producer",
            group=name,
            client_id=one.client_id or "",
            client_address=(one.remote_ip or "").lstrip("/"),
            language=one.language.name if one.language is not None else "",
            version=one.version,
            last_heartbeat_ms=one.last_update_timestamp,
        )
        for name, members in (await admin.producers(place.address)).data.items()
        for one in members
    ]


async def _consumers(admin: "Admin", place: Place, group: str | None) -> list[ClientConnection]:
    gate = asyncio.Semaphore(PARALLEL_MAX)
    names = (
        sorted((await admin.subscription_groups(place.address)).groups)
        if group is None
        else [group]
    )

    async def one_group(name: str) -> list[ClientConnection]:
        async with gate:
            found = await connection(admin, place, name)
        members = found.connection_set if found is not None else []
        return [_row(place, "consumer", name, one) for one in members]

    parts = await asyncio.gather(*(one_group(name) for name in names))
    return [row for part in parts for row in part]


def _row(place: Place, kind: str, group: str, one: Connection) -> ClientConnection:
    return ClientConnection(
        broker=place.broker,
        kind=kind,
        group=group,
        client_id=one.client_id or "",
        client_address=one.client_addr or "",
        language=one.language.name if one.language is not None else "",
        version=one.version,
        last_heartbeat_ms=0,
    )
