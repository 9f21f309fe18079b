"""``assert topic``: a topic is there, or is not.

Request: GET_ROUTEINFO_BY_TOPIC, again until it holds or ``--within`` is over.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import INTEGER
from mqadmin.health.conditions import Verdict, asserted, topic_there
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "assert topic",
    examples=(
        ("mqadmin assert topic orders --queues 8", "it has eight queues"),
        ("mqadmin assert topic old --absent", "it was deleted"),
    ),
    rows=Verdict,
)
@topic_argument()
@click.option("--queues", type=INTEGER, help="readable queues, over all brokers")
@click.option("--absent", is_flag=True, help="it must not be there")
@click.option("--within", type=DURATION, default=0, help="until then")
async def assert_topic(
    call: Call, *, topic: str, queues: int | None, absent: bool, within: int
) -> Outcome:
    """Return the verdict."""
    condition = topic_there(topic, queues=queues, absent=absent)
    return await asserted(call, condition, within_ms=within)
