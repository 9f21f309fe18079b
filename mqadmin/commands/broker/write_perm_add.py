"""``broker write-perm add``: have the name servers tell producers that they may write to a broker.

Requests on each name server: GET_ROUTEINFO_BY_TOPIC, ADD_WRITE_PERM_OF_BROKER, and
GET_ROUTEINFO_BY_TOPIC again to read it back.
"""

import click

from mqadmin.changes.write_perm import WritePermChange, change_write_perm
from mqadmin.cli.declare import command
from mqadmin.cli.types import BROKER
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "broker write-perm add",
    examples=(("mqadmin broker write-perm add broker-a -y", "after write-perm wipe"),),
    details="It holds until the broker registers with other topic settings, or starts again.",
    rows=WritePermChange,
    writes=True,
)
@click.argument("broker", type=BROKER, help="name of the broker")
async def add_write_perm(call: Call, *, broker: str) -> Outcome:
    """Return one row a name server; exit code 3 where none knows the broker."""
    return await change_write_perm(call, broker, writable=True)
