"""``topic show``: show every queue of a topic with its ends and permission.

Requests: GET_ROUTEINFO_BY_TOPIC; GET_TOPIC_STATS_INFO and GET_ALL_TOPIC_CONFIG on each master.
"""

from mqadmin.commands.topic._shared import queues_command

show_topic = queues_command(
    "topic show",
    ("mqadmin topic show orders", "the offsets of every queue"),
    ("mqadmin topic show orders --store DIR", "from the files of a stopped broker"),
    columns=(
        *("topic", "broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
        *("perm", "message_type"),
    ),
)
