"""``topic status``: the ends of every queue of a topic, as Java's topicStatus.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO on each master.
"""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Java, JavaOption, Needs, command
from mqadmin.rows import EpochMs, Outcome, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which topic."""

    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]


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
    "show how full the queues of a topic are",
    examples=(("mqadmin topic status orders", "first and next offset of every queue"),),
    rows=QueueStatus,
    needs=Needs.EITHER,
    columns=("broker", "queue_id", "min_offset", "max_offset", "last_updated_time"),
    java=(
        Java(
            "topicStatus",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("c", "cluster", since_5=True),
            ),
        ),
    ),
)
async def topic_status(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue.

    Raises:
        NoRoute: there is no such topic.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.offline import stored_ends

        return Outcome(
            [
                QueueStatus(args.topic, None, queue_id, low, high, 0)
                for queue_id, low, high in stored_ends(call, args.topic)
            ]
        )
    admin = await call.topics()
    return Outcome(
        [
            QueueStatus(
                args.topic,
                queue.broker_name,
                queue.queue_id,
                ends.min_offset,
                ends.max_offset,
                ends.last_update_timestamp,
            )
            for queue, ends in (await admin.topic_stats(args.topic)).items()
        ]
    )
