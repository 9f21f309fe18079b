"""``group tps``: show how fast topics are written and groups read them, and the lag.

Requests on each master of a topic: QUERY_TOPIC_CONSUME_BY_WHO, VIEW_BROKER_STATS_DATA
(TOPIC_PUT_NUMS, GROUP_GET_NUMS), and those of ``mqadmin.cluster.group_positions`` for the lag.
"""

from dataclasses import dataclass
from typing import Final

import click

from mqadmin.cli.declare import Call, Outcome, Row, command
from mqadmin.cli.decorators import group_argument
from mqadmin.cli.types import TOPIC
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import masters, masters_of_route
from mqadmin.cluster.group_positions import GroupReader
from mqadmin.cluster.groups import find_group
from mqadmin.cluster.members import MemberSurvey
from mqadmin.cluster.partial_answers import Answers
from mqadmin.cluster.server_tables import count_of_day, statistic
from mqadmin.cluster.standing import StandingTotal
from mqclient.errors import NoRoute
from remoting.bodies import BrokerStatsData
from storefmt.names import DLQ_PREFIX, RETRY_PREFIX

OWN_TOPICS: Final = (RETRY_PREFIX, DLQ_PREFIX)


@dataclass(frozen=True, slots=True)
class GroupRate(Row):
    """A topic and a group that reads it, or None; rates in messages a second."""

    topic: str
    group: str | None
    lag: int | None
    in_tps: float
    out_tps: float | None
    in_24h: int
    out_24h: int | None


@command(
    "group tps",
    examples=(
        ("mqadmin group tps billing", "one group, topic by topic"),
        ("mqadmin group tps --active --sort -in_tps", "all groups, the busiest topic first"),
    ),
    details="A topic without groups has one row, with an empty group. Rates are those of the "
    "last minute, as the brokers count them.",
    rows=GroupRate,
)
@group_argument(required=False)
@click.option("--topic", type=TOPIC, help="only this topic")
@click.option("--active", is_flag=True, help="only topics that were written or read within a day")
async def group_tps(call: Call, *, group: str | None, topic: str | None, active: bool) -> Outcome:
    """Return one row for each topic and group, sorted.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: no broker knows the group.
    """
    admin = await call.admin()
    answers = Answers(call)
    if group is not None:
        await find_group(admin, group, answers=answers)
    if topic is not None:
        await admin.topic_route(topic)
        topics = [topic]
    else:
        topics = [name for name in await admin.topic_list() if not name.startswith(OWN_TOPICS)]
    members = MemberSurvey(admin, call.now_ms)
    nodes = await masters(admin, every=True)
    reader = GroupReader(admin, nodes, answers=answers, members=members)
    parts = await each(topics, lambda topic_name: _topic(reader, topic_name, group))
    rows = [row for part in parts for row in part]
    if active:
        rows = [row for row in rows if row.in_24h or row.out_24h]
    return Outcome(rows, exit_code=answers.exit_code)


async def _topic(reader: GroupReader, topic: str, only: str | None) -> list[GroupRate]:
    admin = reader.admin
    try:
        route = await admin.topic_route(topic)
    except NoRoute:
        # It was deleted since it was listed.
        return []
    listed = await reader.answers.each(
        masters_of_route(route), lambda node: admin.groups_of_topic(node.address, topic)
    )
    addresses = [node.address for node, _ in listed]
    groups = {name for _, names in listed for name in names}
    if only is not None:
        groups &= {only}
        if not groups:
            return []
    puts = [await statistic(admin, address, "TOPIC_PUT_NUMS", key=topic) for address in addresses]
    in_tps, in_24h = _tps(puts), _day(puts)
    if not groups:
        return [GroupRate(topic, None, None, in_tps, None, in_24h, None)]
    rows = []
    for group in sorted(groups):
        key = f"{topic}@{group}"
        gets = [await statistic(admin, address, "GROUP_GET_NUMS", key=key) for address in addresses]
        lag = StandingTotal.of(await reader.positions(group, topic)).waiting_count
        rows.append(GroupRate(topic, group, lag, in_tps, _tps(gets), in_24h, _day(gets)))
    return rows


def _tps(data: list[BrokerStatsData]) -> float:
    return round(sum(each.stats_minute.tps for each in data if each.stats_minute), 4)


def _day(data: list[BrokerStatsData]) -> int:
    return sum(map(count_of_day, data))
