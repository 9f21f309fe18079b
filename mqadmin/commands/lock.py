"""``lock list``: list which client holds which queue of an orderly group, and who waits.

Requests on each master: GET_LOCK_TABLE of our own broker; a Java broker has none, so its
consumers are asked with GET_CONSUMER_RUNNING_INFO, and the rows say what they believe.
Who waits: as ``rebalance show``, for each group that holds a lock or is named.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from mqadmin.cli.declare import Call, EpochMs, Outcome, Row, command
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.cluster.assignment import GroupAssignment, find_assignment
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.groups import find_group
from mqclient.errors import NoRoute

if TYPE_CHECKING:
    from mqclient.admin.admin import Admin


@dataclass(frozen=True, slots=True)
class LockRow(Row):
    """One queue that is held or waited for.

    Attributes:
        client_id: who holds it; None for nobody.
        locked_ms: when it was locked or renewed last; ``left_ms`` is until it expires.
        waiting: members that are to read the queue and do not hold it.
        exact: False where a client said it, not the broker.
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
        ("mqadmin lock list --watch 1", "counting down"),
    ),
    details="Only consumers that listen in order lock queues; a lock ends 60 s after its renewal. "
    "Waiting members are shown for groups that hold a lock and for groups that are named.",
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
@click.option("--group", "-g", type=GROUP, multiple=True, help="only of this group")
@click.option("--topic", type=TOPIC, help="only in this topic")
@click.option("--no-waiting", is_flag=True, help="do not ask who waits (fewer requests)")
async def list_locks(
    call: Call, *, group: tuple[str, ...], topic: str | None, no_waiting: bool
) -> Outcome:
    """Return one row for each queue that is held or waited for, sorted by group and queue.

    Raises:
        ItemNotFound: no broker knows a group that is named.
    """
    admin = await call.admin()
    rows: list[LockRow] = []
    notes: list[str] = []
    exact = True
    for node in await masters(admin, every=True):
        view = await admin.locks(node.address, group)
        if not view.exact and not group:
            groups = await _groups(admin, node.address)
            view = await admin.locks(node.address, groups)
        exact = exact and view.exact
        if not view.exact:
            notes.append(
                f"{node.broker} has no lock table to read: the rows say what its consumers believe"
            )
        notes += [f"no answer from {text}" for text in view.unanswered]
        now_ms = call.now_ms()
        rows += [
            LockRow.of(
                lock,
                topic=lock.queue.topic,
                broker=lock.queue.broker_name,
                queue_id=lock.queue.queue_id,
                left_ms=lock.expires_ms - now_ms,
                waiting=(),
                exact=view.exact,
            )
            for lock in view.locks
            if topic in (None, lock.queue.topic)
        ]
    if not no_waiting:
        named = {(one, topic) for one in group} if topic is not None else set()
        rows = await _with_waiting(admin, rows, named, exact=exact)
    if not call.is_watched:
        # A watched list may start before the group exists.
        for one in set(group) - {row.group for row in rows}:
            await find_group(admin, one)
    rows.sort(key=lambda row: (row.group, row.topic, row.broker, row.queue_id))
    return Outcome(rows, notes=tuple(dict.fromkeys(notes)))


async def _with_waiting(
    admin: "Admin", rows: list[LockRow], named: set[tuple[str, str]], *, exact: bool
) -> list[LockRow]:
    """Return the rows with who waits, and rows for queues that are waited for alone."""
    made = rows
    for group, topic in sorted(named | {(row.group, row.topic) for row in rows}):
        try:
            now = await find_assignment(admin, group, topic, known=False)
        except NoRoute:
            # A lock may outlive its topic; then nobody waits for it.
            continue
        made = with_assignment(made, group, now=now, exact=exact)
    return made


def with_assignment(
    rows: list[LockRow], group: str, *, now: GroupAssignment, exact: bool
) -> list[LockRow]:
    """Return the rows with what one assignment of a group says."""
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
