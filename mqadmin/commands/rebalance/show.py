"""``rebalance show``: which member of a group reads which queue of a topic.

Requests: GET_ROUTEINFO_BY_TOPIC; on each master GET_CONSUMER_LIST_BY_GROUP and
GET_CONSUMER_RUNNING_INFO of each member.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin import assignmentpicture
from mqadmin.assignment import QueueOwner, current
from mqadmin.call import Call
from mqadmin.output.table import terminal_width
from mqadmin.parameters import Kind, argument
from mqadmin.registry import command
from mqadmin.rows import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose queues."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]


@command(
    "rebalance show",
    "show which member reads which queue",
    examples=(("mqadmin rebalance show billing orders", "the queues of every member"),),
    details="``strategy`` ends in (assumed) where the members do not say which one they use.",
    rows=QueueOwner,
)
async def show_rebalance(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue; ``client_id`` is None where nobody reads it.

    Raises:
        NoRoute: there is no such topic.
        NotFound: no broker knows the group.
    """
    now = await current(await call.admin(), args.group, args.topic)
    rows = [
        QueueOwner(
            args.group,
            args.topic,
            queue.broker_name,
            queue.queue_id,
            now.owners.get(queue),
            now.strategy_text,
        )
        for queue in now.queues
    ]
    notes = () if now.members else (f"group {args.group} has no member online",)
    lines = assignmentpicture.picture(
        f"now ({now.strategy_text})",
        now.queues,
        members=now.members,
        owners=now.owners,
        width=terminal_width(),
    )
    return Outcome(rows, notes=notes, picture=("", *lines))
