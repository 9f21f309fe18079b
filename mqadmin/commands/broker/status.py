"""``broker status``: show counters and gauges of brokers.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_RUNTIME_INFO on each broker.
"""

import asyncio

from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.server_tables import ServerValue, values_of


@command(
    "broker status",
    examples=(
        ("mqadmin broker status -b broker-a", "every number of one broker"),
        ("mqadmin broker status putTps commitLogDiskRatio", "two numbers of every master"),
    ),
    rows=ServerValue,
    columns=("broker", "key", "value"),
)
@argument("keys", nargs=-1, metavar="KEY", help="only these numbers")
@of_masters
async def broker_status(call: Call, *, keys: tuple[str, ...], where: Where) -> Outcome:
    """Return one row for each number, sorted by name.

    Raises:
        ItemNotFound: no broker counts such a thing.
    """
    admin = await call.admin()
    nodes = await masters(admin, where, every=True)
    told = await asyncio.gather(*(admin.broker_runtime(node.address) for node in nodes))
    tables = list(zip(nodes, told, strict=True))
    return Outcome(values_of(tables, keys, missing="no broker counts"))
