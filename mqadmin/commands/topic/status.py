"""``topic status``: the ends of every queue of a topic, as Java's topicStatus.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO on each master.
"""

from dataclasses import dataclass

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.partial_answers import Answers
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class QueueStatus(Row):
    """One queue; offsets in entries."""

    topic: str
    broker: str | None
    queue_id: int
    min_offset: int
    max_offset: int
    last_updated_ms: EpochMs


@command(
    "topic status",
    examples=(("mqadmin topic status orders", "first and next offset of every queue"),),
    rows=QueueStatus,
    needs=Needs.EITHER,
    columns=("broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
)
@topic_argument()
async def topic_status(call: Call, *, topic: str) -> Outcome:
    """Return one row a queue.

    Raises:
        NoRoute: there is no such topic.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_ends

        return Outcome(
            [
                QueueStatus(topic, None, queue_id, low, high, 0)
                for queue_id, low, high in stored_ends(call, topic)
            ]
        )
    admin = await call.topics()
    answers = Answers(call)
    stats = await admin.topic_stats(topic, on_silent=answers.miss)
    rows = [
        QueueStatus(
            topic,
            queue.broker_name,
            queue.queue_id,
            ends.min_offset,
            ends.max_offset,
            ends.last_update_timestamp,
        )
        for queue, ends in stats.items()
    ]
    return Outcome(rows, exit_code=answers.exit_code)
