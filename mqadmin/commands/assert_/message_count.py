"""``assert message-count``: the queues of a topic hold so many messages.

Requests: GET_TOPIC_STATS_INFO on each master, again until it holds or ``--within`` is over.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import Verdict, asserted, messages_between
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topic, and how many."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    count: Annotated[int | None, argument("exactly so many")] = None
    min: Annotated[int | None, option("so many or more")] = None
    max: Annotated[int | None, option("so many or fewer")] = None
    within: Annotated[int, option("until then", metavar="TIME", parse=parse_duration)] = 0


@command(
    "assert message-count",
    "exit 1 where a topic holds too few or too many messages",
    examples=(
        ("mqadmin assert message-count orders 100 --within 5s", "exactly a hundred came"),
        ("mqadmin assert message-count %DLQ%billing --max 0", "no dead letter"),
    ),
    details="What counts is what can still be read: last offset less first offset of each queue.",
    rows=Verdict,
)
async def assert_message_count(call: Call, args: Arguments) -> Outcome:
    """Return the verdict.

    Raises:
        NoRoute: there is no such topic.
        Usage: no number is given, or both kinds of them.
    """
    bounds = (args.min, args.max)
    if (args.count is None) == (bounds == (None, None)):
        raise Usage("say COUNT, or --min, or --max", hint="as in `assert message-count orders 5`")
    least = args.count if args.count is not None else args.min or 0
    most = args.count if args.count is not None else args.max
    condition = messages_between(args.topic, least=least, most=most)
    return await asserted(call, condition, within_ms=args.within)
