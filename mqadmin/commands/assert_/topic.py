"""``assert topic``: a topic is there, or is not.

Request: GET_ROUTEINFO_BY_TOPIC, again until it holds or ``--within`` is over.
"""

from mqadmin.cli.declare import command
from mqadmin.health.conditions import Condition, Verdict, assert_within, asserted, topic_condition
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
@topic_condition
@assert_within
async def assert_topic(call: Call, *, condition: Condition, within: int) -> Outcome:
    """Return the verdict."""
    return await asserted(call, condition, within_ms=within)
