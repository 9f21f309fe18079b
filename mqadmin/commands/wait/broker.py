"""``wait broker``: until a broker is registered and answers.

Requests: GET_BROKER_CLUSTER_INFO, GET_BROKER_RUNTIME_INFO on each broker, again and again.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.types import BROKER, INTEGER
from mqadmin.health.conditions import LIMIT, Verdict, awaited, brokers_answer, wait_within
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait broker",
    examples=(("mqadmin wait broker broker-a --within 2m", "after a restart"),),
    details=LIMIT,
    rows=Verdict,
)
@click.argument(
    "broker", type=BROKER, required=False, help="its name or HOST:PORT; any where left out"
)
@click.option("--count", type=INTEGER, default=1, help="brokers that must answer")
@wait_within
async def wait_broker(call: Call, *, broker: str | None, count: int, within: int | None) -> Outcome:
    """Return the verdict."""
    condition = brokers_answer(broker, count=count)
    return await awaited(call, condition, limit_ms=within)
