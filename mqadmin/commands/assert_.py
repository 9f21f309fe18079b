"""``assert …``: exit code 1 where something does not hold, at once or when ``--within`` is over.

Requests, again until it holds: of ``assert group`` as ``group show``, of ``lag``
GET_CONSUME_STATS and of ``message-count`` GET_TOPIC_STATS_INFO on each master, of ``topic``
GET_ROUTEINFO_BY_TOPIC.
"""

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cli.types import INTEGER
from mqadmin.errors import Usage
from mqadmin.health.conditions import (
    Condition,
    Verdict,
    assert_within,
    asserted,
    group_condition,
    lag_condition,
    messages_between,
    topic_condition,
)
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "assert group",
    examples=(("mqadmin assert group billing --members 2 --within 1m", "both came up"),),
    rows=Verdict,
)
@group_condition
@assert_within
async def assert_group(call: Call, *, condition: Condition, within: int) -> Outcome:
    """Return the verdict."""
    return await asserted(call, condition, within_ms=within)


@command(
    "assert lag",
    examples=(
        ("mqadmin assert lag billing --within 30s", "all is read within half a minute"),
        ("mqadmin assert lag billing orders --max 100", "at most 100 are left in orders"),
    ),
    rows=Verdict,
)
@lag_condition
@assert_within
async def assert_lag(call: Call, *, condition: Condition, within: int) -> Outcome:
    """Return the verdict.

    Raises:
        NotFound: no broker knows the group.
    """
    return await asserted(call, condition, within_ms=within)


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


@command(
    "assert topic",
    examples=(
        ("mqadmin assert topic orders --queues 8", "it has eight queues"),
        ("mqadmin assert topic old --absent", "it was deleted"),
    ),
    rows=Verdict,
)
@topic_condition
@assert_within
async def assert_topic(call: Call, *, condition: Condition, within: int) -> Outcome:
    """Return the verdict."""
    return await asserted(call, condition, within_ms=within)
