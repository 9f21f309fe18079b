"""``offset reset``, ``offset skip``: move a group to another place, or past what waits.

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
from typing import TYPE_CHECKING, Final

import click

from mqadmin.changes.offset_change import (
    OFFSET_COLUMNS,
    OffsetChange,
    OffsetMove,
    keep_offsets,
    known_offsets,
    row_of,
    store_offset,
)
from mqadmin.cli.declare import Call, Outcome, command
from mqadmin.cli.decorators import group_argument, only_on_broker, option_group, topic_argument
from mqadmin.cli.positions import POSITION, Position, PositionKind, parse_position
from mqadmin.cli.types import QUEUE, Integer
from mqadmin.cluster.brokers import choose_queue, masters_of_route
from mqadmin.cluster.partial_answers import Answers, ask_each
from mqadmin.errors import ItemNotFound, ServerRefused
from mqadmin.messages.broker_reader import message_at
from mqadmin.output.rows import WOULD_CHANGE
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

    group: str
    topic: str
    to: Position
    queue: tuple[str, ...] = ()
    broker: str | None = None
    cpp: bool = False
    only_back: bool = False


async def _move_group(call: Call, reset: Reset, *, title: str) -> Outcome:
    """Move a group, as ``offset reset`` and ``offset skip`` do."""
    check_group_name(reset.group)
    admin = await call.admin()
    route = await admin.topic_route(reset.topic)
    nodes = masters_of_route(route)
    queues = routes.subscribe_queues(reset.topic, route)
    if reset.broker is not None:
        nodes = [node for node in nodes if reset.broker in (node.broker, node.address)]
        queues = [queue for queue in queues if queue.broker_name in {at.broker for at in nodes}]
        if not queues:
            raise ItemNotFound(
                f"topic {reset.topic} has no queue on broker {reset.broker}",
                hint=f"`topic route {reset.topic}` shows where it is",
            )
    if reset.queue:
        queues = [choose_queue(queues, text, None) for text in reset.queue]
    answers = Answers(call)
    told = await ask_each(
        nodes,
        lambda at: admin.consumer_ids(at.address, reset.group),
        answers=answers if call.dry_run else None,
    )
    masters = {node.broker: node.address for node, _ in told}
    if call.dry_run:
        queues = [queue for queue in queues if queue.broker_name in masters]
    online = any(ids for _, ids in told)
    if online and (reset.queue or not reset.to.is_time_like):
        raise ServerRefused(
            f"group {reset.group} has members online, whom a broker can only send to a time, "
            "in all queues",
            hint="stop them, or use --to earliest, latest or a time",
        )
    known = await known_offsets(admin, reset.group, reset.topic, masters)
    moves = await asyncio.gather(
        *(
            _move(call, admin, reset, queue, masters[queue.broker_name], known[queue.broker_name])
            for queue in queues
        )
    )
    if call.dry_run:
        rows = await _preview(call, reset, list(moves))
        columns = (*OFFSET_COLUMNS, "first_msg_id")
        return Outcome(rows, exit_code=answers.exit_code, columns=columns)
    await call.confirm(
        f"move group {reset.group} in topic {reset.topic} to {reset.to.text} ({len(moves)} queues)?"
    )
    keep_offsets(call, admin, reset.group, moves, title=title)
    if online:
        rows = await _tell_members(call, admin, reset, list(masters.values()), list(moves))
        return Outcome(rows, notes=(NOTE_ONLINE,))
    return Outcome([await store_offset(admin, reset.group, move) for move in moves])


async def _preview(call: Call, reset: Reset, moves: list[OffsetMove]) -> list[OffsetChange]:
    """Return what would move, with the first message that would be read of each queue."""
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    firsts = await asyncio.gather(*(message_at(consumer, one.queue, one.new) for one in moves))
    return [
        row_of(reset.group, move, WOULD_CHANGE, first=first)
        for move, first in zip(moves, firsts, strict=True)
    ]


async def _move(
    call: Call,
    admin: "Admin",
    reset: Reset,
    queue: MessageQueue,
    address: str,
    known: dict[int, int],
) -> OffsetMove:
    """Work out where a queue's offset goes."""
    low, high = await asyncio.gather(admin.min_offset(queue), admin.max_offset(queue))
    old = known.get(queue.queue_id)
    now_ms = call.now_ms()
    if reset.to.mark is PositionKind.TIME and reset.to.when.ms(now_ms) < now_ms:
        found = await admin.search_offset(queue, reset.to.when.ms(now_ms))
        new = min(max(found, low), high)
    else:
        new = reset.to.within(low=low, high=high, current=old)
    # Without an offset a group would begin at the first message there is, or further ahead.
    reached = low if old is None else old
    if reset.only_back and new > reached:
        return OffsetMove(queue, address, old, reached, low, high, asked=new)
    return OffsetMove(queue, address, old, new, low, high)


async def _tell_members(
    call: Call, admin: "Admin", reset: Reset, addresses: list[str], moves: list[OffsetMove]
) -> list[OffsetChange]:
    """Have each broker tell the members; its answer has the offsets they were told."""
    now_ms = call.now_ms()
    wanted_ms = {PositionKind.EARLIEST: 0, PositionKind.LATEST: LATEST_MS}.get(reset.to.mark)
    if wanted_ms is None:
        asked_ms = reset.to.when.ms(now_ms)
        wanted_ms = LATEST_MS if asked_ms >= now_ms else asked_ms
    # A broker moves only a group that has an offset in every queue; members that have just
    # come online have not committed one yet.
    await asyncio.gather(
        *(
            admin.update_consumer_offset(move.address, reset.group, move.queue, move.new)
            for move in moves
            if move.old is None and move.asked is None
        )
    )
    told: dict[MessageQueue, int] = {}
    for address in addresses:
        told |= await admin.reset_offset_by_time(
            address, reset.group, reset.topic, wanted_ms, not reset.only_back, cpp=reset.cpp
        )
    return [
        replace(row_of(reset.group, move, "told", new=told[move.queue]), how="told")
        for move in moves
        if move.queue in told
    ]


@command(
    "offset reset",
    examples=(
        ("mqadmin offset reset billing orders --to -1h --dry-run", "what would move"),
        ("mqadmin offset reset billing orders --to latest -y", "skip what is waiting"),
        ("mqadmin offset reset billing orders --to -5 --queue broker-a:0", "5 back, one queue"),
        ("mqadmin offset reset billing orders --to -1h --broker broker-a", "on one broker"),
    ),
    details="While members are online, only earliest, latest or a time can be asked for.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@option_group(
    "reset",
    Reset,
    group_argument(),
    topic_argument(),
    click.option(
        "--to", type=POSITION, required=True, help="earliest, latest, a TIME, +N, -N or N"
    ),
    click.option("--queue", type=QUEUE, multiple=True, help="only this queue"),
    only_on_broker,
    click.option(
        "--cpp", is_flag=True, help="the members are C++ clients: use their form of the request"
    ),
    click.option("--only-back", is_flag=True, help="skip queues whose offset would move forward"),
)
async def reset_offset(call: Call, *, reset: Reset) -> Outcome:
    """Return one row for each queue, with the offsets before and after.

    Raises:
        NoRoute: there is no such topic.
        ItemNotFound: there is no such queue.
        ServerRefused: members are online and the place is no time.
    """
    return await _move_group(call, reset, title=f"offset reset {reset.group} {reset.topic}")


@command(
    "offset skip",
    examples=(
        ("mqadmin offset skip billing orders --dry-run", "what would be passed over"),
        ("mqadmin offset skip billing orders 1 --queue broker-a:0 -y", "one that is in the way"),
    ),
    details="A number works only while no member is online.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@group_argument()
@topic_argument()
@click.argument(
    "count",
    type=Integer(min=1),
    required=False,
    help="messages to skip in each queue; all that wait if left out",
)
@click.option("--queue", type=QUEUE, multiple=True, help="only this queue")
async def skip_messages(
    call: Call, *, group: str, topic: str, count: int | None, queue: tuple[str, ...]
) -> Outcome:
    """Return one row for each queue, with the offsets before and after.

    Raises:
        NoRoute, ItemNotFound, ServerRefused: as ``offset reset``.
    """
    to = parse_position("latest" if count is None else f"+{count}")
    reset = Reset(group=group, topic=topic, to=to, queue=queue)
    return await _move_group(call, reset, title=f"offset skip {group} {topic}")
