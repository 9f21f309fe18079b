"""Move a group whose members are online: ask the broker to send them to a time, then check.

    plan -> members that can be moved? -> INVOKE_BROKER_TO_RESET_OFFSET -> each member
                                                        |
            GET_ALL_CONSUMER_OFFSET until each queue moved, or the time is over -> rows

A broker forwards the request and gets no answer. Java push consumers drop their queues, wait 10 s,
and continue at the new position. Java pull consumers and many clients in other languages do
nothing. So a queue counts as moved once the group's committed offset in it has moved.

A fast member may go back and read everything again between two checks of its offset. Its own times
show that: it has reopened the queue since the request and has consumed since, although nothing was
waiting and nothing new arrived. Such a queue is reported as "read again".

Rule: only observed moves are reported, because a request alone moves nothing. For a queue that did
not move, the row says why, as far as its member can be asked.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from mqadmin.changes.offset_change import OffsetChange, OffsetMove, row_of
from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.groups import connection
from mqadmin.cluster.members import MemberAnswer, MemberOutcome, MemberSurvey, infos_of, owners_of
from mqadmin.errors import ServerRefused
from mqadmin.session.call import Call
from remoting.bodies import ConsumeType, MessageQueue, ProcessQueueInfo
from remoting.codes import LanguageCode

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

LATEST_MS: Final = -1
"""The timestamp that means "behind the last message" to brokers."""
WITHIN_MS_DEFAULT: Final = 25_000
"""Java's consumers wait 10 s and then rebalance; those with much to drop take some seconds more."""
STEP_S: Final = 0.2
TOLD, MOVED, READ_AGAIN, NOT_MOVED = "told", "moved", "read again", "not moved"
CONSUME_TYPE: Final = "PROP_CONSUME_TYPE"
PULLS: Final = "it is a Java pull consumer, which ignores the request"
STOP: Final = "stop it, then run the command again: the offset is then stored at the broker"


@dataclass(frozen=True, slots=True)
class SendTo:
    """The position in a topic that the members of a group are sent to.

    Attributes:
        time_ms: 0 for the first message, ``LATEST_MS`` for behind the last one.
        force: also move queues forward.
        cpp: the members are C++ clients, which have their own form of the request.
        is_exact: each queue goes to the offset of its move instead, which brokers of 5.x can do.
    """

    group: str
    topic: str
    time_ms: int
    force: bool = True
    cpp: bool = False
    is_exact: bool = False


async def check_members_follow(admin: "Admin", group: str, nodes: Collection[ServerNode]) -> None:
    """Check that at least one member is of a kind that obeys the request.

    Raises:
        ServerRefused: all are Java pull consumers.
    """
    connections = [await connection(admin, node, group) for node in nodes]
    online = [body for body in connections if body is not None and body.connection_set]
    if online and all(
        body.consume_type is ConsumeType.CONSUME_ACTIVELY
        and all(member.language is LanguageCode.JAVA for member in body.connection_set)
        for body in online
    ):
        names = sorted(
            {member.client_id or "" for body in online for member in body.connection_set}
        )
        raise ServerRefused(
            f"the members of group {group} ({', '.join(names[:3])}) are Java pull consumers, "
            "which ignore a reset",
            hint="stop them, then run the command again: the offset is then stored at the broker",
        )


async def send_members(
    call: Call,
    admin: "Admin",
    to: SendTo,
    moves: Sequence[OffsetMove],
    *,
    nodes: Sequence[ServerNode],
    within_ms: int,
    settle_ms: int = 0,
) -> list[OffsetChange]:
    """Send the members to a time and return a row for each queue that was considered.

    Args:
        within_ms: how long to wait for the moves; 0 does not wait, and the rows say "told".
        settle_ms: observations before this time is over are ignored, because members may still be
            carrying out an earlier request.
    """
    listed = [(node, await admin.consumer_ids(node.address, to.group)) for node in nodes]
    broker_of = {who: node.address for node, members in listed for who in members}
    before: dict[str, MemberAnswer] = {}
    if within_ms:
        before = await MemberSurvey(admin, call.now_ms).survey(to.group, broker_of)
    # A broker moves only a group that has an offset in every queue; members that have just
    # come online have not committed one yet.
    await asyncio.gather(
        *(
            admin.update_consumer_offset(move.address, to.group, move.queue, move.new)
            for move in moves
            if move.old is None and move.asked is None
        )
    )
    reached_offsets = await _send(admin, to, moves, nodes)
    rows = [
        replace(row_of(to.group, move, TOLD, new=reached_offsets[move.queue]), how=TOLD)
        for move in moves
        if move.queue in reached_offsets
    ]
    if not within_ms:
        return rows
    seen = await _watch(
        call, admin, rows, nodes=nodes, settle_ms=settle_ms, until_ms=settle_ms + within_ms
    )
    after: dict[str, MemberAnswer] = {}
    if any(not _was_seen_to_move(row, seen) for row in rows):
        # Members that did not answer before are not asked again.
        answering = {who: broker_of[who] for who in infos_of(before)}
        after = await MemberSurvey(admin, call.now_ms).survey(to.group, answering)
    look = MoveLook(seen, before, after, within_ms)
    return [_judged(row, look) for row in rows]


async def _send(
    admin: "Admin", to: SendTo, moves: Sequence[OffsetMove], nodes: Sequence[ServerNode]
) -> dict[MessageQueue, int]:
    """Ask the brokers to send the members; return the offset that each queue is to have."""
    new_offsets: dict[MessageQueue, int] = {}
    if to.is_exact:
        for move in moves:
            if move.asked is None:
                await admin.reset_consumer_offset(move.address, to.group, move.queue, move.new)
                new_offsets[move.queue] = move.new
        return new_offsets
    for node in nodes:
        new_offsets |= await admin.reset_offset_by_time(
            node.address, to.group, to.topic, to.time_ms, to.force, cpp=to.cpp
        )
    return new_offsets


@dataclass(frozen=True, slots=True)
class MoveLook:
    """What was observed of a move.

    Attributes:
        seen: the committed offset of each queue: the first that showed the move, otherwise the
            last.
        before: the answers of the members just before the request.
        after: their answers at the end; empty if every queue was seen to move.
        within_ms: how long the offsets were watched.
    """

    seen: Mapping[MessageQueue, int]
    before: Mapping[str, MemberAnswer]
    after: Mapping[str, MemberAnswer]
    within_ms: int


def has_moved(row: OffsetChange, offset: int) -> bool:
    """Return whether an observed offset shows that the member moved.

    When moving back, it is below the old offset, however far the member has read since.
    """
    old = row.min_offset if row.old_offset is None else row.old_offset
    if row.new_offset < old:
        return offset < old
    return offset >= row.new_offset


async def _watch(
    call: Call,
    admin: "Admin",
    rows: Sequence[OffsetChange],
    *,
    nodes: Sequence[ServerNode],
    settle_ms: int,
    until_ms: int,
) -> dict[MessageQueue, int]:
    """Watch until every queue has moved or the time is over; return the offset of each queue.

    For a queue that moved, it is the first offset that showed the move.
    """
    started_ms = call.now_ms()
    await asyncio.sleep(settle_ms / 1000)
    seen: dict[MessageQueue, int] = {}
    left = {_queue_of(row): row for row in rows}
    while True:
        for node in nodes:
            table = await admin.all_consumer_offsets(node.address)
            for queue, row in list(left.items()):
                offset = table.get((row.topic, row.group), {}).get(queue.queue_id)
                if queue.broker_name == node.broker and offset is not None:
                    seen[queue] = offset
                    if has_moved(row, offset):
                        del left[queue]
        if not left or call.now_ms() - started_ms >= until_ms:
            return seen
        await asyncio.sleep(STEP_S)


def _was_seen_to_move(row: OffsetChange, seen: Mapping[MessageQueue, int]) -> bool:
    offset = seen.get(_queue_of(row))
    return offset is not None and has_moved(row, offset)


def _judged(row: OffsetChange, look: MoveLook) -> OffsetChange:
    """Return the row with the observations of its queue, and of the member that reads it."""
    queue = _queue_of(row)
    owner = owners_of(infos_of(look.before)).get(queue)
    changed = row.old_offset != row.new_offset
    if _was_seen_to_move(row, look.seen):
        how = MOVED if changed else "unchanged"
        return replace(row, how=how, changed=changed, client_id=owner)
    now = look.seen.get(queue)
    later = owners_of(infos_of(look.after)).get(queue)
    reopened = reopening_of(
        row,
        row.min_offset if now is None else now,
        before=_process_queue(look.before, owner, queue),
        after=_process_queue(look.after, later, queue),
    )
    if reopened is Reopened.READ_AGAIN:
        remark = f"{later} has read up to {now} again"
        return replace(row, how=READ_AGAIN, changed=True, client_id=later, remark=remark)
    return replace(
        row,
        new_offset=row.min_offset if now is None else now,
        changed=False,
        skipped=0,
        replayed=0,
        how=NOT_MOVED,
        client_id=owner or later,
        remark=_reason(owner or later, reopened, look),
    )


class Reopened(StrEnum):
    """What a member's own times show about a queue that it reopened after the request."""

    NO = "it did not move, or this cannot be determined"
    READ_AGAIN = "it has consumed since, and all messages were old"
    STAYED = "reopened the queue at the old offset; run the command again"
    """A Java client asks for its offset at once, which may overtake the new one that it has just
    stored."""
    UNSEEN = "reopened the queue; new messages arrived, so it is unknown whether it moved back"


def reopening_of(
    row: OffsetChange,
    offset: int,
    *,
    before: ProcessQueueInfo | None,
    after: ProcessQueueInfo | None,
) -> Reopened:
    """Return what two answers of a member show about its queue.

    The three times of a process queue of Java are set when it is made. That of the lock then stays,
    unless the listener is orderly: there it is also set by every renewal, 20 s apart.

    Args:
        row: a queue whose committed offset was not seen to move.
        offset: the committed one at the end.
    """
    if before is None or after is None:
        return Reopened.NO
    if after.last_lock_timestamp <= before.last_lock_timestamp:
        return Reopened.NO
    only_old = row.old_offset == row.max_offset == offset and row.new_offset < offset
    if only_old and after.last_consume_timestamp > after.last_lock_timestamp:
        return Reopened.READ_AGAIN
    if after.locked:
        # The lock was renewed, which says nothing about the queue.
        return Reopened.NO
    return Reopened.STAYED if only_old else Reopened.UNSEEN


def _process_queue(
    answers: Mapping[str, MemberAnswer], owner: str | None, queue: MessageQueue
) -> ProcessQueueInfo | None:
    info = answers[owner].info if owner is not None and owner in answers else None
    return info.mq_table.get(queue) if info is not None else None


def _reason(owner: str | None, reopened: Reopened, look: MoveLook) -> str:
    """Return why a queue did not move, and what to do."""
    answers = {**look.before, **look.after}
    if reopened is not Reopened.NO:
        return f"{owner} {reopened}"
    if owner is not None:
        return f"{owner} did not move within {look.within_ms / 1000:g} s; {STOP}"
    silent = [who for who, answer in answers.items() if answer.is_silent]
    if silent:
        return f"{', '.join(silent[:3])}: {answers[silent[0]].remark}; {STOP}"
    pulling = [who for who, info in infos_of(answers).items() if _pulls(info.properties)]
    if pulling:
        return f"{', '.join(pulling[:3])}: {PULLS}; {STOP}"
    unable = [who for who, answer in answers.items() if answer.outcome is MemberOutcome.UNABLE]
    if unable:
        return f"{', '.join(unable[:3])} cannot report its offsets; {STOP}"
    return "no member reports that it reads this queue; see `rebalance show`"


def _pulls(properties: Mapping[str, str]) -> bool:
    return properties.get(CONSUME_TYPE) == ConsumeType.CONSUME_ACTIVELY.name


def _queue_of(row: OffsetChange) -> MessageQueue:
    return MessageQueue(row.topic, row.broker, row.queue_id)


def member_notes(rows: Sequence[OffsetChange], group: str) -> tuple[str, ...]:
    """Return a sentence for each member: in how many of its queues it moved."""
    if any(row.how == TOLD for row in rows):
        return ("the online members were asked to move; whether they did was not checked",)
    by_member: dict[str, list[OffsetChange]] = {}
    for row in rows:
        by_member.setdefault(row.client_id or "unknown members", []).append(row)
    notes = []
    for who, own in sorted(by_member.items()):
        still = [row for row in own if row.how == NOT_MOVED]
        text = f"{who} of group {group}: {len(own) - len(still)} of {len(own)} queues moved"
        notes.append(f"{text}: {still[0].remark}" if still else text)
    return tuple(notes)


def exit_code_of_moves(rows: Sequence[OffsetChange]) -> int:
    """Return 0 where every queue moved, 5 where some did, 1 where none did."""
    still = sum(row.how == NOT_MOVED for row in rows)
    if not still:
        return 0
    return 1 if still == len(rows) else 5
