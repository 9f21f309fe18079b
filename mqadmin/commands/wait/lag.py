"""``wait lag``: until a group has read everything.

Requests: GET_CONSUME_STATS on each master, again and again.
"""

from mqadmin.cli.declare import command
from mqadmin.health.conditions import LIMIT, Condition, Verdict, awaited, lag_condition, wait_within
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait lag",
    examples=(("mqadmin wait lag billing --within 5m", "until nothing is left"),),
    details=LIMIT,
    rows=Verdict,
)
@lag_condition
@wait_within
async def wait_lag(call: Call, *, condition: Condition, within: int | None) -> Outcome:
    """Return the verdict."""
    return await awaited(call, condition, limit_ms=within)
