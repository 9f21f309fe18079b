"""``wait lag``: until a group has read everything.

Requests: GET_CONSUME_STATS on each master, again and again.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.health.conditions import LIMIT, Verdict, awaited, lag_at_most
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait lag",
    examples=(("mqadmin wait lag billing --within 5m", "until nothing is left"),),
    details=LIMIT,
    rows=Verdict,
)
@group_argument()
@topic_argument(required=False, help="only in this topic")
@click.option("--max", "max_", type=INTEGER, default=0, help="entries that may be left")
@click.option("--within", type=DURATION, help="give up then")
async def wait_lag(
    call: Call, *, group: str, topic: str | None, max_: int, within: int | None
) -> Outcome:
    """Return the verdict."""
    condition = lag_at_most(group, topic, most=max_)
    return await awaited(call, condition, limit_ms=within)
