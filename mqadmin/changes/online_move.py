"""Move a group whose members are online: have the broker send them to a time, and look again.

    plan -> who is online, and do they follow? -> INVOKE_BROKER_TO_RESET_OFFSET -> each member
                                                        |
            GET_ALL_CONSUMER_OFFSET until each queue moved, or the time is over -> rows

A broker passes the request on and hears no more of it. Push consumers of Java drop their queues,
wait 10 s, and begin where they were sent. Pull consumers of Java and many clients in other
languages do nothing. So a queue counts as moved once the group's own offset there has moved.

Rule: what was not seen is not reported. A queue that did not move says why, as far as its member
can be asked.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from mqadmin.changes.offset_change import OffsetChange, OffsetMove, row_of
from mqadmin.cluster.brokers import ServerNode
from mqadmin.cluster.groups import connection
from mqadmin.cluster.members import MemberAnswer, MemberOutcome, MemberSurvey, infos_of, owners_of
from mqadmin.errors import ServerRefused
from mqadmin.session.call import Call
from remoting.bodies import ConsumeType, MessageQueue
from remoting.codes import LanguageCode

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin

LATEST_MS: Final = -1
"""The timestamp that brokers take for "behind the last message"."""
WITHIN_MS_DEFAULT: Final = 25_000
"""Java's consumers wait 10 s and then rebalance; those with much to drop take some seconds more."""
STEP_S: Final = 0.2
TOLD, MOVED, NOT_MOVED = "told", "moved", "not moved"
CONSUME_TYPE: Final = "PROP_CONSUME_TYPE"
PULLS: Final = "it pulls by itself, and such a consumer of Java ignores the request"
STOP: Final = "stop it, then run the command again: the offset is then stored at the broker"


@dataclass(frozen=True, slots=True)
class SendTo:
    """Where the members of a group are sent in a topic.

    Attributes:
        time_ms: 0 for the first message, ``LATEST_MS`` for behind the last one.
        force: also move queues forward.
        cpp: the members are C++ clients, which have a form of the request of their own.
    """

    group: str
    topic: str
    time_ms: int
    force: bool = True
    cpp: bool = False


async def check_members_follow(admin: "Admin", group: str, nodes: Collection[ServerNode]) -> None:
    """Check that not all members are of a kind that ignores the request.

    Raises:
        ServerRefused: they are pull consumers of Java.
    """
    found = [await connection(admin, node, group) for node in nodes]
    online = [one for one in found if one is not None and one.connection_set]
    if online and all(
        one.consume_type is ConsumeType.CONSUME_ACTIVELY
        and all(member.language is LanguageCode.JAVA for member in one.connection_set)
        for one in online
    ):
        names = sorted({member.client_id or "" for one in online for member in one.connection_set})
        raise ServerRefused(
            f"the members of group {group} ({', '.join(names[:3])}) pull by themselves, and such "
            "consumers of Java ignore a reset",
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
        within_ms: how long to look whether they moved; 0 does not look, and the rows say "told".
        settle_ms: what is seen before this time is over counts for nothing, since the members may
            still be on their way to where they were sent before.
    """
    # A broker moves only a group that has an offset in every queue; members that have just
    # come online have not committed one yet.
    await asyncio.gather(
        *(
            admin.update_consumer_offset(move.address, to.group, move.queue, move.new)
            for move in moves
            if move.old is None and move.asked is None
        )
    )
    told: dict[MessageQueue, int] = {}
    for node in nodes:
        told |= await admin.reset_offset_by_time(
            node.address, to.group, to.topic, to.time_ms, to.force, cpp=to.cpp
        )
    rows = [
        replace(row_of(to.group, move, TOLD, new=told[move.queue]), how=TOLD)
        for move in moves
        if move.queue in told
    ]
    if not within_ms:
        return rows
    survey = MemberSurvey(admin, call.now_ms)
    listed = [(node, await admin.consumer_ids(node.address, to.group)) for node in nodes]
    at = {who: node.address for node, members in listed for who in members}
    answers, seen = await asyncio.gather(
        survey.ask(to.group, at),
        _watch(call, admin, rows, nodes=nodes, settle_ms=settle_ms, until_ms=settle_ms + within_ms),
    )
    return [_judged(row, seen, answers, within_ms=within_ms) for row in rows]


def has_moved(row: OffsetChange, offset: int) -> bool:
    """Return whether an offset that was seen shows that the member went where it was sent.

    On the way back it is below the old one, however far the member has read since.
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
    """Look until every queue has moved or the time is over; return the offset of each queue.

    That of a queue which moved is the first one that showed it.
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


def _judged(
    row: OffsetChange,
    seen: Mapping[MessageQueue, int],
    answers: Mapping[str, MemberAnswer],
    *,
    within_ms: int,
) -> OffsetChange:
    """Return the row with what was seen of its queue, and of the member that reads it."""
    queue = _queue_of(row)
    owner = owners_of(infos_of(answers)).get(queue)
    now = seen.get(queue)
    if now is not None and has_moved(row, now):
        return replace(
            row,
            how=MOVED if row.old_offset != row.new_offset else "unchanged",
            changed=row.old_offset != row.new_offset,
            client_id=owner,
        )
    return replace(
        row,
        new_offset=row.min_offset if now is None else now,
        changed=False,
        skipped=0,
        replayed=0,
        how=NOT_MOVED,
        client_id=owner,
        remark=_reason(owner, answers, within_ms),
    )


def _reason(owner: str | None, answers: Mapping[str, MemberAnswer], within_ms: int) -> str:
    """Return why a queue did not move, and what to do."""
    if owner is not None:
        return f"{owner} did not move within {within_ms / 1000:g} s; {STOP}"
    silent = [who for who, one in answers.items() if one.is_silent]
    if silent:
        return f"{', '.join(silent[:3])}: {answers[silent[0]].remark}; {STOP}"
    pulling = [who for who, info in infos_of(answers).items() if _pulls(info.properties)]
    if pulling:
        return f"{', '.join(pulling[:3])}: {PULLS}; {STOP}"
    unable = [who for who, one in answers.items() if one.outcome is MemberOutcome.UNABLE]
    if unable:
        return f"{', '.join(unable[:3])} cannot be asked what it reads; {STOP}"
    return "no member says that it reads this queue: `rebalance show` says more"


def _pulls(properties: Mapping[str, str]) -> bool:
    return properties.get(CONSUME_TYPE) == ConsumeType.CONSUME_ACTIVELY.name


def _queue_of(row: OffsetChange) -> MessageQueue:
    return MessageQueue(row.topic, row.broker, row.queue_id)


def member_notes(rows: Sequence[OffsetChange], group: str) -> tuple[str, ...]:
    """Return a sentence for each member: in how many of its queues it moved."""
    if any(row.how == TOLD for row in rows):
        return ("members are online: they were told, and whether they moved was not looked at",)
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
