"""``topic show``, ``topic status``: show every queue of a topic with its ends.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO and GET_ALL_TOPIC_CONFIG on each master.
"""

from mqadmin.cli.declare import Call, Command, Needs, Outcome, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.topic_queues import TopicQueue, topic_queues


def _declare(name: str, *examples: tuple[str, str], columns: tuple[str, ...]) -> Command:
    @command(name, examples=examples, rows=TopicQueue, needs=Needs.EITHER, columns=columns)
    @topic_argument()
    async def show_queues(call: Call, *, topic: str) -> Outcome:
        """Return one row for each queue.

        Raises:
            NoRoute, ItemNotFound: there is no such topic.
        """
        if call.is_offline:
            from mqadmin.store.offline import stored_queues

            return Outcome(stored_queues(call, topic))
        return await topic_queues(call, topic)

    return show_queues


show_topic = _declare(
    "topic show",
    ("mqadmin topic show orders", "ends of every queue of orders"),
    ("mqadmin topic show orders --store DIR", "of the files of a stopped broker"),
    columns=(
        *("topic", "broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
        *("perm", "message_type"),
    ),
)
topic_status = _declare(
    "topic status",
    ("mqadmin topic status orders", "first and next offset of every queue"),
    columns=("broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
)
