"""``wait group``: until a group is known, with enough members.

Requests: as ``group show``, again and again.
"""

from mqadmin.cli.declare import command
from mqadmin.health.conditions import (
    LIMIT,
    Condition,
    Verdict,
    awaited,
    group_condition,
    wait_within,
)
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait group",
    examples=(("mqadmin wait group billing --members 3", "until three are online"),),
    details=LIMIT,
    rows=Verdict,
)
@group_condition
@wait_within
async def wait_group(call: Call, *, condition: Condition, within: int | None) -> Outcome:
    """Return the verdict."""
    return await awaited(call, condition, limit_ms=within)
