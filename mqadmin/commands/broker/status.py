"""``broker status``: show counters and gauges of brokers.

Requests: GET_BROKER_CLUSTER_INFO; GET_BROKER_RUNTIME_INFO on each broker.
"""

from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cluster.server_tables import ServerValue
from mqadmin.commands.broker._shared import show_values


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
    return await show_values(
        call,
        where,
        lambda node: admin.broker_runtime(node.address),
        keys=keys,
        missing="no broker counts",
    )
