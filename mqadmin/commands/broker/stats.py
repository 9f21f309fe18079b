"""``broker stats``, ``consume-stats``: show what brokers have counted, and the lag of their groups.

stats            VIEW_BROKER_STATS_DATA on each master: one statistic over minute, hour and day
consume-stats    GET_BROKER_CONSUME_STATS on each master: every group in one request a broker
"""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, argument, command
from mqadmin.cli.decorators import Where, of_masters
from mqadmin.cli.types import BOOLEAN, INTEGER
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound, Usage, did_you_mean
from mqclient.errors import BrokerRefused
from remoting.codes import ResponseCode

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


OF_BROKER: Final = ("BROKER_PUT_NUMS", "BROKER_GET_NUMS")
"""Counted under the name of the cluster."""
NAMES: Final = (
    *OF_BROKER,
    *("TOPIC_PUT_NUMS", "TOPIC_PUT_SIZE", "GROUP_GET_NUMS", "GROUP_GET_SIZE"),
    *("SNDBCK_PUT_NUMS", "GROUP_GET_LATENCY", "GROUP_GET_FALL_SIZE", "GROUP_GET_FALL_TIME"),
    *("QUEUE_PUT_NUMS", "QUEUE_PUT_SIZE", "QUEUE_GET_NUMS", "QUEUE_GET_SIZE"),
    *("GROUP_GET_FROM_DISK_NUMS", "GROUP_GET_FROM_DISK_SIZE"),
    *("BROKER_GET_FROM_DISK_NUMS", "BROKER_GET_FROM_DISK_SIZE", "DLQ_PUT_NUMS"),
    *("COMMERCIAL_SEND_TIMES", "COMMERCIAL_SEND_SIZE", "COMMERCIAL_RCV_TIMES"),
    *("COMMERCIAL_RCV_SIZE", "COMMERCIAL_SNDBCK_TIMES", "COMMERCIAL_RCV_EPOLLS"),
)


@dataclass(frozen=True, slots=True)
class StatsSpan(Row):
    """A statistic over one span: the sum, the rate a second, and the average a call."""

    broker: str
    name: str
    key: str
    span: str
    sum: int
    tps: float
    average: float


@command(
    "broker stats",
    examples=(
        ("mqadmin broker stats", "messages put and got, broker by broker"),
        ("mqadmin broker stats TOPIC_PUT_NUMS orders", "messages of one topic"),
        ("mqadmin broker stats GROUP_GET_NUMS orders@billing", "what a group got of it"),
    ),
    details="Statistics of 4.9: " + ", ".join(NAMES) + ".",
    rows=StatsSpan,
)
@argument("name", required=False, help="name of the statistic, such as TOPIC_PUT_NUMS")
@argument(
    "key", required=False, help="what it counts: a topic, or TOPIC@GROUP for a statistic of groups"
)
@of_masters
async def broker_stats(call: Call, *, name: str | None, key: str | None, where: Where) -> Outcome:
    """Return one row for each broker, statistic and span.

    Raises:
        Usage: the statistic is unknown, or needs a key.
        ItemNotFound: no broker has counted under this key.
    """
    names = OF_BROKER if name is None else (name.upper(),)
    if names[0] not in NAMES:
        hint = did_you_mean(names[0], NAMES, "-h lists them")
        raise Usage(f"no statistic {name!r}", hint=hint)
    if key is None and not names[0].startswith("BROKER_"):
        raise Usage(f"{names[0]} of what?", hint="a topic, or TOPIC@GROUP for those of groups")
    admin = await call.admin()
    nodes = await masters(admin, where, every=True)
    parts = await asyncio.gather(
        *(_spans(admin, node, one, key) for node in nodes for one in names)
    )
    rows = [row for part in parts for row in part]
    if not rows and name is not None:
        raise ItemNotFound(
            f"no broker has counted {names[0]} of {key or 'its cluster'}",
            hint="counting starts with the first message",
        )
    return Outcome(rows)


async def _spans(admin: "Admin", node: ServerNode, name: str, key: str | None) -> list[StatsSpan]:
    if key is None:
        cluster = node.cluster
        if not cluster:
            cluster = (await admin.broker_config(node.address)).get("brokerClusterName", "")
        key = cluster
    try:
        found = await admin.broker_stats(node.address, name, key)
    except BrokerRefused as error:
        if error.code != ResponseCode.SYSTEM_ERROR:
            raise
        # A broker says so when nothing was counted.
        return []
    spans = (("minute", found.stats_minute), ("hour", found.stats_hour), ("day", found.stats_day))
    return [
        StatsSpan(node.broker, name, key, span, one.sum, round(one.tps, 4), round(one.avgpt, 4))
        for span, one in spans
        if one is not None
    ]


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
        ("mqadmin broker consume-stats --min-lag 1000 --sort -lag", "where much is left"),
    ),
    details="A queue has no time if its next message was never consumed, or is gone.",
    rows=GroupQueue,
    columns=(
        *("topic", "group", "broker", "queue_id", "broker_offset", "consumer_offset", "lag"),
        "last_consumed_time",
    ),
)
@of_masters
@click.option("--min-lag", type=INTEGER, default=0, help="only queues with at least this lag")
@click.option(
    "--order", type=BOOLEAN, default="false", help="true shows only groups that read in order"
)
async def broker_consume_stats(call: Call, *, where: Where, min_lag: int, order: bool) -> Outcome:
    """Return one row for each group and queue, sorted."""
    admin = await call.admin()
    nodes = await masters(admin, where, every=True)
    answers = Answers(call)
    told = await answers.each(nodes, lambda at: admin.broker_consume_stats(at.address, order=order))
    # Java's total counts what its rows leave out, too, so that the layout needs all of them.
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
        for _, answer in told
        for table in answer.consume_stats_list
        for group, parts in table.items()
        for part in parts
        for queue, at in part.offset_table.items()
        if not leaves_out or at.broker_offset - at.consumer_offset >= min_lag
    ]
    rows.sort(key=lambda row: (row.topic, row.group, row.broker, row.queue_id))
    return Outcome(rows, exit_code=answers.exit_code)
