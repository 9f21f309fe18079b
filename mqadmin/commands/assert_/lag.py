"""``assert lag``: a group is at most so far behind.

Requests: GET_CONSUME_STATS on each master, again until it holds or ``--within`` is over.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.health.conditions import Verdict, asserted, lag_at_most
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
@group_argument()
@topic_argument(required=False, help="only in this topic")
@click.option("--max", "max_", type=INTEGER, default=0, help="entries that may be left")
@click.option("--within", type=DURATION, default=0, help="until then")
async def assert_lag(
    call: Call, *, group: str, topic: str | None, max_: int, within: int
) -> Outcome:
    """Return the verdict.

    Raises:
        NotFound: no broker knows the group.
    """
    condition = lag_at_most(group, topic, most=max_)
    return await asserted(call, condition, within_ms=within)
