"""``assert message-count``: the queues of a topic hold so many messages.

Requests: GET_TOPIC_STATS_INFO on each master, again until it holds or ``--within`` is over.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.types import INTEGER
from mqadmin.errors import Usage
from mqadmin.health.conditions import Verdict, assert_within, asserted, messages_between
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "assert message-count",
    examples=(
        ("mqadmin assert message-count orders 100 --within 5s", "exactly a hundred came"),
        ("mqadmin assert message-count %DLQ%billing --max 0", "no dead letter"),
    ),
    details="What counts is what can still be read: last offset less first offset of each queue.",
    rows=Verdict,
)
@topic_argument()
@click.argument("count", type=INTEGER, required=False, help="exactly so many")
@click.option("--min", "min_", type=INTEGER, help="so many or more")
@click.option("--max", "max_", type=INTEGER, help="so many or fewer")
@assert_within
async def assert_message_count(
    call: Call, *, topic: str, count: int | None, min_: int | None, max_: int | None, within: int
) -> Outcome:
    """Return the verdict.

    Raises:
        NoRoute: there is no such topic.
        Usage: no number is given, or both kinds of them.
    """
    bounds = (min_, max_)
    if (count is None) == (bounds == (None, None)):
        raise Usage("say COUNT, or --min, or --max", hint="as in `assert message-count orders 5`")
    least = count if count is not None else min_ or 0
    most = count if count is not None else max_
    condition = messages_between(topic, least=least, most=most)
    return await asserted(call, condition, within_ms=within)
