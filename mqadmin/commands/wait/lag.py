"""``wait lag``: until a group has read everything.

Requests: GET_CONSUME_STATS on each master, again and again.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import LIMIT, Verdict, awaited, lag_at_most
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to wait for, and how long."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str | None, argument("only in this topic", kind=Kind.TOPIC)] = None
    max: Annotated[int, option("entries that may be left")] = 0
    within: Annotated[int | None, option("give up then", metavar="TIME", parse=parse_duration)] = (
        None
    )


@command(
    "wait lag",
    "wait until a group has read everything",
    examples=(("mqadmin wait lag billing --within 5m", "until nothing is left"),),
    details=LIMIT,
    rows=Verdict,
)
async def wait_lag(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = lag_at_most(args.group, args.topic, most=args.max)
    return await awaited(call, condition, limit_ms=args.within)
