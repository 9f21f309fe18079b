"""Restore the offsets of a group whose members are online: send them to a time, then check.

    saved offsets -> the store time of the earliest message that was unread -> members -> rows

A broker can only send members to a time, in all queues of a topic. The time is the latest one that
skips no unread message, so some messages may be read again; the rows say how many.

Rule: the members are sent back even if the broker already has the old offsets, because after a
reset they commit the new ones seconds later.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mqadmin.changes.offset_change import OffsetChange, OffsetMove, keep_offsets, known_offsets
from mqadmin.changes.online_move import (
    LATEST_MS,
    NOT_MOVED,
    SendTo,
    check_members_follow,
    send_members,
)
from mqadmin.changes.targets.offset import OffsetTarget
from mqadmin.cluster.brokers import ServerNode
from mqadmin.errors import ServerRefused
from mqadmin.messages.broker_reader import message_at
from mqadmin.output.rows import CHANGED, REFUSED, WOULD_CHANGE
from mqadmin.session.call import Call
from mqadmin.session.journal import JournalEntry
from mqclient.consumer.pull_consumer import PullConsumer
from remoting.bodies import MessageQueue
from storefmt.names import TOOLS_GROUP

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


class SavedOffset(NamedTuple):
    """An offset as it was, and where it was."""

    target: OffsetTarget
    queue_offset: int


@dataclass(frozen=True, slots=True)
class OffsetUndone:
    """How one offset of an online group was restored."""

    target: OffsetTarget
    result: str
    remark: str | None


async def online_groups(
    admin: "Admin", saved: Sequence[SavedOffset]
) -> dict[tuple[str, str], list[SavedOffset]]:
    """Return the offsets of groups that have members online, by group and topic."""
    by_group: dict[tuple[str, str], list[SavedOffset]] = {}
    for one in saved:
        group, topic, _ = one.target.names
        by_group.setdefault((group, topic), []).append(one)
    online = {}
    for (group, topic), those in by_group.items():
        nodes = _nodes(those)
        members = await asyncio.gather(*(admin.consumer_ids(node.address, group) for node in nodes))
        if any(members):
            online[group, topic] = those
    return online


async def undo_online(
    call: Call,
    group: str,
    topic: str,
    saved: Sequence[SavedOffset],
    *,
    undoes: JournalEntry,
    within_ms: int,
    settle_ms: int,
) -> list[OffsetUndone]:
    """Send the members of a group back and return the result for each queue.

    Args:
        undoes: the entry that has these offsets.
        within_ms: how long to wait for the moves.
        settle_ms: how long observations may still stem from before the request.

    Raises:
        ServerRefused: the members ignore the request.
    """
    admin = await call.admin()
    nodes = _nodes(saved)
    await check_members_follow(admin, group, nodes)
    stored = await known_offsets(admin, group, topic, {node.broker: node.address for node in nodes})
    moves = await asyncio.gather(*(_move(admin, offset, stored) for offset in saved))
    time_ms = await _time_before(call, moves)
    reached = await _reached(admin, moves, time_ms)
    if call.dry_run:
        return [
            OffsetUndone(offset.target, WOULD_CHANGE, _again(move, reached[move.queue]))
            for offset, move in zip(saved, moves, strict=True)
        ]
    title = f"undo {undoes.id}: {undoes.command}"
    keep_offsets(call, admin, group, moves, title=title, undoes=undoes.id)
    rows = await send_members(
        call,
        admin,
        SendTo(group, topic, time_ms),
        moves,
        nodes=nodes,
        within_ms=within_ms,
        settle_ms=settle_ms,
    )
    by_queue = {(row.broker, row.queue_id): row for row in rows}
    return [
        _undone(
            offset,
            move,
            by_queue.get((move.queue.broker_name, move.queue.queue_id)),
            reached=reached[move.queue],
        )
        for offset, move in zip(saved, moves, strict=True)
    ]


def _undone(
    saved: SavedOffset, move: OffsetMove, row: OffsetChange | None, *, reached: int
) -> OffsetUndone:
    """Return the result for one queue, from what was observed."""
    if row is None:
        remark = "the broker did not move the members in this queue"
        return OffsetUndone(saved.target, REFUSED, remark)
    if row.how == NOT_MOVED:
        return OffsetUndone(saved.target, REFUSED, row.remark)
    return OffsetUndone(saved.target, CHANGED, _again(move, reached))


def _again(move: OffsetMove, reached: int) -> str | None:
    count = move.new - reached
    if count <= 0:
        return None
    return f"{count} messages before it are read again: a broker can only send members to a time"


def _nodes(saved: Sequence[SavedOffset]) -> list[ServerNode]:
    return sorted({offset.target.node for offset in saved})


async def _move(
    admin: "Admin", offset: SavedOffset, stored: Mapping[str, Mapping[int, int]]
) -> OffsetMove:
    queue = offset.target.queue
    low, high = await asyncio.gather(admin.min_offset(queue), admin.max_offset(queue))
    old = stored[queue.broker_name].get(queue.queue_id)
    new = min(max(offset.queue_offset, low), high)
    return OffsetMove(queue, offset.target.node.address, old, new, low, high)


async def _time_before(call: Call, moves: Sequence[OffsetMove]) -> int:
    """Return the latest time to which the members can be sent so that they miss nothing."""
    unread = [move for move in moves if move.new < move.high]
    if not unread:
        return LATEST_MS
    if all(move.new <= move.low for move in moves):
        return 0
    consumer = PullConsumer(await call.client(), TOOLS_GROUP)
    messages = await asyncio.gather(
        *(message_at(consumer, move.queue, move.new) for move in unread)
    )
    times = [message.store_ms for message in messages if message is not None]
    if not times:
        raise ServerRefused(
            "the messages at the old offsets cannot be read, so the time to send the members to "
            "is unknown",
            hint="stop the members, then run `undo` again",
        )
    return min(times)


async def _reached(
    admin: "Admin", moves: Sequence[OffsetMove], time_ms: int
) -> dict[MessageQueue, int]:
    """Return the offset of a time in each queue, as the brokers will find it."""
    if time_ms == LATEST_MS:
        return {move.queue: move.high for move in moves}
    offsets = await asyncio.gather(*(admin.search_offset(move.queue, time_ms) for move in moves))
    return {
        move.queue: min(max(offset, move.low), move.high)
        for move, offset in zip(moves, offsets, strict=True)
    }
