"""``assert group``: a group is known, with enough members online.

Requests: as ``group show``, again until it holds or ``--within`` is over.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.health.conditions import Verdict, asserted, group_there
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "assert group",
    examples=(("mqadmin assert group billing --members 2 --within 1m", "both came up"),),
    rows=Verdict,
)
@group_argument()
@click.option("--members", type=INTEGER, help="online, at least")
@click.option("--within", type=DURATION, default=0, help="until then")
async def assert_group(call: Call, *, group: str, members: int | None, within: int) -> Outcome:
    """Return the verdict."""
    condition = group_there(group, members=members)
    return await asserted(call, condition, within_ms=within)
