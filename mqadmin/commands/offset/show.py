"""``offset show``: the offsets that a group has committed.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET,
GET_CONSUMER_LIST_BY_GROUP.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound
from mqadmin.groups import find_group
from mqadmin.offsetrows import GroupOffset
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose offsets."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str | None, argument("only in this topic", kind=Kind.TOPIC)] = None


@command(
    "offset show",
    "show the committed offsets of a group",
    examples=(("mqadmin offset show billing orders", "where billing reads next in orders"),),
    rows=GroupOffset,
    needs=Needs.EITHER,
)
async def show_offsets(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue.

    Raises:
        NotFound: no broker knows the group, or it has no offset in the topic.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_offsets

        here = [row for row in stored_offsets(call) if row.group == args.group]
        if not here:
            raise NotFound(f"group {args.group} has no offset in {call.store_dir}")
        return Outcome([row for row in here if args.topic in (None, row.topic)])
    known = await find_group(await call.admin(), args.group)
    rows = [
        GroupOffset(args.group, topic, at.place.broker, queue_id, queue_offset)
        for at in known
        for topic, queues in sorted(at.offsets.items())
        for queue_id, queue_offset in sorted(queues.items())
        if args.topic in (None, topic)
    ]
    if not rows and args.topic is not None:
        topics = sorted({topic for at in known for topic in at.offsets})
        raise NotFound(
            f"group {args.group} has no offset in topic {args.topic}",
            hint=f"it has in {', '.join(topics)}" if topics else "it has none at all",
        )
    return Outcome(rows)
