"""``topic show``: every queue of a topic with its ends and what may be done with it.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO on each master.
"""

from dataclasses import dataclass

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.partial_answers import Answers
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.output.topic_kinds import perm_text
from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class TopicQueue(Row):
    """One queue; offsets in entries."""

    topic: str
    broker: str | None
    queue_id: int
    min_offset: int
    max_offset: int
    message_count: int
    last_updated_ms: EpochMs
    perm: str
    cluster: str | None
    address: str | None


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
    ),
)
@topic_argument()
async def show_topic(call: Call, *, topic: str) -> Outcome:
    """Return one row a queue.

    Raises:
        NoRoute, NotFound: there is no such topic.
    """
    if call.is_offline:
        # A store is read by numpy, which nobody should wait for who asks a broker.
        from mqadmin.store.offline import stored_queues

        return Outcome(
            [
                TopicQueue.of(
                    one,
                    topic=topic,
                    broker=None,
                    message_count=one.max_offset - one.min_offset,
                    last_updated_ms=one.last_ms,
                    perm=perm_text(one.perm),
                    cluster=None,
                    address=None,
                )
                for one in stored_queues(call, topic)
            ]
        )
    admin = await call.topics()
    answers = Answers(call)
    route = await admin.topic_route(topic)
    brokers = {data.broker_name: data for data in route.broker_datas}
    perms = {data.broker_name: data.perm for data in route.queue_datas}
    rows = []
    for queue, ends in (await admin.topic_stats(topic, on_silent=answers.miss)).items():
        data = brokers[queue.broker_name]
        rows.append(
            TopicQueue.of(
                ends,
                topic=topic,
                broker=queue.broker_name,
                queue_id=queue.queue_id,
                message_count=ends.max_offset - ends.min_offset,
                last_updated_ms=ends.last_update_timestamp,
                perm=perm_text(perms.get(queue.broker_name, 0)),
                cluster=data.cluster or "",
                address=data.any_address() or "",
            )
        )
    return Outcome(rows, exit_code=answers.exit_code)
