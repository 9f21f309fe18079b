"""A group moved to a place in a topic: what ``offset reset`` and ``offset skip`` share.

    nobody online   read old, work out new, UPDATE_CONSUMER_OFFSET, read back
    members online  INVOKE_BROKER_TO_RESET_OFFSET: the broker tells every member

A member that is online would overwrite an offset stored behind its back with its own
within seconds; so it has to be told, and the request for that takes a time only.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import NotFound, Refused
from mqadmin.offsetchange import (
    Move,
    OffsetChange,
    keep,
    known_offsets,
    row_of,
    store,
)
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import choose_queue
from mqadmin.positions import Mark, Position, parse_position
from mqadmin.reading import message_at
from mqadmin.rows import WOULD_CHANGE, Outcome
from mqclient.client import routes
from mqclient.consumer.pull_consumer import PullConsumer
from remoting.bodies import MessageQueue
from storefmt.names import TOOLS_GROUP
from storefmt.paths import check_group_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

LATEST_MS: Final = -1
"""The timestamp that brokers take for "behind the last message"."""
NOTE_ONLINE: Final = "members are online: they were told, and go on from there within about 10 s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
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
    broker: Annotated[str | None, option("only there: a name or HOST:PORT", kind=Kind.BROKER)] = (
        None
    )
    cpp: Annotated[bool, option("members are clients in C++: tell them in their form")] = False


async def move_group(call: Call, args: Reset, *, title: str) -> Outcome:
    """Move a group, as ``offset reset`` and ``offset skip`` do."""
    check_group_name(args.group)
    admin = await call.admin()
    route = await admin.topic_route(args.topic)
    masters = routes.masters(route)
    queues = routes.subscribe_queues(args.topic, route)
    if args.broker is not None:
        masters = {
            name: address for name, address in masters.items() if args.broker in (name, address)
        }
        queues = [queue for queue in queues if queue.broker_name in masters]
        if not queues:
            raise NotFound(
                f"topic {args.topic} has no queue on broker {args.broker}",
                hint=f"`topic route {args.topic}` shows where it is",
            )
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
    known = await known_offsets(admin, args.group, args.topic, masters)
    moves = await asyncio.gather(
        *(
            _move(call, admin, args, queue, masters[queue.broker_name], known[queue.broker_name])
            for queue in queues
        )
    )
    if call.dry_run:
        return Outcome(await _preview(call, args, list(moves)))
    await call.confirm(
        f"move group {args.group} in topic {args.topic} to {args.to.text} ({len(moves)} queues)?"
    )
    keep(call, admin, args.group, moves, title=title)
    if online:
        rows = await _tell_members(call, admin, args, list(masters.values()), list(moves))
        return Outcome(rows, notes=(NOTE_ONLINE,))
    return Outcome([await store(admin, args.group, move) for move in moves])


async def _preview(call: Call, args: Reset, moves: list[Move]) -> list[OffsetChange]:
    """Return what would move, with the first message that would be read of each queue."""
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    firsts = await asyncio.gather(*(message_at(consumer, one.queue, one.new) for one in moves))
    return [
        row_of(args.group, move, WOULD_CHANGE, first=first)
        for move, first in zip(moves, firsts, strict=True)
    ]


async def _move(
    call: Call,
    admin: "Admin",
    args: Reset,
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


async def _tell_members(
    call: Call, admin: "Admin", args: Reset, addresses: list[str], moves: list[Move]
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
        told |= await admin.reset_offset_by_time(
            address, args.group, args.topic, wanted_ms, True, cpp=args.cpp
        )
    return [
        replace(row_of(args.group, move, "told", new=told[move.queue]), how="told")
        for move in moves
        if move.queue in told
    ]
