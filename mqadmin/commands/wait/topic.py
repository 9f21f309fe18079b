"""``wait topic``: until a topic is there, or gone.

Requests: GET_ROUTEINFO_BY_TOPIC, again and again.
"""

from mqadmin.cli.declare import command
from mqadmin.health.conditions import (
    LIMIT,
    Condition,
    Verdict,
    awaited,
    topic_condition,
    wait_within,
)
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "wait topic",
    examples=(("mqadmin wait topic orders --within 30s", "until it has a route"),),
    details=LIMIT,
    rows=Verdict,
)
@topic_condition
@wait_within
async def wait_topic(call: Call, *, condition: Condition, within: int | None) -> Outcome:
    """Return the verdict."""
    return await awaited(call, condition, limit_ms=within)
