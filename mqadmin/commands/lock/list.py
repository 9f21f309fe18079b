"""``lock list``: which client holds which queue of an orderly group.

Requests on each master: GET_LOCK_TABLE of our own broker; a Java broker has none, so its
consumers are asked with GET_CONSUMER_RUNNING_INFO, and the rows say what they believe.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.places import masters
from mqadmin.registry import command
from mqadmin.rows import EpochMs, Outcome, Row

if TYPE_CHECKING:
    from mqclient.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which locks."""

    group: Annotated[tuple[str, ...], option("only of this group", short="g", kind=Kind.GROUP)] = ()
    topic: Annotated[str | None, option("only in this topic", kind=Kind.TOPIC)] = None


@dataclass(frozen=True, slots=True)
class LockRow(Row):
    """One held queue; ``exact`` is False where a client said it, not the broker."""

    group: str
    topic: str
    broker: str
    queue_id: int
    client_id: str
    locked_ms: EpochMs
    expires_ms: EpochMs
    exact: bool


@command(
    "lock list",
    "show which client holds which queue",
    examples=(("mqadmin lock list --group billing", "the queues that billing holds"),),
    details="Only consumers that listen in order lock queues; a lock ends 60 s after its renewal.",
    rows=LockRow,
    columns=(
        "group",
        "topic",
        "broker",
        "queue_id",
        "client_id",
        "locked_time",
        "expires_time",
    ),
)
async def list_locks(call: Call, args: Arguments) -> Outcome:
    """Return one row a held queue, sorted by group and queue."""
    admin = await call.admin()
    rows: list[LockRow] = []
    notes: list[str] = []
    for place in await masters(admin, every=True):
        view = await admin.locks(place.address, args.group)
        if not view.exact and not args.group:
            groups = await _groups(admin, place.address)
            view = await admin.locks(place.address, groups)
        if not view.exact:
            notes.append(
                f"{place.broker} has no lock table to read: the rows say what its consumers believe"
            )
        notes += [f"no answer from {text}" for text in view.unanswered]
        rows += [
            LockRow(
                group=lock.group,
                topic=lock.queue.topic,
                broker=lock.queue.broker_name,
                queue_id=lock.queue.queue_id,
                client_id=lock.client_id,
                locked_ms=lock.locked_ms,
                expires_ms=lock.expires_ms,
                exact=view.exact,
            )
            for lock in view.locks
            if args.topic in (None, lock.queue.topic)
        ]
    rows.sort(key=lambda row: (row.group, row.topic, row.broker, row.queue_id))
    return Outcome(rows, notes=tuple(notes))


async def _groups(admin: "Admin", address: str) -> list[str]:
    return sorted((await admin.subscription_groups(address)).groups)
