"""``rebalance show``: which member of a group reads which queue of a topic.

Requests: GET_ROUTEINFO_BY_TOPIC; on each master GET_CONSUMER_LIST_BY_GROUP and
GET_CONSUMER_RUNNING_INFO of each member.
"""

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, read_topic_argument
from mqadmin.cluster import assignment_picture
from mqadmin.cluster.assignment import QueueOwner, current, topics_of
from mqadmin.output.printer import terminal_width
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "rebalance show",
    examples=(
        ("mqadmin rebalance show billing orders", "the queues of every member"),
        ("mqadmin rebalance show billing", "in every topic that billing reads"),
    ),
    details="``strategy`` ends in (assumed) where the members do not say which one they use.",
    rows=QueueOwner,
)
@group_argument()
@read_topic_argument
async def show_rebalance(call: Call, *, group: str, topic: str | None) -> Outcome:
    """Return one row a queue; ``client_id`` is None where nobody reads it.

    Raises:
        NoRoute: there is no such topic.
        NotFound: no broker knows the group, or it has read nothing.
    """
    admin = await call.admin()
    rows: list[QueueOwner] = []
    lines: list[str] = []
    online = False
    for name in await topics_of(admin, group, topic):
        now = await current(admin, group, name)
        online = online or bool(now.members)
        rows += [
            QueueOwner(
                group,
                name,
                queue.broker_name,
                queue.queue_id,
                now.owners.get(queue),
                now.strategy_text,
            )
            for queue in now.queues
        ]
        lines += [
            "",
            *([] if topic else [f"topic {name}"]),
            *assignment_picture.picture(
                f"now ({now.strategy_text})",
                now.queues,
                members=now.members,
                owners=now.owners,
                width=terminal_width(),
            ),
        ]
    notes = () if online else (f"group {group} has no member online",)
    return Outcome(rows, notes=notes, picture=tuple(lines))
