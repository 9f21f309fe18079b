"""``broker consume-stats``: show how far every group on a broker has read.

Request: GET_BROKER_CONSUME_STATS on each master, which answers with all groups at once.
"""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cli.types import BOOLEAN, INTEGER
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.partial_answers import Answers


@dataclass(frozen=True, slots=True)
class GroupQueue(Row):
    """One group in one queue; offsets and lag in entries."""

    topic: str
    group: str
    broker: str
    queue_id: int
    broker_offset: int
    consumer_offset: int
    lag: int
    last_consumed_ms: EpochMs


@command(
    "broker consume-stats",
    examples=(
        ("mqadmin broker consume-stats -b broker-a", "every group, queue by queue"),
        ("mqadmin broker consume-stats --min-lag 1000 --sort -lag", "the largest lags first"),
    ),
    details="A queue has no time if its last consumed message is gone, or if nothing was consumed.",
    rows=GroupQueue,
    columns=(
        *("topic", "group", "broker", "queue_id", "broker_offset", "consumer_offset", "lag"),
        "last_consumed_time",
    ),
)
@of_masters
@click.option("--min-lag", type=INTEGER, default=0, help="only queues with at least this lag")
@click.option(
    "--order", type=BOOLEAN, default="false", help="true: only groups that consume in order"
)
async def broker_consume_stats(call: Call, *, where: Where, min_lag: int, order: bool) -> Outcome:
    """Return one row for each group and queue, sorted."""
    admin = await call.admin()
    nodes = await masters(admin, where, every=True)
    answers = Answers(call)
    stats_by_node = await answers.each(
        nodes, lambda at: admin.broker_consume_stats(at.address, order=order)
    )
    # Java's total also counts queues without rows, so the layout needs all of them.
    leaves_out = not call.settings.compat
    rows = [
        GroupQueue.of(
            at,
            topic=queue.topic,
            group=group,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            lag=at.broker_offset - at.consumer_offset,
            last_consumed_ms=at.last_timestamp,
        )
        for _, answer in stats_by_node
        for table in answer.consume_stats_list
        for group, parts in table.items()
        for part in parts
        for queue, at in part.offset_table.items()
        if not leaves_out or at.broker_offset - at.consumer_offset >= min_lag
    ]
    rows.sort(key=lambda row: (row.topic, row.group, row.broker, row.queue_id))
    return Outcome(rows, exit_code=answers.exit_code)
