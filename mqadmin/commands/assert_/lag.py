"""``assert lag``: a group is at most so far behind.

Requests: GET_CONSUME_STATS on each master, again until it holds or ``--within`` is over.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import Verdict, asserted, lag_at_most
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose lag, and how much may be."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str | None, argument("only in this topic", kind=Kind.TOPIC)] = None
    max: Annotated[int, option("entries that may be left")] = 0
    within: Annotated[int, option("until then", metavar="TIME", parse=parse_duration)] = 0


@command(
    "assert lag",
    "exit 1 where a group is further behind than it may be",
    examples=(
        ("mqadmin assert lag billing --within 30s", "all is read within half a minute"),
        ("mqadmin assert lag billing orders --max 100", "at most 100 are left in orders"),
    ),
    rows=Verdict,
)
async def assert_lag(call: Call, args: Arguments) -> Outcome:
    """Return the verdict.

    Raises:
        NotFound: no broker knows the group.
    """
    condition = lag_at_most(args.group, args.topic, most=args.max)
    return await asserted(call, condition, within_ms=args.within)
