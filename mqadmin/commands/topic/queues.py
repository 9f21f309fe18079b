"""``topic show``, ``topic status``: every queue of a topic with its ends; status as Java's tool.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO and GET_ALL_TOPIC_CONFIG on each master.
"""

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.topic_queues import TopicQueue, topic_queues
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call


@command(
    "topic show",
    examples=(
        ("mqadmin topic show orders", "ends of every queue of orders"),
        ("mqadmin topic show orders --store DIR", "of the files of a stopped broker"),
    ),
    rows=TopicQueue,
    needs=Needs.EITHER,
    columns=(
        "topic",
        "broker",
        "queue_id",
        "min_offset",
        "max_offset",
        "last_updated_time",
        "perm",
        "message_type",
    ),
)
@topic_argument()
async def show_topic(call: Call, *, topic: str) -> Outcome:
    """Return one row a queue.

    Raises:
        NoRoute, NotFound: there is no such topic.
    """
    return await _queues(call, topic)


@command(
    "topic status",
    examples=(("mqadmin topic status orders", "first and next offset of every queue"),),
    rows=TopicQueue,
    needs=Needs.EITHER,
    columns=("broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
)
@topic_argument()
async def topic_status(call: Call, *, topic: str) -> Outcome:
    """Return one row a queue.

    Raises:
        NoRoute: there is no such topic.
    """
    return await _queues(call, topic)


async def _queues(call: Call, topic: str) -> Outcome:
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_queues

        return Outcome(stored_queues(call, topic))
    return await topic_queues(call, topic)
