"""``broker config get``: the settings a broker runs with.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_CONFIG on each broker.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.partial_answers import Answers, address_of
from mqadmin.cluster.server_tables import ServerValue, values_of
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "broker config get",
    examples=(
        ("mqadmin broker config get flushDiskType", "one setting on every master"),
        ("mqadmin broker config get -b broker-a", "all of one broker"),
    ),
    rows=ServerValue,
    columns=("broker", "key", "value"),
)
@click.argument("keys", nargs=-1, metavar="KEY", help="only these settings")
@of_masters
async def get_broker_config(call: Call, *, keys: tuple[str, ...], where: Where) -> Outcome:
    """Return one row a setting, sorted by name.

    Raises:
        NotFound: no broker has a setting of this name.
    """
    admin = await call.admin()
    places = await masters(admin, where, every=True)
    answers = Answers(call)
    tables = await answers.each(places, lambda at: admin.broker_config(at.address), at=address_of)
    rows = values_of(tables, keys, missing="no broker has a setting")
    return Outcome(rows, exit_code=answers.exit_code)
