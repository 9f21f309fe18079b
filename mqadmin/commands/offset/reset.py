"""``offset reset``: move a group to another place in a topic.

    nobody online   read old, work out new, UPDATE_CONSUMER_OFFSET, read back
    members online  INVOKE_BROKER_TO_RESET_OFFSET: the broker tells every member

A member that is online would overwrite an offset stored behind its back with its own
within seconds; so it has to be told, and the request for that takes a time only.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_CONSUMER_LIST_BY_GROUP, GET_ALL_CONSUMER_OFFSET,
GET_MIN_OFFSET, GET_MAX_OFFSET, SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET to read
back, and the two above.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import Refused
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue
from mqadmin.positions import Mark, Position, parse_position, parse_timestamp
from mqadmin.registry import Java, JavaOption, command
from mqadmin.rows import Outcome, Row
from mqclient import routes
from remoting.bodies import MessageQueue
from storefmt.paths import check_group_name

if TYPE_CHECKING:
    from mqclient.admin import Admin

LATEST_MS: Final = -1
"""The timestamp that brokers take for "behind the last message"."""
NOTE_ONLINE: Final = "members are online: they were told, and go on from there within about 10 s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which group, which topic, and where to."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    to: Annotated[
        Position,
        option(
            "earliest, latest, a TIME, +N, -N or N",
            metavar="WHERE",
            kind=Kind.TIME,
            parse=parse_position,
        ),
    ]
    queue: Annotated[
        tuple[str, ...],
        option("only this queue", metavar="ID|BROKER:ID", kind=Kind.QUEUE),
    ] = ()


@dataclass(frozen=True, slots=True)
class OffsetChange(Row):
    """One queue: where the group was and is, in entries; ``how`` it got there."""

    group: str
    topic: str
    broker: str
    queue_id: int
    old_offset: int | None
    new_offset: int
    changed: bool
    how: str
    min_offset: int
    max_offset: int


@dataclass(frozen=True, slots=True)
class Move:
    """What is known and wanted of one queue."""

    queue: MessageQueue
    address: str
    old: int | None
    new: int
    low: int
    high: int


CPLUS = "clients in C++ are told in the same way"


@command(
    "offset reset",
    "move a group to another place in a topic",
    examples=(
        ("mqadmin offset reset billing orders --to -1h --dry-run", "what would move"),
        ("mqadmin offset reset billing orders --to latest -y", "skip what is waiting"),
        ("mqadmin offset reset billing orders --to -5 --queue broker-a:0", "5 back, one queue"),
    ),
    details="While members are online only earliest, latest and a time can be asked for.",
    rows=OffsetChange,
    columns=("topic", "broker", "queue_id", "old_offset", "new_offset", "changed", "how"),
    writes=True,
    java=(
        Java(
            "resetOffsetByTime",
            (
                JavaOption("g", "group", "group", required=True),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("s", "timestamp", "to", required=True, parse=parse_timestamp),
                JavaOption("f", "force"),
                JavaOption("c", "cplus", has_arg=False, why_not=CPLUS),
            ),
        ),
        Java(
            "skipAccumulatedMessage",
            (
                JavaOption("g", "group", "group", required=True),
                JavaOption("t", "topic", "topic", required=True),
                JavaOption("f", "force"),
            ),
            preset=(("to", "latest"),),
        ),
    ),
)
async def reset_offset(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue, with the offsets before and after.

    Raises:
        NoRoute: there is no such topic.
        NotFound: there is no such queue.
        Refused: members are online and the place is no time.
    """
    check_group_name(args.group)
    admin = await call.admin()
    route = await admin.topic_route(args.topic)
    masters = routes.masters(route)
    queues = routes.subscribe_queues(args.topic, route)
    if args.queue:
        queues = [choose_queue(queues, text, None) for text in args.queue]
    members = await asyncio.gather(
        *(admin.consumer_ids(address, args.group) for address in masters.values())
    )
    online = any(members)
    if online and (args.queue or not args.to.is_time_like):
        raise Refused(
            f"group {args.group} has members online, whom a broker can only send to a time, "
            "in all queues",
            hint="stop them, or use --to earliest, latest or a time",
        )
    tables = await asyncio.gather(
        *(admin.all_consumer_offsets(address) for address in masters.values())
    )
    # Asked for one queue, a broker says 0 for a group it has never seen; the table does not.
    known = {
        name: table.get((args.topic, args.group), {})
        for name, table in zip(masters, tables, strict=True)
    }
    moves = await asyncio.gather(
        *(
            _move(call, admin, args, queue, masters[queue.broker_name], known[queue.broker_name])
            for queue in queues
        )
    )
    if call.dry_run:
        return Outcome([_row(args, move, move.new, "would change") for move in moves])
    await call.confirm(
        f"move group {args.group} in topic {args.topic} to {args.to.text} ({len(moves)} queues)?"
    )
    if online:
        rows = await _tell_members(call, admin, args, list(masters.values()), list(moves))
        return Outcome(rows, notes=(NOTE_ONLINE,))
    return Outcome([await _store(admin, args, move) for move in moves])


async def _move(
    call: Call,
    admin: "Admin",
    args: Arguments,
    queue: MessageQueue,
    address: str,
    known: dict[int, int],
) -> Move:
    """Work out where a queue's offset goes."""
    low, high = await asyncio.gather(admin.min_offset(queue), admin.max_offset(queue))
    old = known.get(queue.queue_id)
    now_ms = call.now_ms()
    if args.to.mark is Mark.TIME and args.to.when.ms(now_ms) < now_ms:
        found = await admin.search_offset(queue, args.to.when.ms(now_ms))
        new = min(max(found, low), high)
    else:
        new = args.to.within(low=low, high=high, current=old)
    return Move(queue, address, old, new, low, high)


async def _store(admin: "Admin", args: Arguments, move: Move) -> OffsetChange:
    """Store an offset and read it back."""
    if move.old == move.new:
        return _row(args, move, move.new, "unchanged")
    await admin.update_consumer_offset(move.address, args.group, move.queue, move.new)
    stored = await admin.query_consumer_offset(move.address, args.group, move.queue)
    if stored != move.new:
        raise Refused(
            f"{move.address} has offset {stored} in {move.queue} after {move.new} was stored",
            hint="is a member coming online? try again",
        )
    return _row(args, move, stored, "stored")


async def _tell_members(
    call: Call, admin: "Admin", args: Arguments, addresses: list[str], moves: list[Move]
) -> list[OffsetChange]:
    """Have each broker tell the members; its answer has the offsets they were told."""
    now_ms = call.now_ms()
    wanted_ms = {Mark.EARLIEST: 0, Mark.LATEST: LATEST_MS}.get(args.to.mark)
    if wanted_ms is None:
        asked_ms = args.to.when.ms(now_ms)
        wanted_ms = LATEST_MS if asked_ms >= now_ms else asked_ms
    # A broker moves only a group that has an offset in every queue; members that have just
    # come online have not committed one yet.
    await asyncio.gather(
        *(
            admin.update_consumer_offset(move.address, args.group, move.queue, move.new)
            for move in moves
            if move.old is None
        )
    )
    told: dict[MessageQueue, int] = {}
    for address in addresses:
        told |= await admin.reset_offset_by_time(address, args.group, args.topic, wanted_ms, True)
    return [
        replace(_row(args, move, told[move.queue], "told"), how="told")
        for move in moves
        if move.queue in told
    ]


def _row(args: Arguments, move: Move, new: int, how: str) -> OffsetChange:
    return OffsetChange(
        group=args.group,
        topic=args.topic,
        broker=move.queue.broker_name,
        queue_id=move.queue.queue_id,
        old_offset=move.old,
        new_offset=new,
        changed=move.old != new,
        how="unchanged" if move.old == new else how,
        min_offset=move.low,
        max_offset=move.high,
    )
