"""``lock list``: list which client holds which queue of an orderly group, and who waits.

Requests on each master: GET_LOCK_TABLE of our own broker; a Java broker does not support it,
so its consumers are asked with GET_CONSUMER_RUNNING_INFO, and the rows show what they believe.
Who waits: as ``rebalance show``, for each group that holds a lock or is named.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.cluster.assignment import GroupAssignment, find_assignment
from mqadmin.cluster.bounded_gather import each
from mqadmin.cluster.brokers import ServerNode, masters
from mqadmin.cluster.groups import find_group
from mqadmin.cluster.members import MemberSurvey, infos_of
from mqadmin.cluster.partial_answers import Answers
from mqclient.admin.lock import LockView, QueueLock, locks_of_member
from mqclient.errors import ClientError, NoRoute
from remoting.codes import ResponseCode

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class LockRow(Row):
    """One queue that is held or waited for.

    Attributes:
        client_id: who holds it; None if no client does.
        locked_ms: when it was locked or renewed last; ``left_ms`` is until it expires.
        waiting: members that are to read the queue and do not hold it.
        exact: False if a client reported it instead of the broker.
    """

    group: str
    topic: str
    broker: str
    queue_id: int
    client_id: str | None
    locked_ms: EpochMs
    expires_ms: EpochMs
    left_ms: int | None
    waiting: tuple[str, ...]
    exact: bool


@command(
    "lock list",
    examples=(
        ("mqadmin lock list --group billing", "the queues that billing holds"),
        ("mqadmin lock list --watch 1", "refresh every second"),
    ),
    details="Only orderly consumers lock queues; a lock expires 60 s after its renewal. Waiting "
    "members are shown for groups that hold a lock and for groups that are named.",
    rows=LockRow,
    columns=(
        "group",
        "topic",
        "broker",
        "queue_id",
        "client_id",
        "left_ms",
        "expires_time",
        "waiting",
    ),
)
@click.option("--group", "-g", type=GROUP, multiple=True, help="only locks of this group")
@click.option("--topic", type=TOPIC, help="only in this topic")
@click.option("--no-waiting", is_flag=True, help="do not ask which members wait (fewer requests)")
async def list_locks(
    call: Call, *, group: tuple[str, ...], topic: str | None, no_waiting: bool
) -> Outcome:
    """Return one row for each queue that is held or waited for, sorted by group and queue.

    Raises:
        ItemNotFound: no broker knows a group that is named.
    """
    admin = await call.admin()
    answers, asked = Answers(call), MemberSurvey(admin, call.now_ms)
    nodes = await masters(admin, every=True)
    views = await answers.each(nodes, lambda node: _locks_at(admin, asked, node, group))
    notes = [
        f"{node.broker} does not report its lock table: the rows show what its consumers report"
        for node, view in views
        if not view.exact
    ]
    exact = all(view.exact for _, view in views)
    now_ms = call.now_ms()
    rows = [
        LockRow.of(
            lock,
            topic=lock.queue.topic,
            broker=lock.queue.broker_name,
            queue_id=lock.queue.queue_id,
            left_ms=lock.expires_ms - now_ms,
            waiting=(),
            exact=view.exact,
        )
        for _, view in views
        for lock in view.locks
        if topic in (None, lock.queue.topic)
    ]
    if not no_waiting:
        named = {(group_name, topic) for group_name in group} if topic is not None else set()
        spots = sorted(named | {(row.group, row.topic) for row in rows})
        for name, of in spots:
            try:
                now = await find_assignment(
                    admin, name, of, asked=asked, is_known=False, answers=answers
                )
            except NoRoute:
                # A lock may outlive its topic, and then no member waits for it.
                continue
            rows = with_assignment(rows, name, now=now, exact=exact)
    if not call.is_watched:
        # A watched list may start before the group exists.
        for group_name in set(group) - {row.group for row in rows}:
            await find_group(admin, group_name, answers=answers)
    rows.sort(key=lambda row: (row.group, row.topic, row.broker, row.queue_id))
    notes += asked.notes("its locks are unknown")
    return Outcome(
        rows,
        exit_code=answers.exit_code() or asked.exit_code(),
        notes=tuple(dict.fromkeys(notes)),
    )


async def _locks_at(
    admin: "Admin", asked: MemberSurvey, node: ServerNode, groups: Collection[str]
) -> LockView:
    """Return the locks at a broker, from its table, or otherwise from its members."""
    try:
        table = await admin.lock_table(node.address)
    except ClientError as error:
        if error.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            raise
    else:
        return LockView([lock for lock in table if not groups or lock.group in groups], True, [])
    names = sorted(groups) or await _groups(admin, node.address)
    locks: list[QueueLock] = []
    listed = await each(names, lambda name: admin.consumer_ids(node.address, name))
    answers = await each(
        zip(names, listed, strict=True),
        lambda pair: asked.survey(pair[0], dict.fromkeys(pair[1], node.address)),
    )
    for name, said in zip(names, answers, strict=True):
        for who, info in infos_of(said).items():
            # Each member is asked once, and has locks at every broker.
            locks += [
                lock
                for lock in locks_of_member(name, who, info)
                if lock.queue.broker_name == node.broker
            ]
    return LockView(locks, False, [])


def with_assignment(
    rows: list[LockRow], group: str, *, now: GroupAssignment, exact: bool
) -> list[LockRow]:
    """Return the rows with the assignment of a group filled in."""
    made = {(row.group, row.topic, row.broker, row.queue_id): row for row in rows}
    if not now.orderly and all(row.group != group for row in rows):
        return rows
    for queue in now.queues:
        spot = (group, queue.topic, queue.broker_name, queue.queue_id)
        row = made.get(spot) or LockRow(*spot, None, 0, 0, None, (), exact)
        readers = {now.owners.get(queue), now.given.get(queue)} - {row.client_id}
        waiting = tuple(sorted(who for who in readers if who is not None))
        if spot in made or waiting:
            made[spot] = replace(row, waiting=waiting)
    return list(made.values())


async def _groups(admin: "Admin", address: str) -> list[str]:
    return sorted((await admin.subscription_groups(address)).groups)
