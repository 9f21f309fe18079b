"""``topic status``: show the first and next offset of every queue of a topic.

Requests: those of ``topic show``.
"""

from mqadmin.commands.topic._shared import queues_command

topic_status = queues_command(
    "topic status",
    ("mqadmin topic status orders", "the first and next offset of every queue"),
    columns=("broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
)
