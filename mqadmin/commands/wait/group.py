"""``wait group``: until a group is known, with enough members.

Requests: as ``group show``, again and again.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.health.conditions import LIMIT, Verdict, awaited, group_there
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait group",
    examples=(("mqadmin wait group billing --members 3", "until three are online"),),
    details=LIMIT,
    rows=Verdict,
)
@group_argument()
@click.option("--members", type=INTEGER, help="online, at least")
@click.option("--within", type=DURATION, help="give up then")
async def wait_group(call: Call, *, group: str, members: int | None, within: int | None) -> Outcome:
    """Return the verdict."""
    condition = group_there(group, members=members)
    return await awaited(call, condition, limit_ms=within)
