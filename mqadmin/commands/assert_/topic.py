"""``assert topic``: a topic is there, or is not.

Request: GET_ROUTEINFO_BY_TOPIC, again until it holds or ``--within`` is over.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import Verdict, asserted, topic_there
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topic, and how it is to be."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queues: Annotated[int | None, option("readable queues, over all brokers")] = None
    absent: Annotated[bool, option("it must not be there")] = False
    within: Annotated[int, option("until then", metavar="TIME", parse=parse_duration)] = 0


@command(
    "assert topic",
    "exit 1 where a topic is not there, or not as it is to be",
    examples=(
        ("mqadmin assert topic orders --queues 8", "it has eight queues"),
        ("mqadmin assert topic old --absent", "it was deleted"),
    ),
    rows=Verdict,
)
async def assert_topic(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = topic_there(args.topic, queues=args.queues, absent=args.absent)
    return await asserted(call, condition, within_ms=args.within)
