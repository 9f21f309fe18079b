"""``assert lag``: a group is at most so far behind.

Requests: GET_CONSUME_STATS on each master, again until it holds or ``--within`` is over.
"""

from mqadmin.cli.declare import command
from mqadmin.health.conditions import Condition, Verdict, assert_within, asserted, lag_condition
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "assert lag",
    examples=(
        ("mqadmin assert lag billing --within 30s", "all is read within half a minute"),
        ("mqadmin assert lag billing orders --max 100", "at most 100 are left in orders"),
    ),
    rows=Verdict,
)
@lag_condition
@assert_within
async def assert_lag(call: Call, *, condition: Condition, within: int) -> Outcome:
    """Return the verdict.

    Raises:
        NotFound: no broker knows the group.
    """
    return await asserted(call, condition, within_ms=within)
