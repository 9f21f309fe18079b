"""``broker status``: counters and gauges of a broker, as it says them.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.server_tables import ServerValue, values_of
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "broker status",
    examples=(
        ("mqadmin broker status -b broker-a", "everything it counts"),
        ("mqadmin broker status putTps commitLogDiskRatio", "two of them, of every master"),
    ),
    rows=ServerValue,
    columns=("broker", "key", "value"),
)
@click.argument("keys", nargs=-1, metavar="KEY", help="only these")
@of_masters
async def broker_status(call: Call, *, keys: tuple[str, ...], where: Where) -> Outcome:
    """Return one row a number, sorted by name.

    Raises:
        NotFound: no broker counts such a thing.
    """
    admin = await call.admin()
    places = await masters(admin, where, every=True)
    told = await asyncio.gather(*(admin.broker_runtime(place.address) for place in places))
    tables = list(zip(places, told, strict=True))
    return Outcome(values_of(tables, keys, missing="no broker counts"))
