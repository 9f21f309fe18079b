"""``broker status``: counters and gauges of a broker, as it says them.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose numbers, and which."""

    keys: Annotated[tuple[str, ...], argument("only these", metavar="KEY")] = ()
    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the masters of a cluster", kind=Kind.CLUSTER)] = None


@dataclass(frozen=True, slots=True)
class BrokerNumber(Row):
    """One number, or text, of one broker."""

    broker: str
    address: str
    key: str
    value: str


@command(
    "broker status",
    "show counters and gauges of a broker",
    examples=(
        ("mqadmin broker status -b broker-a", "everything it counts"),
        ("mqadmin broker status putTps commitLogDiskRatio", "two of them, of every master"),
    ),
    rows=BrokerNumber,
    columns=("broker", "key", "value"),
    java=(
        Java(
            "brokerStatus",
            (JavaOption("b", "brokerAddr", "broker"), JavaOption("c", "clusterName", "cluster")),
            any_of=("broker", "cluster"),
        ),
    ),
)
async def broker_status(call: Call, args: Arguments) -> Outcome:
    """Return one row a number, sorted by name.

    Raises:
        NotFound: no broker counts such a thing.
    """
    admin = await call.admin()
    places = await masters(admin, broker=args.broker, cluster=args.cluster, every=True)
    tables = await asyncio.gather(*(admin.broker_runtime(place.address) for place in places))
    known = {key for table in tables for key in table}
    for key in args.keys:
        if key not in known:
            near = get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else "leave the key out to see all"
            raise NotFound(f"no broker counts {key!r}", hint=hint)
    return Outcome(
        [
            BrokerNumber(place.broker, place.address, key, table[key])
            for place, table in zip(places, tables, strict=True)
            for key in args.keys or sorted(table)
            if key in table
        ]
    )
