"""``namesrv config get``: the settings a name server runs with.

Request on each name server: GET_NAMESRV_CONFIG.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cluster.brokers import namesrvs
from mqadmin.cluster.server_tables import ServerValue, values_of
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "namesrv config get",
    examples=(
        ("mqadmin namesrv config get", "all settings of every name server"),
        ("mqadmin namesrv config get orderMessageEnable", "one of them"),
    ),
    rows=ServerValue,
    columns=("address", "key", "value"),
)
@click.argument("keys", nargs=-1, metavar="KEY", help="only these settings")
async def get_namesrv_config(call: Call, *, keys: tuple[str, ...]) -> Outcome:
    """Return one row a setting, sorted by name.

    Raises:
        NotFound: no name server has a setting of this name.
    """
    admin = await call.admin()
    tables = [(at, await admin.namesrv_config(at.address)) for at in await namesrvs(call)]
    return Outcome(values_of(tables, keys, missing="no name server has a setting"))
