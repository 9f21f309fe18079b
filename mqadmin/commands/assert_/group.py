"""``assert group``: a group is known, with enough members online.

Requests: as ``group show``, again until it holds or ``--within`` is over.
"""

from mqadmin.cli.declare import command
from mqadmin.health.conditions import Condition, Verdict, assert_within, asserted, group_condition
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "assert group",
    examples=(("mqadmin assert group billing --members 2 --within 1m", "both came up"),),
    rows=Verdict,
)
@group_condition
@assert_within
async def assert_group(call: Call, *, condition: Condition, within: int) -> Outcome:
    """Return the verdict."""
    return await asserted(call, condition, within_ms=within)
