"""``rebalance plan``: who would read which queue, if.

    members now + --add - --remove     queues now, or --queues N on each broker
                       \\                  /
                        mqclient.consumer.allocate (Java's own strategies)

Requests: as ``rebalance show``; nothing is changed.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin import assignmentpicture
from mqadmin.assignment import Assignment, PlannedOwner, current
from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.output.table import terminal_width
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome
from mqclient.consumer.allocate import Strategy, plan
from remoting.bodies import MessageQueue

Name = Literal["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The group, the topic, and what if."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    strategy: Annotated[Name | None, option("another strategy", short="s")] = None
    add: Annotated[
        tuple[str, ...], option("a client id that joins; A,B for several", metavar="CLIENT")
    ] = ()
    remove: Annotated[
        tuple[str, ...], option("a client id that leaves", metavar="CLIENT", kind=Kind.CLIENT)
    ] = ()
    queues: Annotated[int | None, option("so many queues on each broker")] = None
    no_picture: Annotated[bool, option("the rows alone")] = False
    room: Annotated[tuple[str, ...], option("rooms to read from, for MACHINE_ROOM")] = ()


@command(
    "rebalance plan",
    "show who would read which queue, with other members, queues or strategy",
    examples=(
        ("mqadmin rebalance plan billing orders --add app-3", "if app-3 joined"),
        ("mqadmin rebalance plan billing orders --queues 16", "if there were 16 queues a broker"),
        ("mqadmin rebalance plan new orders --add a,b,c", "for a group that is not there yet"),
    ),
    rows=PlannedOwner,
    java=(
        Java(
            "allocateMQ",
            (
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("i", "ipList", "add", required=True),
            ),
            preset=(("group", "ALLOCATE_MQ"),),
        ),
    ),
)
async def plan_rebalance(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue, with who reads it now in ``was``.

    Raises:
        NoRoute: there is no such topic.
        Usage: nobody would be in the group, or a client to remove is not in it.
    """
    now = await current(await call.admin(), args.group, args.topic, known=False)
    members = _members(now, args)
    queues = now.queues if args.queues is None else _resized(now.queues, args.queues)
    strategy = now.strategy if args.strategy is None else _strategy(args.strategy)
    given = plan(strategy, args.group, queues=queues, client_ids=members, rooms=args.room)
    owner = {queue: client_id for client_id, part in given.items() for queue in part}
    text = str(strategy) if args.strategy else now.strategy_text
    return Outcome(
        [
            PlannedOwner(
                args.group,
                args.topic,
                queue.broker_name,
                queue.queue_id,
                owner.get(queue),
                text,
                now.owners.get(queue),
                now.owners.get(queue) != owner.get(queue),
            )
            for queue in queues
        ],
        picture=() if args.no_picture else _picture(now, queues, members, owner, text=text),
    )


def _picture(
    now: Assignment,
    queues: list[MessageQueue],
    members: list[str],
    owner: dict[MessageQueue, str],
    *,
    text: str,
) -> tuple[str, ...]:
    """Return who reads what, above who would."""
    width = terminal_width()
    lines = [""]
    if now.members:
        lines += assignmentpicture.picture(
            f"now ({now.strategy_text})",
            now.queues,
            members=now.members,
            owners=now.owners,
            width=width,
        )
        lines.append("")
    lines += assignmentpicture.picture(
        f"then ({text})",
        queues,
        members=sorted(members),
        owners=owner,
        before=now.owners,
        width=width,
    )
    return tuple(lines)


def _members(now: Assignment, args: Arguments) -> list[str]:
    joining = [name for text in args.add for name in text.split(",") if name]
    leaving = {name for text in args.remove for name in text.split(",") if name}
    strangers = leaving - set(now.members)
    if strangers:
        known = ", ".join(now.members) or "nobody"
        raise Usage(f"{', '.join(sorted(strangers))} is not in the group", hint=f"in it: {known}")
    members = sorted({*now.members, *joining} - leaving)
    if not members:
        raise Usage("nobody would be in the group", hint="name a member with --add")
    return members


def _resized(queues: list[MessageQueue], count: int) -> list[MessageQueue]:
    if count < 1:
        raise Usage(f"--queues {count}: expected 1 or more")
    brokers = sorted({(queue.topic, queue.broker_name) for queue in queues})
    return [
        MessageQueue(topic, broker, queue_id)
        for topic, broker in brokers
        for queue_id in range(count)
    ]


def _strategy(name: str) -> Strategy:
    return Strategy[name]
