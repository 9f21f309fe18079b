"""Move a group to another place in topics: what ``offset reset`` and ``offset skip`` share.

    no member online    read old, compute new, UPDATE_CONSUMER_OFFSET, read back
    members online      INVOKE_BROKER_TO_RESET_OFFSET: the broker asks every member to move;
                        ``mqadmin.changes.online_move`` then checks whether they did

A member that is online would overwrite a stored offset with its own within seconds, so it has to
be asked to move. To a broker of 4.9 that request can only name a time; one of 5.x, where
``useServerSideResetOffset`` is true, also sends one queue to one offset.

Requests: GET_ROUTEINFO_BY_TOPIC, GET_CONSUMER_LIST_BY_GROUP, GET_BROKER_CONFIG where members are
online and no time is named, GET_ALL_CONSUMER_OFFSET, GET_MIN_OFFSET, GET_MAX_OFFSET,
SEARCH_OFFSET_BY_TIMESTAMP, QUERY_CONSUMER_OFFSET to read back, and the two above.
"""

import asyncio
from collections.abc import Iterable
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
from mqadmin.changes.online_move import (
    LATEST_MS,
    WITHIN_MS_DEFAULT,
    SendTo,
    check_members_follow,
    exit_code_of_moves,
    member_notes,
    send_members,
)
from mqadmin.cli.declare import Call, Outcome
from mqadmin.cli.positions import Position, PositionKind
from mqadmin.cli.times import DURATION
from mqadmin.cluster.brokers import ServerNode, choose_queue, masters_of_route
from mqadmin.cluster.partial_answers import Answers, ask_each
from mqadmin.errors import ItemNotFound, ServerRefused, Usage
from mqadmin.messages.broker_reader import message_at
from mqadmin.output.rows import WOULD_CHANGE
from mqadmin.output.times import When, instant_text
from mqclient.client import routes
from mqclient.consumer.pull_consumer import PullConsumer
from remoting.bodies import MessageQueue, TopicRouteData
from storefmt.names import TOOLS_GROUP
from storefmt.paths import check_group_name

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


UNDO_ONLINE: Final = "sends the members back; messages read again or skipped until then stay so"


NATIVE_NAMES: Final = ("", "offset reset", "offset skip")


within_option = click.option(
    "--within",
    type=DURATION,
    default=WITHIN_MS_DEFAULT,
    help="how long to wait for online members to move; 0 does not wait",
)
"""``--within`` of the commands that move a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Which group to move, in which topics, and where."""

    group: str
    topic: tuple[str, ...]
    to: Position
    queue: tuple[str, ...] = ()
    broker: str | None = None
    cluster: str | None = None
    cpp: bool = False
    only_back: bool = False
    within: int = WITHIN_MS_DEFAULT


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """The plan for one topic.

    Attributes:
        nodes: the masters that are asked, each with a part of the topic.
        is_online: whether a member of the group is connected to one of them.
        is_exact: whether members are sent to the offset of each move, not to a time.
    """

    topic: str
    nodes: list[ServerNode]
    moves: list[OffsetMove]
    is_online: bool
    is_exact: bool


async def move_group(call: Call, reset: Reset, *, title: str) -> Outcome:
    """Move a group, as ``offset reset`` and ``offset skip`` do: all topics, or nothing."""
    check_group_name(reset.group)
    if call.spelled not in NATIVE_NAMES and reset.to.mark is PositionKind.ENTRY and not reset.queue:
        # Java's tool passes over the offset, and resets every queue to the time.
        raise Usage("--offset is the offset of one queue", hint="name it with -b and -q")
    reset, instant = _at_instant(call, reset)
    admin = await call.admin()
    answers = Answers(call)
    plans = [
        await _plan(call, admin, reset, topic, answers) for topic in dict.fromkeys(reset.topic)
    ]
    moves = [move for plan in plans for move in plan.moves]
    if call.settings.compat and any(move.old is None for move in moves):
        # Java's tool does not move a group that lacks an offset in some queue.
        raise ItemNotFound(
            f"group {reset.group} has no offset in every queue of {', '.join(reset.topic)}",
            hint=f"`offset reset {reset.group} TOPIC --to …` moves it anyway",
        )
    if call.dry_run:
        rows = await _preview(call, reset, moves)
        columns = (*OFFSET_COLUMNS, "first_msg_id")
        return Outcome(rows, exit_code=answers.exit_code, columns=columns)
    place = reset.to.text + (f", which is {instant}," if instant else "")
    topics = ("topic " if len(plans) == 1 else "topics ") + ", ".join(plan.topic for plan in plans)
    await call.confirm(f"move group {reset.group} in {topics} to {place} ({len(moves)} queues)?")
    is_online = any(plan.is_online for plan in plans)
    keep_offsets(
        call,
        admin,
        reset.group,
        moves,
        title=title,
        promise=UNDO_ONLINE if is_online else "restores the old state",
    )
    if not is_online:
        return Outcome([await store_offset(admin, reset.group, move) for move in moves])
    # A member waits 10 s before it moves, so the topics are watched at the same time.
    parts = await asyncio.gather(*(_send_online(call, admin, reset, plan) for plan in plans))
    sent = [row for part in parts for row in part]
    return Outcome(
        sent,
        exit_code=exit_code_of_moves(sent),
        notes=member_notes(sent, reset.group),
        columns=(*OFFSET_COLUMNS, "client_id"),
    )


async def _plan(
    call: Call, admin: "Admin", reset: Reset, topic: str, answers: Answers
) -> TopicPlan:
    """Return the plan for one topic.

    Raises:
        ServerRefused: members are online, and cannot be sent there.
        NoRoute, ItemNotFound: the topic or queue does not exist.
    """
    route = await admin.topic_route(topic)
    if routes.logical_queues(topic, route):
        raise ServerRefused(
            f"topic {topic} is static, and offsets in logical queues are not moved from here",
            hint="`topic static show` shows its queues; a consumer of mqclient or Java can seek",
        )
    nodes, queues = _chosen_queues(reset, topic, route)
    members_by_node = await ask_each(
        nodes,
        lambda node: admin.consumer_ids(node.address, reset.group),
        answers=answers if call.dry_run else None,
    )
    masters = {node.broker: node.address for node, _ in members_by_node}
    if call.dry_run:
        queues = [queue for queue in queues if queue.broker_name in masters]
    is_online = any(ids for _, ids in members_by_node)
    is_exact = is_online and bool(reset.queue or not reset.to.is_time_like)
    if is_exact and not await _reset_by_queue(admin, masters.values()):
        raise ServerRefused(
            f"group {reset.group} has members online, which a broker of 4.9 can only move to a "
            "time, in all queues",
            hint="stop them, or pass --to earliest, latest or a time",
        )
    if is_online and not is_exact:
        await check_members_follow(admin, reset.group, [node for node, _ in members_by_node])
    stored = await known_offsets(admin, reset.group, topic, masters)
    moves = await asyncio.gather(
        *(
            _move(
                call,
                admin,
                reset,
                queue,
                masters[queue.broker_name],
                stored[queue.broker_name],
            )
            for queue in queues
        )
    )
    return TopicPlan(topic, nodes, list(moves), is_online, is_exact)


async def _reset_by_queue(admin: "Admin", addresses: Iterable[str]) -> bool:
    """Return whether these brokers send one queue to one offset, as those of 5.x do."""
    configs = await asyncio.gather(*(admin.broker_config(address) for address in addresses))
    return all(config.get("useServerSideResetOffset") == "true" for config in configs)


def _chosen_queues(
    reset: Reset, topic: str, route: TopicRouteData
) -> tuple[list[ServerNode], list[MessageQueue]]:
    """Return the masters and the queues that a line names.

    Raises:
        ItemNotFound: the topic does not have the queue, or has none there.
    """
    nodes = masters_of_route(route)
    queues = routes.subscribe_queues(topic, route)
    if reset.cluster is not None:
        names = {data.broker_name for data in route.broker_datas if data.cluster == reset.cluster}
        nodes = [node for node in nodes if node.broker in names]
        queues = [queue for queue in queues if queue.broker_name in names]
        if not queues:
            raise ItemNotFound(
                f"topic {topic} has no queue in cluster {reset.cluster}",
                hint=f"`topic route {topic}` shows where it is",
            )
    if reset.broker is not None:
        nodes = [node for node in nodes if reset.broker in (node.broker, node.address)]
        queues = [queue for queue in queues if queue.broker_name in {node.broker for node in nodes}]
        if not queues:
            raise ItemNotFound(
                f"topic {topic} has no queue on broker {reset.broker}",
                hint=f"`topic route {topic}` shows where it is",
            )
    if reset.queue:
        queues = [choose_queue(queues, text, None) for text in reset.queue]
    return nodes, queues


async def _send_online(
    call: Call, admin: "Admin", reset: Reset, plan: TopicPlan
) -> list[OffsetChange]:
    """Send the members of a group to the new position, and check whether they moved."""
    if not plan.is_online:
        return [await store_offset(admin, reset.group, move) for move in plan.moves]
    return await send_members(
        call,
        admin,
        SendTo(reset.group, plan.topic, 0, is_exact=True)
        if plan.is_exact
        else _send_to(call, reset, plan.topic),
        plan.moves,
        nodes=plan.nodes,
        # Java's tool ends as soon as the request is sent, and so do its command names here.
        within_ms=reset.within if call.spelled in NATIVE_NAMES else 0,
    )


def _at_instant(call: Call, reset: Reset) -> tuple[Reset, str]:
    """Return the request with its time fixed to the present moment, and that time in full.

    Raises:
        Usage: the time is in the future, and the command is not one of RocketMQ's own tool, which
            takes it for the end.
    """
    if reset.to.mark is not PositionKind.TIME:
        return reset, ""
    now_ms = call.now_ms()
    at_ms = reset.to.when.ms(now_ms)
    instant = instant_text(at_ms, now_ms=now_ms)
    if at_ms > now_ms and call.spelled in NATIVE_NAMES:
        raise Usage(
            f"{reset.to.text} is {instant}, which is in the future",
            hint="`--to latest` skips all messages; if another day is meant, add the date",
        )
    if at_ms >= now_ms:
        return replace(reset, to=replace(reset.to, mark=PositionKind.LATEST)), instant
    call.warn(f"note: {reset.to.text} is {instant}")
    return replace(reset, to=replace(reset.to, when=When(str(at_ms)))), instant


async def _preview(call: Call, reset: Reset, moves: list[OffsetMove]) -> list[OffsetChange]:
    """Return what would move, with the first message that would be read in each queue."""
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    firsts = await asyncio.gather(*(message_at(consumer, move.queue, move.new) for move in moves))
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
    stored: dict[int, int],
) -> OffsetMove:
    """Compute the new offset of a queue."""
    low, high = await asyncio.gather(admin.min_offset(queue), admin.max_offset(queue))
    old = stored.get(queue.queue_id)
    if reset.to.mark is PositionKind.TIME:
        found_offset = await admin.search_offset(queue, reset.to.when.ms(call.now_ms()))
        new = min(max(found_offset, low), high)
    else:
        new = reset.to.within(low=low, high=high, current=old)
    # Without an offset, a group would begin at the first existing message, or later.
    reached = low if old is None else old
    if reset.only_back and new > reached:
        return OffsetMove(queue, address, old, reached, low, high, asked=new)
    return OffsetMove(queue, address, old, new, low, high)


def _send_to(call: Call, reset: Reset, topic: str) -> SendTo:
    """Return the time to send the members to, because brokers only accept times."""
    wanted_ms = {PositionKind.EARLIEST: 0, PositionKind.LATEST: LATEST_MS}.get(reset.to.mark)
    if wanted_ms is None:
        wanted_ms = reset.to.when.ms(call.now_ms())
    return SendTo(reset.group, topic, wanted_ms, force=not reset.only_back, cpp=reset.cpp)
