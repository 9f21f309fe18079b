"""``wait topic``: until a topic is there, or gone.

Requests: GET_ROUTEINFO_BY_TOPIC, again and again.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import LIMIT, Verdict, awaited, topic_there
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to wait for, and how long."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    queues: Annotated[int | None, option("readable queues, over all brokers")] = None
    absent: Annotated[bool, option("wait until it is gone")] = False
    within: Annotated[int | None, option("give up then", metavar="TIME", parse=parse_duration)] = (
        None
    )


@command(
    "wait topic",
    "wait until a topic is there, or gone",
    examples=(("mqadmin wait topic orders --within 30s", "until it has a route"),),
    details=LIMIT,
    rows=Verdict,
)
async def wait_topic(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = topic_there(args.topic, queues=args.queues, absent=args.absent)
    return await awaited(call, condition, limit_ms=args.within)
