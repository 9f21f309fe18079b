"""``wait lag``: until a group has read everything.

Requests: GET_CONSUME_STATS on each master, again and again.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import Verdict, awaited, lag_at_most
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
    for_: Annotated[int, option("at most", metavar="TIME", parse=parse_duration)] = 60_000


@command(
    "wait lag",
    "wait until a group has read everything",
    examples=(("mqadmin wait lag billing --for 5m", "until nothing is left"),),
    details="Exit code 4 where the time is over: 60 s, or --for.",
    rows=Verdict,
)
async def wait_lag(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = lag_at_most(args.group, args.topic, most=args.max)
    return await awaited(call, condition, limit_ms=args.for_)
