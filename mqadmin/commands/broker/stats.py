"""``broker stats``: show what brokers have counted over a minute, an hour and a day.

Request: VIEW_BROKER_STATS_DATA on each master, once for each statistic.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mqadmin.cli.declare import Call, Outcome, Row, argument, command
from mqadmin.cli.decorators import Where, of_masters
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
        ("mqadmin broker stats", "messages stored and delivered, broker by broker"),
        ("mqadmin broker stats TOPIC_PUT_NUMS orders", "messages of one topic"),
        (
            "mqadmin broker stats GROUP_GET_NUMS orders@billing",
            "messages of the topic that a group got",
        ),
    ),
    details="Statistics of 4.9: " + ", ".join(NAMES) + ".",
    rows=StatsSpan,
)
@argument("name", required=False, help="name of the statistic, such as TOPIC_PUT_NUMS")
@argument("key", required=False, help="a topic, or TOPIC@GROUP for a statistic of groups")
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
        raise Usage(f"unknown statistic {name!r}", hint=hint)
    if key is None and not names[0].startswith("BROKER_"):
        raise Usage(
            f"{names[0]} needs a topic",
            hint="give a topic, or TOPIC@GROUP for a statistic of groups",
        )
    admin = await call.admin()
    nodes = await masters(admin, where, every=True)
    answers = Answers(call)

    async def spans_of(node: ServerNode) -> list[StatsSpan]:
        return [row for one in names for row in await _spans(admin, node, one, key)]

    rows = [row for _, spans in await answers.each(nodes, spans_of) for row in spans]
    if not rows and name is not None and not answers.exit_code():
        raise ItemNotFound(
            f"no broker has a count {names[0]} of {key or 'its cluster'}",
            hint="counts start with the first message",
        )
    return Outcome(rows, exit_code=answers.exit_code)


async def _spans(admin: "Admin", node: ServerNode, name: str, key: str | None) -> list[StatsSpan]:
    if key is None:
        cluster = node.cluster
        if not cluster:
            cluster = (await admin.broker_config(node.address)).get("brokerClusterName", "")
        key = cluster
    try:
        data = await admin.broker_stats(node.address, name, key)
    except BrokerRefused as error:
        if error.code != ResponseCode.SYSTEM_ERROR:
            raise
        # A broker answers like this if nothing was counted.
        return []
    spans = (("minute", data.stats_minute), ("hour", data.stats_hour), ("day", data.stats_day))
    return [
        StatsSpan(
            node.broker,
            name,
            key,
            span,
            item.sum,
            round(item.tps, 4),
            round(item.avgpt, 4),
        )
        for span, item in spans
        if item is not None
    ]
