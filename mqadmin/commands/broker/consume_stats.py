"""``broker consume-stats``: how far every group on a broker is, in one request a broker.

Request on each master: GET_BROKER_CONSUME_STATS.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import masters
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.settings import positive_seconds


def _seconds(millis: str) -> object:
    """Read the ms of Java's flag as the seconds of ``--timeout``."""
    return positive_seconds(millis) / 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which brokers, and which queues."""

    broker: Annotated[
        str | None, option("of this broker: a name or HOST:PORT", short="b", kind=Kind.BROKER)
    ] = None
    cluster: Annotated[str | None, option("of the masters of a cluster", kind=Kind.CLUSTER)] = None
    min_lag: Annotated[int, option("only queues with so many messages left")] = 0
    order: Annotated[Literal["true", "false"], option("true: only groups that read in order")] = (
        "false"
    )


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
    "show how far every group on a broker is",
    examples=(
        ("mqadmin broker consume-stats -b broker-a", "every group, queue by queue"),
        ("mqadmin broker consume-stats --min-lag 1000 --sort -lag", "where much is left"),
    ),
    details="A queue whose next message was never consumed, or is gone, has no time.",
    rows=GroupQueue,
    columns=(
        *("topic", "group", "broker", "queue_id", "broker_offset", "consumer_offset", "lag"),
        "last_consumed_time",
    ),
    java=(
        Java(
            "brokerConsumeStats",
            (
                JavaOption("b", "brokerAddr", "broker", required=True),
                JavaOption("t", "timeoutMillis", "timeout", parse=_seconds),
                JavaOption("l", "level", "min_lag"),
                JavaOption("o", "order", "order"),
            ),
        ),
    ),
)
async def broker_consume_stats(call: Call, args: Arguments) -> Outcome:
    """Return one row a group and queue, sorted."""
    admin = await call.admin()
    places = await masters(admin, broker=args.broker, cluster=args.cluster, every=True)
    answers = await asyncio.gather(
        *(admin.broker_consume_stats(place.address, order=args.order == "true") for place in places)
    )
    rows = [
        GroupQueue(
            topic=queue.topic,
            group=group,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            broker_offset=at.broker_offset,
            consumer_offset=at.consumer_offset,
            lag=at.broker_offset - at.consumer_offset,
            last_consumed_ms=at.last_timestamp,
        )
        for answer in answers
        for table in answer.consume_stats_list
        for group, parts in table.items()
        for part in parts
        for queue, at in part.offset_table.items()
        if at.broker_offset - at.consumer_offset >= args.min_lag
    ]
    rows.sort(key=lambda row: (row.topic, row.group, row.broker, row.queue_id))
    return Outcome(rows)
