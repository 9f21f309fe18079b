"""``wait broker``: until a broker is registered and answers.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker, again and again.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.conditions import LIMIT, Verdict, awaited, brokers_answer
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import Outcome
from mqadmin.times import parse_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to wait for, and how long."""

    broker: Annotated[
        str | None, argument("its name or HOST:PORT; any where left out", kind=Kind.BROKER)
    ] = None
    count: Annotated[int, option("brokers that must answer")] = 1
    within: Annotated[int | None, option("give up then", metavar="TIME", parse=parse_duration)] = (
        None
    )


@command(
    "wait broker",
    "wait until a broker is registered and answers",
    examples=(("mqadmin wait broker broker-a --within 2m", "after a restart"),),
    details=LIMIT,
    rows=Verdict,
)
async def wait_broker(call: Call, args: Arguments) -> Outcome:
    """Return the verdict."""
    condition = brokers_answer(args.broker, count=args.count)
    return await awaited(call, condition, limit_ms=args.within)
