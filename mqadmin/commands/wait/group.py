"""``wait group``: until a group is known, with enough members.

Requests: as ``group show``, again and again.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import LIMIT, Verdict, awaited, group_there
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to wait for, and how long."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    members: Annotated[int | None, option("online, at least")] = None
    within: Annotated[int | None, option("give up then", metavar="TIME", parse=parse_duration)] = (
        None
    )


@command(
    "wait group",
    "wait until a group is known, with enough members",
    examples=(("mqadmin wait group billing --members 3", "until three are online"),),
    details=LIMIT,
    rows=Verdict,
)
async def wait_group(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = group_there(args.group, members=args.members)
    return await awaited(call, condition, limit_ms=args.within)
