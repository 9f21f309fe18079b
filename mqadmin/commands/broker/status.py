"""``broker status``: counters and gauges of a broker, as it says them.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio
from dataclasses import dataclass
from difflib import get_close_matches

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import of_masters
from mqadmin.cluster.brokers import masters
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class BrokerNumber(Row):
    """One number, or text, of one broker."""

    broker: str
    address: str
    key: str
    value: str


@command(
    "broker status",
    examples=(
        ("mqadmin broker status -b broker-a", "everything it counts"),
        ("mqadmin broker status putTps commitLogDiskRatio", "two of them, of every master"),
    ),
    rows=BrokerNumber,
    columns=("broker", "key", "value"),
)
@click.argument("keys", nargs=-1, metavar="KEY", help="only these")
@of_masters
async def broker_status(
    call: Call, *, keys: tuple[str, ...], broker: str | None, cluster: str | None
) -> Outcome:
    """Return one row a number, sorted by name.

    Raises:
        NotFound: no broker counts such a thing.
    """
    admin = await call.admin()
    places = await masters(admin, broker=broker, cluster=cluster, every=True)
    tables = await asyncio.gather(*(admin.broker_runtime(place.address) for place in places))
    known = {key for table in tables for key in table}
    for key in keys:
        if key not in known:
            near = get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else "leave the key out to see all"
            raise NotFound(f"no broker counts {key!r}", hint=hint)
    return Outcome(
        [
            BrokerNumber(place.broker, place.address, key, table[key])
            for place, table in zip(places, tables, strict=True)
            for key in keys or sorted(table)
            if key in table
        ]
    )
