"""``offset show``: show the offsets that a group has committed.

Requests on each master: GET_ALL_SUBSCRIPTIONGROUP_CONFIG, GET_ALL_CONSUMER_OFFSET,
GET_CONSUMER_LIST_BY_GROUP.
"""

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import group_argument, topic_argument
from mqadmin.cluster.groups import GroupOffset, find_group
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound


@command(
    "offset show",
    examples=(("mqadmin offset show billing orders", "the next offsets of billing in orders"),),
    rows=GroupOffset,
    needs=Needs.EITHER,
    offline="store offsets",
)
@group_argument()
@topic_argument(required=False, help="only in this topic")
async def show_offsets(call: Call, *, group: str, topic: str | None) -> Outcome:
    """Return one row for each queue.

    Raises:
        ItemNotFound: no broker knows the group, or it has no offset in the topic.
    """
    answers = Answers(call)
    places = await find_group(await call.admin(), group, answers=answers)
    rows = [
        GroupOffset(group, name, place.node.broker, queue_id, queue_offset)
        for place in places
        for name, queues in sorted(place.offsets.items())
        for queue_id, queue_offset in sorted(queues.items())
        if topic in (None, name)
    ]
    if not rows and topic is not None and not answers.exit_code():
        topics = sorted({name for place in places for name in place.offsets})
        raise ItemNotFound(
            f"group {group} has no offset in topic {topic}",
            hint=f"it has offsets in {', '.join(topics)}"
            if topics
            else "it has no offsets in any topic",
        )
    return Outcome(rows, exit_code=answers.exit_code)
