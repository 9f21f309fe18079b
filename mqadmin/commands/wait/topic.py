"""``wait topic``: until a topic is there, or gone.

Requests: GET_ROUTEINFO_BY_TOPIC, again and again.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.health.conditions import LIMIT, Verdict, awaited, topic_there
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait topic",
    examples=(("mqadmin wait topic orders --within 30s", "until it has a route"),),
    details=LIMIT,
    rows=Verdict,
)
@topic_argument()
@click.option("--queues", type=INTEGER, help="readable queues, over all brokers")
@click.option("--absent", is_flag=True, help="wait until it is gone")
@click.option("--within", type=DURATION, help="give up then")
async def wait_topic(
    call: Call, *, topic: str, queues: int | None, absent: bool, within: int | None
) -> Outcome:
    """Return the verdict."""
    condition = topic_there(topic, queues=queues, absent=absent)
    return await awaited(call, condition, limit_ms=within)
