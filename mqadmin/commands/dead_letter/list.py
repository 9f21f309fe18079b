"""``dead-letter list``: list the groups that have given up messages, and how many.

Requests: GET_ALL_TOPIC_LIST_FROM_NAMESERVER, then per dead letter topic
GET_ROUTEINFO_BY_TOPIC and GET_TOPIC_STATS_INFO.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.decorators import group_argument
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.partial_answers import Answers
from mqadmin.cluster.topic_queues import TopicQueue
from mqclient.errors import NoRoute
from remoting.bodies import TopicOffset
from storefmt.names import DLQ_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters(Row):
    """The dead letters of a group on one broker; ``last_ms`` when the newest was given up."""

    group: str
    broker: str | None
    message_count: int
    min_offset: int
    max_offset: int
    last_ms: EpochMs
    topic: str


@command(
    "dead-letter list",
    examples=(
        ("mqadmin dead-letter list", "every group that has dead letters"),
        ("mqadmin dead-letter list --store DIR", "from the files of a stopped broker"),
    ),
    rows=DeadLetters,
    needs=Needs.EITHER,
    columns=("group", "broker", "message_count", "last_time"),
)
@group_argument(required=False, help="only this group")
@click.option(
    "--all", "all_", is_flag=True, help="also show groups whose dead letters have expired"
)
async def list_dead_letters(call: Call, *, group: str | None, all_: bool) -> Outcome:
    """Return one row for each group and broker."""
    if call.is_offline:
        return Outcome([row for row in _stored(call, group) if all_ or row.message_count])
    admin = await call.admin()
    topics = [
        topic
        for topic in await admin.topic_list()
        if topic.startswith(DLQ_PREFIX) and group in (None, topic.removeprefix(DLQ_PREFIX))
    ]
    answers = Answers(call)
    rows_by_topic = await each(topics, partial(_rows, admin, answers))
    shown = [row for rows in rows_by_topic for row in rows if all_ or row.message_count]
    return Outcome(shown, exit_code=answers.exit_code)


def _stored(call: Call, only: str | None) -> Iterator[DeadLetters]:
    from mqadmin.store_access.stored_rows import queue_topics, stored_queues

    for topic in queue_topics(call):
        if topic.startswith(DLQ_PREFIX) and only in (None, topic.removeprefix(DLQ_PREFIX)):
            queues = stored_queues(call, topic)
            last_ms = max(queue.last_updated_ms for queue in queues)
            yield _row(topic, None, queues, last_ms=last_ms)


async def _rows(admin: "Admin", answers: Answers, topic: str) -> list[DeadLetters]:
    try:
        stats = await admin.topic_stats(topic, on_silent=answers.miss)
    except NoRoute:
        # It has been deleted since it was listed.
        return []
    rows = []
    for broker in sorted({queue.broker_name for queue in stats}):
        ends = [end for queue, end in stats.items() if queue.broker_name == broker]
        last_ms = max(end.last_update_timestamp for end in ends)
        rows.append(_row(topic, broker, ends, last_ms=last_ms))
    return rows


def _row(
    topic: str, broker: str | None, ends: Sequence[TopicQueue | TopicOffset], *, last_ms: int
) -> DeadLetters:
    return DeadLetters(
        group=topic.removeprefix(DLQ_PREFIX),
        broker=broker,
        message_count=sum(end.max_offset - end.min_offset for end in ends),
        min_offset=min(end.min_offset for end in ends),
        max_offset=max(end.max_offset for end in ends),
        last_ms=last_ms,
        topic=topic,
    )
