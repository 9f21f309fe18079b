"""Move a group's offset in one queue: store it, read it back, and make the row.

    reset, skip     the target is computed from a position
    clone, import   the target comes from another group, or a file

Rule: an offset is stored only while no member is online, because a member would overwrite it with
its own within seconds; the stored value is read back, and any other value is an error.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mqadmin.changes.targets.offset import OffsetTarget
from mqadmin.cluster.brokers import MASTER, ServerNode
from mqadmin.errors import ItemNotFound, ServerRefused
from mqadmin.output.rows import REFUSED, EpochMs, Row
from mqadmin.session.call import Call
from mqclient.client import routes
from remoting.bodies import MessageQueue

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin
    from mqclient.message import MessageExt


OFFSET_COLUMNS: Final = (
    *("topic", "broker", "queue_id", "old_offset", "new_offset", "skipped", "replayed", "how"),
)
"""The columns of the table."""


@dataclass(frozen=True, slots=True)
class OffsetChange(Row):
    """One queue: where the group was and is, in entries; ``how`` it got there.

    ``skipped`` counts messages that it will not read, ``replayed`` those that it reads again.
    ``first_…`` is the message that it reads first; set with ``--dry-run``. ``asked_offset`` is the
    requested offset: with ``--only-back`` a queue may stay where it was. ``client_id`` is the
    member that was moved, and ``remark`` says why it did not move.
    """

    group: str
    topic: str
    broker: str
    queue_id: int
    old_offset: int | None
    new_offset: int
    changed: bool
    how: str
    skipped: int
    replayed: int
    min_offset: int
    max_offset: int
    first_msg_id: str | None
    first_keys: tuple[str, ...]
    first_ms: EpochMs
    asked_offset: int
    client_id: str | None = None
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class OffsetMove:
    """The present and the requested offset of one queue, in entries.

    Attributes:
        asked: the requested offset, if the queue stays where it is.
        outside: the requested offset, if it is outside the queue and ``new`` is the nearest end.
    """

    queue: MessageQueue
    address: str
    old: int | None
    new: int
    low: int
    high: int
    asked: int | None = None
    outside: int | None = None

    @property
    def is_past_end(self) -> bool:
        """Return whether the requested offset is beyond the end of the queue."""
        return self.outside is not None and self.outside > self.high

    @property
    def remark(self) -> str | None:
        """Return a remark on an offset outside the queue; None for one inside."""
        if self.outside is None:
            return None
        side = "past the end" if self.is_past_end else "before the first message"
        return f"{self.outside} is {side} of this queue ({self.low} to {self.high})"


def row_of(
    group: str,
    move: OffsetMove,
    how: str,
    *,
    new: int | None = None,
    first: "MessageExt | None" = None,
) -> OffsetChange:
    """Return the row of a move that ended at ``new``, or at its target."""
    new_offset = move.new if new is None else new
    # A group without an offset would have started at the first message.
    old = move.low if move.old is None else move.old
    changed = move.old != new_offset and move.asked is None
    return OffsetChange(
        group=group,
        topic=move.queue.topic,
        broker=move.queue.broker_name,
        queue_id=move.queue.queue_id,
        old_offset=move.old,
        new_offset=new_offset,
        changed=changed,
        how=how if changed else "unchanged",
        skipped=max(0, new_offset - max(old, move.low)),
        replayed=max(0, min(old, move.high) - new_offset),
        min_offset=move.low,
        max_offset=move.high,
        first_msg_id=first.offset_msg_id if first else None,
        first_keys=tuple(first.keys) if first else (),
        first_ms=first.store_ms if first else 0,
        asked_offset=next(
            offset for offset in (move.outside, move.asked, move.new) if offset is not None
        ),
        remark=move.remark,
    )


def keep_offsets(
    call: Call,
    admin: "Admin",
    group: str,
    moves: Sequence[OffsetMove],
    *,
    title: str,
    undoes: int | None = None,
    promise: str = "restores the old state",
) -> None:
    """Keep the offsets that are about to be overwritten, for ``undo``."""
    saved = [
        OffsetTarget(
            admin,
            ServerNode("", move.queue.broker_name, MASTER, move.address),
            (group, move.queue.topic, str(move.queue.queue_id)),
        ).saved(move.old)
        for move in moves
        if move.old is not None and move.old != move.new
    ]
    if saved:
        call.keep_old_state(title, saved, undoes=undoes, promise=promise)


async def store_offset(admin: "Admin", group: str, move: OffsetMove) -> OffsetChange:
    """Store an offset and read it back.

    Raises:
        ServerRefused: the broker has another offset than the one that was stored.
    """
    if move.old == move.new or move.asked is not None:
        return row_of(group, move, "unchanged")
    await admin.update_consumer_offset(move.address, group, move.queue, move.new)
    stored = await admin.query_consumer_offset(move.address, group, move.queue)
    if stored != move.new:
        raise ServerRefused(
            f"{move.address} has offset {stored} in {move.queue} after {move.new} was stored",
            hint="a member came online: stop it, or use `offset reset` with a time",
        )
    return row_of(group, move, "stored")


async def check_offline(admin: "Admin", group: str, addresses: Iterable[str]) -> None:
    """Check that no member of a group is online.

    Raises:
        ServerRefused: a member is online.
    """
    members = await asyncio.gather(*(admin.consumer_ids(address, group) for address in addresses))
    names = sorted({name for client_ids in members for name in client_ids})
    if names:
        raise ServerRefused(
            f"group {group} has members online ({', '.join(names[:3])}), which would overwrite "
            "the stored offsets",
            hint="stop them first, or use `offset reset` with a time",
        )


async def moves_to(
    admin: "Admin", group: str, topic: str, new_offsets: Mapping[tuple[str, int], int]
) -> tuple[list[OffsetMove], list[str]]:
    """Return the moves of a topic's queues to the wanted offsets, and the queues that do not exist.

    Args:
        new_offsets: (broker, queue id) -> queue offset; one outside the queue's ends is moved to
            the nearest end.

    Raises:
        NoRoute: the topic does not exist.
    """
    route = await admin.topic_route(topic)
    masters = routes.masters(route)
    queues = {
        (queue.broker_name, queue.queue_id): queue
        for queue in routes.subscribe_queues(topic, route)
    }
    stored = await known_offsets(admin, group, topic, masters)
    moves = await asyncio.gather(
        *(
            _move(admin, queues[spot], masters[spot[0]], stored[spot[0]], offset)
            for spot, offset in sorted(new_offsets.items())
            if spot in queues
        )
    )
    missing = [
        f"{topic} {broker}:{number}"
        for broker, number in new_offsets
        if (broker, number) not in queues
    ]
    return list(moves), missing


async def known_offsets(
    admin: "Admin", group: str, topic: str, masters: Mapping[str, str]
) -> dict[str, dict[int, int]]:
    """Return broker -> queue id -> offset of the group, in entries.

    Asked for one queue, a broker answers 0 for an unknown group; its table does not.
    """
    tables = await asyncio.gather(
        *(admin.all_consumer_offsets(address) for address in masters.values())
    )
    return {
        name: table.get((topic, group), {}) for name, table in zip(masters, tables, strict=True)
    }


async def _move(
    admin: "Admin", queue: MessageQueue, address: str, stored: Mapping[int, int], offset: int
) -> OffsetMove:
    low, high = await asyncio.gather(admin.min_offset(queue), admin.max_offset(queue))
    new = min(max(offset, low), high)
    outside = None if new == offset else offset
    return OffsetMove(queue, address, stored.get(queue.queue_id), new, low, high, outside=outside)


def refused_row(group: str, move: OffsetMove) -> OffsetChange:
    """Return the row of a move that is refused because the queue does not reach that far."""
    stays = OffsetMove(move.queue, move.address, move.old, move.old or 0, move.low, move.high)
    return replace(
        row_of(group, stays, REFUSED),
        how=REFUSED,
        changed=False,
        asked_offset=move.new if move.outside is None else move.outside,
        remark=f"{move.remark}; --clamp uses the end of the queue instead",
    )


async def offsets_of(
    admin: "Admin", group: str, addresses: Mapping[str, str], topics: Sequence[str] = ()
) -> dict[str, dict[tuple[str, int], int]]:
    """Return topic -> (broker, queue id) -> queue offset of everything that a group has committed.

    Raises:
        ItemNotFound: it has committed nothing, or nothing in these topics.
    """
    tables = await asyncio.gather(
        *(admin.all_consumer_offsets(address) for address in addresses.values())
    )
    offsets: dict[str, dict[tuple[str, int], int]] = {}
    for broker, table in zip(addresses, tables, strict=True):
        for (topic, name), queues in table.items():
            if name == group and (not topics or topic in topics):
                spots = offsets.setdefault(topic, {})
                spots |= {(broker, number): offset for number, offset in queues.items()}
    if not offsets:
        where = f" in topic {', '.join(topics)}" if topics else ""
        raise ItemNotFound(
            f"group {group} has no offset{where}", hint="`group list` shows the groups"
        )
    return offsets
