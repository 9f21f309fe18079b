"""``group running``: show the state that the members of a group report.

Requests on each master: GET_CONSUMER_LIST_BY_GROUP, GET_CONSUMER_CONNECTION_LIST; then
GET_CONSUMER_RUNNING_INFO of each member, which the broker passes on to it.
"""

from dataclasses import dataclass, replace
from typing import Final

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command, one
from mqadmin.cli.decorators import broker_option, group_argument
from mqadmin.cli.types import CLIENT
from mqadmin.cluster.groups import find_group
from mqadmin.cluster.members import MemberSurvey
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import ItemNotFound
from mqadmin.output.rows import PARTLY
from remoting.bodies import ConsumerRunningInfo

START_KEY: Final = "PROP_CONSUMER_START_TIMESTAMP"
DIFFERENT: Final = "subscriptions of members differ: some members miss messages they subscribe to"
NOBODY: Final = "the group has no members online"
COLUMNS: Final = (
    *("client_id", "started_time", "queue_count", "cached_count", "cached_mib"),
    *("locked_count", "ok_tps", "failed_tps", "error"),
)
"""The columns of a table; ``locked_count`` only if a queue is locked."""


@dataclass(frozen=True, slots=True)
class MemberQueue(Row):
    """One queue of a member; offsets in entries."""

    topic: str
    broker: str
    queue_id: int
    commit_offset: int
    cached_min_offset: int
    cached_max_offset: int
    cached_count: int
    cached_mib: int
    locked: bool
    last_lock_ms: EpochMs
    dropped: bool
    last_pull_ms: EpochMs
    last_consumed_ms: EpochMs
    transaction_min_offset: int
    transaction_max_offset: int
    transaction_count: int
    try_unlock_times: int


@dataclass(frozen=True, slots=True)
class TopicRate(Row):
    """How fast a member works on a topic: ms a call, messages a second."""

    topic: str
    pull_rt_ms: float
    pull_tps: float
    consume_rt_ms: float
    ok_tps: float
    failed_tps: float
    failed_last_hour: int


@dataclass(frozen=True, slots=True)
class RunningMember(Row):
    """One member; numbers are sums over its queues, ``error`` says why it did not answer."""

    group: str
    client_id: str
    started_ms: EpochMs
    queue_count: int
    cached_count: int
    cached_mib: int
    locked_count: int
    ok_tps: float
    failed_tps: float
    subscriptions: dict[str, str]
    queues: tuple[MemberQueue, ...]
    rates: tuple[TopicRate, ...]
    properties: dict[str, str]
    jstack: str | None
    error: str | None

    def in_table(self) -> dict[str, str]:
        """Omit the stacks, which a table shows below, thread by thread."""
        return {"jstack": "below"} if self.jstack else {}


@command(
    "group running",
    examples=(
        ("mqadmin group running billing", "the queues, caches and speed of each member"),
        (
            "mqadmin group running billing --client 10.0.0.7@4711 --jstack",
            "the threads of one member",
        ),
    ),
    rows=RunningMember,
    columns=COLUMNS,
)
@group_argument()
@click.option("--client", type=CLIENT, help="only this member")
@click.option("--jstack", is_flag=True, help="show the stacks of its threads")
@broker_option(help="ask through this broker: a name or HOST:PORT")
async def group_running(
    call: Call, *, group: str, client: str | None, jstack: bool, broker: str | None
) -> Outcome:
    """Return one row for each member; exit code 5 where one does not answer, 1 where none does.

    Raises:
        ItemNotFound: no broker knows the group, or the member is not online.
    """
    admin = await call.admin()
    address_of: dict[str, str] = {}
    answers, asked = Answers(call), MemberSurvey(admin, call.now_ms)
    for place in await find_group(admin, group, answers=answers):
        if broker in (None, place.node.broker, place.node.address):
            address_of |= dict.fromkeys(place.members, place.node.address)
    if client is not None and client not in address_of:
        hint = "there are " + ", ".join(sorted(address_of)) if address_of else NOBODY
        raise ItemNotFound(f"group {group} has no member {client} online", hint=hint)
    chosen = sorted(address_of) if client is None else [client]
    said = await asked.survey(group, {who: address_of[who] for who in chosen}, jstack=jstack)
    rows = [
        _row(group, who, answer.info or ConsumerRunningInfo(), answer.remark or None)
        for who, answer in said.items()
    ]
    failed = [row for row in rows if row.error is not None]
    exit_code = answers.exit_code()
    if failed:
        exit_code = PARTLY if len(failed) < len(rows) else 1
    without = [row.client_id for row in rows if row.error is None and not row.jstack]
    notes = [] if rows else [f"note: {NOBODY}"]
    if jstack and without:
        notes.append(
            f"note: {', '.join(without)} gave no stacks: this kind of client does not support it"
        )
    picture = tuple(line for row in rows for line in stack_lines(row.client_id, row.jstack))
    if client is not None:
        return replace(one(rows[0], exit_code=exit_code, notes=tuple(notes)), picture=picture)
    if len({tuple(sorted(row.subscriptions.items())) for row in rows if row.error is None}) > 1:
        notes.append(f"note: {DIFFERENT}")
    has_locks = any(row.locked_count for row in rows)
    columns = tuple(name for name in COLUMNS if has_locks or name != "locked_count")
    return Outcome(rows, exit_code=exit_code, notes=tuple(notes), picture=picture, columns=columns)


def stack_lines(client_id: str, jstack: str | None) -> list[str]:
    """Return the stacks of a member's threads for people, by name of thread.

    Java prefixes every frame with the name of its thread, and prints the state on the first line;
    our clients print a paragraph for each thread.
    """
    threads: dict[str, list[str]] = {}
    for part in (jstack or "").replace("\r", "").split("\n\n"):
        lines = [line for line in part.split("\n") if line.strip()]
        if not lines:
            continue
        head = lines[0].partition("TID:")
        name = head[0].strip()
        state = head[2].partition("STATE:")[2].strip()
        frames = [line.removeprefix(name).strip() for line in lines[1:]]
        title = f"{name} ({state})" if state else name
        threads[title] = [f"    {frame}" for frame in frames]
    if not threads:
        return []
    shown = [line for title in sorted(threads) for line in (f"  {title}", *threads[title])]
    return ["", f"threads of {client_id}", *shown]


def _row(group: str, member: str, info: ConsumerRunningInfo, error: str | None) -> RunningMember:
    queues = tuple(
        MemberQueue.of(
            snapshot,
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            cached_min_offset=snapshot.cached_msg_min_offset,
            cached_max_offset=snapshot.cached_msg_max_offset,
            cached_count=snapshot.cached_msg_count,
            cached_mib=snapshot.cached_msg_size_in_mib,
            last_lock_ms=snapshot.last_lock_timestamp,
            dropped=snapshot.droped,
            last_pull_ms=snapshot.last_pull_timestamp,
            last_consumed_ms=snapshot.last_consume_timestamp,
            transaction_min_offset=snapshot.transaction_msg_min_offset,
            transaction_max_offset=snapshot.transaction_msg_max_offset,
            transaction_count=snapshot.transaction_msg_count,
        )
        for queue, snapshot in sorted(info.mq_table.items())
    )
    rates = tuple(
        TopicRate(
            topic,
            round(pace.pull_rt, 4),
            round(pace.pull_tps, 4),
            round(pace.consume_rt, 4),
            round(pace.consume_ok_tps, 4),
            round(pace.consume_failed_tps, 4),
            pace.consume_failed_msgs,
        )
        for topic, pace in sorted(info.status_table.items())
    )
    started = info.properties.get(START_KEY, "")
    return RunningMember(
        group=group,
        client_id=member,
        started_ms=int(started) if started.isdecimal() else 0,
        queue_count=len(queues),
        cached_count=sum(snapshot.cached_count for snapshot in queues),
        cached_mib=sum(snapshot.cached_mib for snapshot in queues),
        locked_count=sum(snapshot.locked for snapshot in queues),
        ok_tps=round(sum(pace.ok_tps for pace in rates), 4),
        failed_tps=round(sum(pace.failed_tps for pace in rates), 4),
        subscriptions={data.topic or "": data.sub_string or "" for data in info.subscription_set},
        queues=queues,
        rates=rates,
        properties=dict(sorted(info.properties.items())),
        jstack=info.jstack,
        error=error,
    )
