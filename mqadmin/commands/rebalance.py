"""``rebalance …``: show, plan and watch which member of a group reads which queue.

    plan     members now + --add - --remove     queues now, or --queues N on each broker
                           \\                  /
                            mqclient.consumer.rebalance.allocate (Java's own strategies)

    watch    every --interval s:  as show  -->  assignment_changes  -->  one row for each change

Requests: GET_ROUTEINFO_BY_TOPIC; on each master GET_CONSUMER_LIST_BY_GROUP and
GET_CONSUMER_RUNNING_INFO of each member. ``show`` also asks for GET_ALL_MESSAGE_REQUEST_MODE, which
only brokers of RocketMQ 5 and ours answer. Nothing is changed.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.decorators import group_argument, read_topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import CLIENT, SECONDS, Choice, Integer, split_at_commas
from mqadmin.cluster import assignment_picture
from mqadmin.cluster.assignment import (
    GroupAssignment,
    PlannedOwner,
    QueueOwner,
    find_assignment,
    topics_of,
)
from mqadmin.cluster.assignment_changes import AssignmentChange, AssignmentEvent, AssignmentTracker
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.members import MemberSurvey
from mqadmin.cluster.partial_answers import Answers
from mqadmin.errors import Usage
from mqadmin.output.printer import terminal_width
from mqclient.consumer.consumer_settings import Strategy
from mqclient.consumer.rebalance.allocate import plan
from mqclient.errors import BrokerRefused, TimedOut, Unreachable
from remoting.bodies import MessageQueue, MessageRequestMode
from remoting.codes import ResponseCode

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

ONLY_ASSUMED: Final = "its queues are only computed"


@command(
    "rebalance show",
    examples=(
        ("mqadmin rebalance show billing orders", "the queues of every member"),
        ("mqadmin rebalance show billing", "in every topic that billing reads"),
    ),
    details="``strategy`` ends in (assumed) if the members do not report their strategy, and for "
    "members that do not answer, whose queues are computed (exit code 5). Members that pop share "
    "the queues and have no rows; a line below the table names the topics that a group pops.",
    rows=QueueOwner,
)
@group_argument()
@read_topic_argument
async def show_rebalance(call: Call, *, group: str, topic: str | None) -> Outcome:
    """Return one row for each queue; ``client_id`` is None if no member reads it.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: no broker knows the group, or it has read nothing.
    """
    admin = await call.admin()
    rows: list[QueueOwner] = []
    lines: list[str] = []
    online = False
    answers, asked = Answers(call), MemberSurvey(admin, call.now_ms)
    topics = await topics_of(admin, group, topic, answers=answers)
    for name in topics:
        now = await find_assignment(admin, group, name, asked=asked, answers=answers)
        online = online or bool(now.members)
        rows += [
            QueueOwner(
                group,
                name,
                queue.broker_name,
                queue.queue_id,
                now.owners.get(queue),
                now.strategy_of(queue),
                now.is_assumed(queue),
            )
            for queue in now.queues
        ]
        lines += ["", *([] if topic else [f"topic {name}"]), *_picture_now(now)]
    notes = [] if online else [f"group {group} has no members online"]
    notes += asked.notes(ONLY_ASSUMED)
    notes += await _where_it_pops(admin, group, set(topics), answers=answers)
    exit_code = answers.exit_code() or asked.exit_code()
    return Outcome(rows, exit_code=exit_code, notes=tuple(notes), picture=tuple(lines))


def _picture_now(now: GroupAssignment) -> list[str]:
    silent = (
        f"; {len(now.unheard)} of {len(now.members)} members did not answer" if now.unheard else ""
    )
    return assignment_picture.picture(
        f"now ({now.strategy_text}{silent})",
        now.queues,
        members=now.members,
        owners=now.owners,
        unsure=now.unheard,
        width=terminal_width(),
    )


async def _where_it_pops(
    admin: "Admin", group: str, topics: set[str], *, answers: Answers
) -> list[str]:
    """Return a line for each topic and broker where a group was set to pop."""

    async def ask(node: ServerNode) -> list[str]:
        try:
            modes = await admin.message_request_modes(node.address)
        except BrokerRefused as error:
            if error.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                return []
            raise
        return [
            f"group {group} pops topic {topic} on {node.broker}, where each queue is shared by "
            + (f"{mode.pop_share_queue_num} more members" if mode.pop_share_queue_num else "all")
            for (name, topic), mode in sorted(modes.items())
            if (name, mode.mode) == (group, MessageRequestMode.POP) and topic in topics
        ]

    modes_by_node = await answers.each(await masters(admin, every=True), ask)
    return [line for _, lines in modes_by_node for line in lines]


Name = Literal["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"]


@command(
    "rebalance plan",
    examples=(
        ("mqadmin rebalance plan billing orders --add app-3", "if app-3 joined"),
        ("mqadmin rebalance plan billing orders --queues 16", "if each broker had 16 queues"),
        ("mqadmin rebalance plan billing --remove app-1", "in every topic that billing reads"),
        ("mqadmin rebalance plan new orders --add a,b,c", "for a group that does not exist yet"),
    ),
    rows=PlannedOwner,
)
@group_argument()
@read_topic_argument
@click.option("--strategy", "-s", type=Choice(get_args(Name)), help="use another strategy")
@click.option(
    "--add", multiple=True, metavar="CLIENT", help="a client id that joins; A,B for several"
)
@click.option(
    "--remove", type=CLIENT, multiple=True, metavar="CLIENT", help="a client id that leaves"
)
@click.option("--queues", type=Integer(min=1), help="number of queues on each broker")
@click.option("--no-picture", is_flag=True, help="print only the rows")
@click.option("--room", multiple=True, help="machine rooms to consume from, for MACHINE_ROOM")
async def plan_rebalance(
    call: Call,
    *,
    group: str,
    topic: str | None,
    strategy: Name | None,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    queues: int | None,
    no_picture: bool,
    room: tuple[str, ...],
) -> Outcome:
    """Return one row for each queue, with who reads it now in ``was``.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: no topic is named, and no broker knows the group, or it has read nothing.
        Usage: the group would have no members, or a client to remove is not in it.
    """
    admin = await call.admin()
    rows: list[PlannedOwner] = []
    lines: list[str] = []
    asked = MemberSurvey(admin, call.now_ms)
    for name in await topics_of(admin, group, topic):
        now = await find_assignment(admin, group, name, asked=asked, is_known=False)
        members = _members(now, add, remove)
        resized = now.queues if queues is None else _resized(now.queues, queues)
        chosen = now.strategy if strategy is None else Strategy[strategy]
        given = plan(chosen, group, queues=resized, client_ids=members, rooms=room)
        owner = {queue: client_id for client_id, part in given.items() for queue in part}
        text = str(chosen) if strategy else now.strategy_text
        rows += [
            PlannedOwner(
                group,
                name,
                queue.broker_name,
                queue.queue_id,
                owner.get(queue),
                text,
                was=now.owners.get(queue),
                moves=now.owners.get(queue) != owner.get(queue),
            )
            for queue in resized
        ]
        lines += ["", *([] if topic else [f"topic {name}"])]
        lines += _picture(now, resized, members, owner, text=text)
    nested = ("client_id",) if topic else ("topic", "client_id")
    notes = asked.notes(ONLY_ASSUMED)
    picture = () if no_picture else tuple(lines)
    return Outcome(rows, exit_code=asked.exit_code(), notes=notes, tree=nested, picture=picture)


def _picture(
    now: GroupAssignment,
    queues: list[MessageQueue],
    members: list[str],
    owner: dict[MessageQueue, str],
    *,
    text: str,
) -> list[str]:
    """Return who reads what, above who would."""
    lines = [*_picture_now(now), ""] if now.members else []
    return lines + assignment_picture.picture(
        f"then ({text})",
        queues,
        members=sorted(members),
        owners=owner,
        before=now.owners,
        width=terminal_width(),
    )


def _members(now: GroupAssignment, add: tuple[str, ...], remove: tuple[str, ...]) -> list[str]:
    joining, leaving = split_at_commas(add), {*split_at_commas(remove)}
    strangers = leaving - set(now.members)
    if strangers:
        names = ", ".join(now.members) or "none"
        raise Usage(
            f"{', '.join(sorted(strangers))} is not a member of the group", hint=f"members: {names}"
        )
    members = sorted({*now.members, *joining} - leaving)
    if not members:
        raise Usage("the group would have no members", hint="add a member with --add")
    return members


def _resized(queues: list[MessageQueue], count: int) -> list[MessageQueue]:
    brokers = sorted({(queue.topic, queue.broker_name) for queue in queues})
    return [
        MessageQueue(topic, broker, queue_id)
        for topic, broker in brokers
        for queue_id in range(count)
    ]


FLAPS: Final = 1
"""Exit code where a queue flapped."""
COLUMNS: Final = ("at_time", "what", "broker", "queue_id", "client_id", "was")


@dataclass(frozen=True, slots=True)
class ChangeRow(Row):
    """One change; ``broker`` and ``queue_id`` are None for a member that came or went."""

    at_ms: EpochMs
    what: AssignmentEvent
    group: str
    topic: str
    broker: str | None
    queue_id: int | None
    client_id: str | None
    was: str | None


@command(
    "rebalance watch",
    examples=(
        ("mqadmin rebalance watch billing orders", "until Ctrl-C"),
        ("mqadmin rebalance watch billing", "in every topic that billing reads"),
        (
            "mqadmin rebalance watch billing orders --for 2m -o jsonl",
            "exit code 1 if a queue flaps",
        ),
    ),
    details="The first rows show the present state. A queue is flapping if its reader changed "
    "three times within a minute, because members come and go or disagree about the members.",
    rows=ChangeRow,
    columns=COLUMNS,
)
@group_argument()
@read_topic_argument
@click.option("--interval", type=SECONDS, default=2.0, help="time between two samples")
@click.option("--for", "for_", type=DURATION, help="stop after this time")
async def watch_rebalance(
    call: Call, *, group: str, topic: str | None, interval: float, for_: int | None
) -> Outcome:
    """Return rows that continue until ``--for`` or Ctrl-C.

    Raises:
        NoRoute: the topic does not exist.
        ItemNotFound: no broker knows the group, or no topic is named and it has read nothing.
    """
    admin = await call.admin()
    topics = await topics_of(admin, group, topic)
    for name in topics:
        await find_assignment(admin, group, name, asked=MemberSurvey(admin, call.now_ms))
    flapping: set[MessageQueue | None] = set()
    changes = _changes(call, flapping, group, topics, interval_s=interval, for_ms=for_)
    columns = COLUMNS if topic else ("at_time", "what", "topic", *COLUMNS[2:])
    return Outcome(
        changes, follow=True, columns=columns, exit_code=lambda: FLAPS if flapping else 0
    )


async def _changes(
    call: Call,
    flapping: set[MessageQueue | None],
    group: str,
    topics: list[str],
    *,
    interval_s: float,
    for_ms: int | None,
) -> AsyncIterator[Row]:
    """Yield the changes of all topics, and add the queues that flap to ``flapping``."""
    admin = await call.admin()
    looks = {topic: AssignmentTracker() for topic in topics}
    started_ms = call.now_ms()
    while True:
        for topic, changes in looks.items():
            try:
                asked = MemberSurvey(admin, call.now_ms)
                now = await find_assignment(admin, group, topic, asked=asked, is_known=False)
            except (TimedOut, Unreachable) as error:
                call.warn(f"{error}; retrying")
                continue
            for change in changes.look(call.now_ms(), now.members, owners=now.owners):
                if change.what is AssignmentEvent.FLAPPING:
                    flapping.add(change.queue)
                yield _row(change, group, topic)
        if for_ms is not None and call.now_ms() - started_ms + interval_s * 1000 > for_ms:
            return
        await asyncio.sleep(interval_s)


def _row(change: AssignmentChange, group: str, topic: str) -> ChangeRow:
    queue = change.queue
    return ChangeRow.of(
        change,
        group=group,
        topic=topic,
        broker=queue.broker_name if queue else None,
        queue_id=queue.queue_id if queue else None,
    )
