"""The queues of a topic with their ends: what ``topic show`` and ``topic status`` print.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_TOPIC_STATS_INFO on each master.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mqadmin.cluster.partial_answers import Answers
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.output.topic_kinds import perm_text

if TYPE_CHECKING:
    from mqadmin.session.call import Call


@dataclass(frozen=True, slots=True)
class TopicQueue(Row):
    """One queue; offsets in entries. A store knows no broker, cluster and address."""

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


async def topic_queues(call: "Call", topic: str) -> Outcome:
    """Return one row a queue.

    Raises:
        NoRoute, NotFound: there is no such topic.
    """
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
