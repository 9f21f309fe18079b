"""``rebalance show``: which member of a group reads which queue of a topic.

Requests: GET_ROUTEINFO_BY_TOPIC; on each master GET_CONSUMER_LIST_BY_GROUP and
GET_CONSUMER_RUNNING_INFO of each member; GET_ALL_MESSAGE_REQUEST_MODE, which only brokers of
RocketMQ 5 and ours answer.
"""

from typing import TYPE_CHECKING

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, read_topic_argument
from mqadmin.cluster import assignment_picture
from mqadmin.cluster.assignment import QueueOwner, current, topics_of
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import Place, masters
from mqadmin.output.printer import terminal_width
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqclient.errors import BrokerRefused
from remoting.bodies import MessageRequestMode
from remoting.codes import ResponseCode

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@command(
    "rebalance show",
    examples=(
        ("mqadmin rebalance show billing orders", "the queues of every member"),
        ("mqadmin rebalance show billing", "in every topic that billing reads"),
    ),
    details="``strategy`` ends in (assumed) where the members do not say which one they use.\n"
    "Members that pop share queues, and no row is theirs: a line below says where a group pops.",
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
    topics = await topics_of(admin, group, topic)
    for name in topics:
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
    notes = [] if online else [f"group {group} has no member online"]
    notes += await _where_it_pops(admin, group, set(topics))
    return Outcome(rows, notes=tuple(notes), picture=tuple(lines))


async def _where_it_pops(admin: "Admin", group: str, topics: set[str]) -> list[str]:
    """Return a line for each topic and broker where a group was set to pop."""

    async def ask(place: Place) -> list[str]:
        try:
            modes = await admin.message_request_modes(place.address)
        except BrokerRefused as error:
            if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                return []
            raise
        return [
            f"group {group} pops topic {topic} on {place.broker}, where each queue is shared by "
            + (f"{mode.pop_share_queue_num} more members" if mode.pop_share_queue_num else "all")
            for (name, topic), mode in sorted(modes.items())
            if (name, mode.mode) == (group, MessageRequestMode.POP) and topic in topics
        ]

    found = await each(await masters(admin, every=True), ask)
    return [line for lines in found for line in lines]
