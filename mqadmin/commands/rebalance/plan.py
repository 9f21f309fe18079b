"""``rebalance plan``: who would read which queue, if.

    members now + --add - --remove     queues now, or --queues N on each broker
                       \\                  /
                        mqclient.consumer.rebalance.allocate (Java's own strategies)

Requests: as ``rebalance show``; nothing is changed.
"""

from typing import Literal, get_args

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, read_topic_argument
from mqadmin.cli.types import CLIENT, Choice, Integer
from mqadmin.cluster import assignment_picture
from mqadmin.cluster.assignment import Assignment, PlannedOwner, current, topics_of
from mqadmin.errors import Usage
from mqadmin.output.printer import terminal_width
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqclient.consumer.rebalance.allocate import plan
from mqclient.consumer.settings import Strategy
from remoting.bodies import MessageQueue

Name = Literal["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"]


@command(
    "rebalance plan",
    examples=(
        ("mqadmin rebalance plan billing orders --add app-3", "if app-3 joined"),
        ("mqadmin rebalance plan billing orders --queues 16", "if there were 16 queues a broker"),
        ("mqadmin rebalance plan billing --remove app-1", "in every topic that billing reads"),
        ("mqadmin rebalance plan new orders --add a,b,c", "for a group that is not there yet"),
    ),
    rows=PlannedOwner,
)
@group_argument()
@read_topic_argument
@click.option("--strategy", "-s", type=Choice(get_args(Name)), help="another strategy")
@click.option(
    "--add", multiple=True, metavar="CLIENT", help="a client id that joins; A,B for several"
)
@click.option(
    "--remove", type=CLIENT, multiple=True, metavar="CLIENT", help="a client id that leaves"
)
@click.option("--queues", type=Integer(min=1), help="so many queues on each broker")
@click.option("--no-picture", is_flag=True, help="the rows alone")
@click.option("--room", multiple=True, help="rooms to read from, for MACHINE_ROOM")
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
    """Return one row a queue, with who reads it now in ``was``.

    Raises:
        NoRoute: there is no such topic.
        NotFound: no topic is named, and no broker knows the group, or it has read nothing.
        Usage: nobody would be in the group, or a client to remove is not in it.
    """
    admin = await call.admin()
    rows: list[PlannedOwner] = []
    lines: list[str] = []
    for name in await topics_of(admin, group, topic):
        now = await current(admin, group, name, known=False)
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
                now.owners.get(queue),
                now.owners.get(queue) != owner.get(queue),
            )
            for queue in resized
        ]
        lines += ["", *([] if topic else [f"topic {name}"])]
        lines += _picture(now, resized, members, owner, text=text)
    nested = ("client_id",) if topic else ("topic", "client_id")
    return Outcome(rows, tree=nested, picture=() if no_picture else tuple(lines))


def _picture(
    now: Assignment,
    queues: list[MessageQueue],
    members: list[str],
    owner: dict[MessageQueue, str],
    *,
    text: str,
) -> list[str]:
    """Return who reads what, above who would."""
    width = terminal_width()
    lines = []
    if now.members:
        lines += assignment_picture.picture(
            f"now ({now.strategy_text})",
            now.queues,
            members=now.members,
            owners=now.owners,
            width=width,
        )
        lines.append("")
    lines += assignment_picture.picture(
        f"then ({text})",
        queues,
        members=sorted(members),
        owners=owner,
        before=now.owners,
        width=width,
    )
    return lines


def _members(now: Assignment, add: tuple[str, ...], remove: tuple[str, ...]) -> list[str]:
    joining = [name for text in add for name in text.split(",") if name]
    leaving = {name for text in remove for name in text.split(",") if name}
    strangers = leaving - set(now.members)
    if strangers:
        known = ", ".join(now.members) or "nobody"
        raise Usage(f"{', '.join(sorted(strangers))} is not in the group", hint=f"in it: {known}")
    members = sorted({*now.members, *joining} - leaving)
    if not members:
        raise Usage("nobody would be in the group", hint="name a member with --add")
    return members


def _resized(queues: list[MessageQueue], count: int) -> list[MessageQueue]:
    brokers = sorted({(queue.topic, queue.broker_name) for queue in queues})
    return [
        MessageQueue(topic, broker, queue_id)
        for topic, broker in brokers
        for queue_id in range(count)
    ]
