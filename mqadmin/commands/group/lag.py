"""``group lag``: show how far a group is behind in each queue, and who reads each queue.

Requests on each master: those of ``mqadmin.cluster.group_positions``; GET_CONSUMER_RUNNING_INFO of
each member for ``client_id``.

With ``--watch`` a row also says how fast the queue is read and when it will be drained.

Without a group, every group that was ever online is a row, as ``consumerProgress`` shows it: found
by its retry topic, as RocketMQ's own tool does. Requests: GET_ALL_TOPIC_LIST_FROM_NAMESERVER; for
each group GET_CONSUME_STATS and GET_CONSUMER_CONNECTION_LIST on each master.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Final

import click

from mqadmin.changes.write import first_of_names
from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.decorators import Where, group_argument, of_cluster, topic_argument
from mqadmin.cluster.bounded_gather import bounded_gather
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.group_positions import GroupReader
from mqadmin.cluster.groups import connection, find_group, is_system
from mqadmin.cluster.members import MemberSurvey, disagreement, infos_of, owners_of
from mqadmin.cluster.partial_answers import Answers
from mqadmin.cluster.standing import GroupStanding, QueuePosition, StandingTotal
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.output.rows import Course
from mqadmin.output.screen import is_table, worst_last
from mqadmin.output.trend import Trend
from remoting.bodies import MessageQueue
from storefmt.names import RETRY_PREFIX

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


LEFT_OUT: Final = {
    GroupStanding.UNSUBSCRIBED: "the member with the latest heartbeat does not subscribe to it, "
    "so its messages are not counted",
    GroupStanding.LOCAL: "the group broadcasts: its members keep their own offsets, and brokers "
    "do not know the lag",
    GroupStanding.GONE: "the topic is gone, but the offsets remain: if it is created again, the "
    "group will skip its first messages; `topic delete --offsets` removes them",
    GroupStanding.UNKNOWN: "a broker that has the topic did not answer, so its queues are missing",
}
"""Standings without a row, and the sentence that says why."""
SHOWN: Final = frozenset(GroupStanding) - LEFT_OUT.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary(Row):
    """One group; ``lag`` in entries, ``version`` the oldest of its members."""

    group: str
    members: int
    version: int | None
    consume_type: str | None
    message_model: str | None
    consume_tps: float
    lag: int


async def summaries(admin: "Admin", nodes: list[ServerNode]) -> AsyncIterator[GroupSummary]:
    """Yield a row for each group."""
    topics = sorted(await admin.topic_list())
    groups = [name.removeprefix(RETRY_PREFIX) for name in topics if name.startswith(RETRY_PREFIX)]
    async for row in bounded_gather(groups, lambda group: _summary(admin, nodes, group)):
        yield row


async def _summary(admin: "Admin", nodes: list[ServerNode], group: str) -> GroupSummary:
    stats = await asyncio.gather(*(admin.consume_stats(node.address, group) for node in nodes))
    connections = await asyncio.gather(*(connection(admin, node, group) for node in nodes))
    body = next((each for each in connections if each is not None), None)
    members = body.connection_set if body is not None else []
    queues = [wrapper for table in stats for wrapper in table.offset_table.values()]
    return GroupSummary(
        group=group,
        members=len(members),
        version=min((each.version for each in members), default=None),
        consume_type=body.consume_type.name if body and body.consume_type else None,
        message_model=body.message_model.name if body and body.message_model else None,
        consume_tps=sum(each.consume_tps for each in stats),
        lag=sum(wrapper.broker_offset - wrapper.consumer_offset for wrapper in queues),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLag(Row):
    """One queue; offsets, lag and ``inflight`` in entries.

    ``lag`` is the end minus the offset, as in RocketMQ: it is negative if a group is ahead of the
    end, and ``standing`` says what that means. Queues that can no longer be read have rows while
    they contain unread messages.

    ``inflight`` counts messages that members have pulled but not committed, if a broker of
    RocketMQ 5 reports it, and on our brokers those popped but not acknowledged. 5.4.0 does not
    count the latter, because it commits popped messages.
    """

    group: str
    topic: str
    broker: str | None = None
    queue_id: int
    broker_offset: int
    consumer_offset: int
    lag: int
    inflight: int | None = None
    client_id: str | None = None
    last_consumed_ms: EpochMs = 0
    consume_tps: float | None = None
    standing: str = GroupStanding.BEHIND


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLagTotal(Row):
    """One group over all of its queues.

    Attributes:
        lag: how many waiting messages will be read.
        wrong: standings other than behind or at the end; empty if there are none.
    """

    group: str
    members: int
    topics: int
    queues: int
    lag: int
    consume_tps: float
    wrong: str


@dataclass(frozen=True, slots=True)
class LagQuery:
    """Which lag to show; None for all."""

    group: str | None
    topic: str | None
    _: KW_ONLY
    with_clients: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedLag(QueueLag):
    """One queue over the last minute.

    Attributes:
        rate: entries read a second; ``lag_rate`` how much the lag grows a second.
        drain_s: seconds until nothing is left; None if the lag does not shrink.
        lags: the lag at each tick, oldest first.
    """

    rate: float | None
    lag_rate: float | None
    drain_s: float | None
    lags: Course


TOTAL_COLUMNS = ("group", "members", "topics", "queues", "lag", "consume_tps", "wrong")
WATCHED_COLUMNS = (
    *("group", "topic", "broker", "queue_id", "lag", "rate", "lag_rate", "drain_s", "sparkline"),
    "client_id",
)


@dataclass(slots=True)
class Trends:
    """The trend of every queue and of every group, kept from tick to tick."""

    queues: dict[tuple[str, str, str | None, int], Trend] = field(default_factory=dict)
    groups: dict[str, Trend] = field(default_factory=dict)

    def add_tick(self, rows: list[QueueLag], *, now_ms: int) -> list[WatchedLag]:
        """Add the rows of a tick to the trends, and return them with their trends."""
        made = []
        for row in rows:
            spot = (row.group, row.topic, row.broker, row.queue_id)
            trend = self.queues.setdefault(spot, Trend())
            trend.add(now_ms, lag=row.lag, consumer_offset=row.consumer_offset)
            made.append(
                WatchedLag.of(
                    row,
                    rate=trend.rate,
                    lag_rate=trend.lag_rate,
                    drain_s=trend.drain_s,
                    lags=trend.lags,
                )
            )
        for group in {row.group for row in rows}:
            own = [row for row in rows if row.group == group]
            self.groups.setdefault(group, Trend()).add(
                now_ms,
                lag=sum(row.lag for row in own),
                consumer_offset=sum(row.consumer_offset for row in own),
            )
        return made

    def summary(self, groups: list[str]) -> tuple[str, ...]:
        """Return a line for each group: lag, rates, and when nothing will be left."""
        return tuple(_line(group, self.groups[group]) for group in groups)


def _line(group: str, trend: Trend) -> str:
    text = f"{group}: lag {trend.lags[-1]}"
    if trend.rate is not None and trend.lag_rate is not None:
        text += f", reads {trend.rate:g}/s, lag {trend.lag_rate:+g}/s"
        drained = trend.drain_s
        if drained is None:
            return f"{text}, not draining"
        text += f", drained in {drained:g} s" if drained else ", drained"
    return text


@command(
    "group lag",
    examples=(
        ("mqadmin group lag billing", "every queue of billing"),
        ("mqadmin group lag billing orders -o json", "one topic, for a program"),
        (
            "mqadmin group lag",
            "one row for each group; the worst last if they do not fit the screen",
        ),
        ("mqadmin group lag --queues --sort -lag", "all queues of all groups, the slowest first"),
        ("mqadmin group lag --all -o json", "one row for each group, for a program"),
        ("mqadmin group lag billing --watch", "with rate, time to drain and a sparkline"),
        ("mqadmin group lag --store DIR", "from the offsets that a stopped broker has written"),
    ),
    details="Without a group, the table has one row for each group. Other formats list the "
    "queues of all groups unless --all is given.",
    rows=QueueLag,
    summary_rows=GroupLagTotal,
    columns=(
        "group",
        "topic",
        "broker",
        "queue_id",
        "broker_offset",
        "consumer_offset",
        "lag",
        "standing",
        "client_id",
        "last_consumed_time",
    ),
    needs=Needs.EITHER,
)
@group_argument(required=False)
@topic_argument(required=False, help="only this topic")
@of_cluster(help="only on the masters of this cluster")
@click.option(
    "--no-clients", is_flag=True, help="do not ask which member reads each queue (fewer requests)"
)
@click.option("--all", "all_", is_flag=True, help="one row for each group instead of each queue")
@click.option("--queues", is_flag=True, help="the queues of all groups, even in a table")
async def group_lag(
    call: Call,
    *,
    group: str | None,
    topic: str | None,
    cluster: str | None,
    no_clients: bool,
    all_: bool,
    queues: bool,
) -> Outcome:
    """Return one row for each queue, or for each group, and the total of one group as a note.

    Raises:
        ItemNotFound: no broker knows the group.
        Usage: both kinds of rows are asked for.
    """
    if all_ and queues:
        raise Usage(
            "--all excludes --queues", hint="choose one row for each group, or one for each queue"
        )
    if call.is_offline:
        from mqadmin.store_access.stored_rows import refuse_cluster

        refuse_cluster(cluster)
        return Outcome(_stored(call, group, topic))
    admin = await call.admin()
    nodes = await masters(admin, Where(cluster=cluster), every=True)
    if group is None and call.settings.compat:
        # Java's tool prints a line for each group, not for each queue.
        return Outcome(summaries(admin, nodes))
    answers = Answers(call)
    asked = MemberSurvey(admin, call.now_ms)
    reader = GroupReader(admin, nodes, answers=answers, members=asked)
    query = LagQuery(group, topic, with_clients=not no_clients)
    if group is not None:
        groups = [group]
    else:
        groups = [name for name in await reader.groups() if not is_system(name)]
    is_listed = group is None and not queues and is_table(call)
    if (all_ or is_listed) and not call.is_watched:
        summary = bounded_gather(groups, lambda name: _total(reader, name, topic))
        return await _summarized(call, summary, answers)
    totals: list[str] = []
    positions = _in_order(call, reader, groups, query, totals=totals)
    if not call.is_watched:
        return Outcome(
            positions,
            exit_code=lambda: answers.exit_code() or asked.exit_code(),
            picture=lambda: tuple(totals),
        )
    rows = [row async for row in positions]
    trends = call.memory.of(Trends)
    watched = trends.add_tick(rows, now_ms=call.now_ms())
    seen = sorted({row.group for row in rows})
    return Outcome(watched, columns=WATCHED_COLUMNS, picture=trends.summary(seen))


async def _summarized(
    call: Call, summary: AsyncIterator[GroupLagTotal], answers: Answers
) -> Outcome:
    """Return one row for each group, the worst first, or last on a screen that is too short."""
    made = Outcome(summary, exit_code=answers.exit_code, columns=TOTAL_COLUMNS)
    if not is_table(call) or not call.console.out_is_tty or call.settings.sort:
        return made
    rows = sorted([row async for row in summary], key=lambda row: (-row.lag, row.group))
    behind = [row for row in rows if row.lag]
    text = f"{len(rows)} groups, {len(behind)} of them behind, by {sum(row.lag for row in behind)}"
    return replace(
        made, rows=worst_last(rows), picture=(f"{text}; `group lag GROUP` shows the queues",)
    )


def _stored(call: Call, group: str | None, topic: str | None) -> list[QueueLag]:
    from mqadmin.store_access.stored_rows import stored_positions

    return [
        QueueLag.of(
            position,
            broker_offset=position.max_offset,
            consumer_offset=position.queue_offset,
            standing=QueuePosition(
                group=position.group,
                topic=position.topic,
                broker="",
                queue_id=position.queue_id,
                consumer_offset=position.queue_offset,
                end_offset=position.max_offset,
            ).standing,
        )
        for position in stored_positions(call, group)
        if topic in (None, position.topic)
    ]


async def _in_order(
    call: Call, reader: GroupReader, groups: list[str], query: LagQuery, *, totals: list[str]
) -> AsyncIterator[QueueLag]:
    """Yield the rows group by group, while the next groups are being asked about.

    Warnings about what the rows lack follow them; for a single group, ``totals`` gets one line.
    """
    warnings: list[str] = []
    is_known = False

    async def of_group(group: str) -> tuple[list[QueuePosition], list[QueueLag]]:
        positions = await reader.positions(group, query.topic)
        owners: dict[MessageQueue, str] = {}
        if query.with_clients and positions:
            owners = await _owners(reader, group, warnings)
        rows = [_row(reader, position, owners) for position in positions]
        return positions, [row for row in rows if row.standing in SHOWN]

    last: list[QueuePosition] = []
    async for positions, rows in bounded_gather(groups, of_group):
        is_known, last = is_known or bool(positions), positions
        warnings += left_out(positions)
        for row in rows:
            yield row
    answers = reader.answers
    if not is_known and query.group is not None and not answers.exit_code():
        await find_group(reader.admin, query.group)
        if query.topic is not None:
            raise ItemNotFound(
                f"group {query.group} has no offset in topic {query.topic}",
                hint=f"`offset show {query.group}` shows its offsets",
            )
    for text in (*warnings, *reader.members.notes("its subscriptions are unknown")):
        call.warn(f"note: {text}")
    if is_known and query.group is not None:
        totals.append(_total_line(reader, query.group, StandingTotal.of(last)))


def _total_line(reader: GroupReader, group: str, total: StandingTotal) -> str:
    noun = "queue" if total.queue_count == 1 else "queues"
    tps = _tps_of(reader, group)
    return f"{group}: lag {total.text} over {total.queue_count} {noun}, {tps:g} messages/s"


async def _total(reader: GroupReader, group: str, topic: str | None) -> GroupLagTotal:
    """Return the row of one group."""
    positions = await reader.positions(group, topic)
    listed = await reader.answers.each(
        reader.nodes, lambda node: reader.admin.consumer_ids(node.address, group)
    )
    total = StandingTotal.of(positions)
    return GroupLagTotal(
        group=group,
        members=len({member for _, members in listed for member in members}),
        topics=len({position.topic for position in positions}),
        queues=total.queue_count,
        lag=total.waiting_count,
        consume_tps=_tps_of(reader, group),
        wrong="" if total.is_sure else total.text.partition("; ")[2],
    )


def _tps_of(reader: GroupReader, group: str) -> float:
    return round(sum(tps for (_, name), tps in reader.consume_tps.items() if name == group), 4)


async def _owners(reader: GroupReader, group: str, warnings: list[str]) -> dict[MessageQueue, str]:
    """Return who reads which queue, and add disagreements of members to the warnings."""
    listed = await reader.answers.each(
        reader.nodes, lambda node: reader.admin.consumer_ids(node.address, group)
    )
    address_of = {member: node.address for node, members in listed for member in members}
    infos = infos_of(await reader.members.survey(group, address_of))
    if text := disagreement(infos):
        warnings.append(f"group {group}: {text}")
    return owners_of(infos)


def left_out(positions: Sequence[QueuePosition]) -> list[str]:
    """Return what the rows of a group do not show, one sentence for each reason."""
    texts = []
    for standing, reason in LEFT_OUT.items():
        topics = sorted({position.topic for position in positions if position.standing is standing})
        if topics:
            group = positions[0].group
            texts.append(f"group {group}, topic {first_of_names(topics)}: {reason}")
    return texts


def _row(
    reader: GroupReader, position: QueuePosition, owners: Mapping[MessageQueue, str]
) -> QueueLag:
    queue = MessageQueue(position.topic, position.broker, position.queue_id)
    tps = reader.consume_tps.get((position.broker, position.group))
    return QueueLag.of(
        position,
        broker_offset=position.end_offset or 0,
        consumer_offset=position.consumer_offset or 0,
        client_id=owners.get(queue),
        consume_tps=None if tps is None else round(tps, 4),
        standing=position.standing,
    )
