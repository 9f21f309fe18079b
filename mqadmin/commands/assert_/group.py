"""``assert group``: a group is known, with enough members online.

Requests: as ``group show``, again until it holds or ``--within`` is over.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import Verdict, asserted, group_there
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which group, and how many are to be in it."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    members: Annotated[int | None, option("online, at least")] = None
    within: Annotated[int, option("until then", metavar="TIME", parse=parse_duration)] = 0


@command(
    "assert group",
    "exit 1 where a group is not known, or has too few members",
    examples=(("mqadmin assert group billing --members 2 --within 1m", "both came up"),),
    rows=Verdict,
)
async def assert_group(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = group_there(args.group, members=args.members)
    return await asserted(call, condition, within_ms=args.within)
