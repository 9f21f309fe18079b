"""``rebalance watch``: the assignments of a group as they change, and queues that never rest.

    every --interval s:  as ``rebalance show``  -->  assignment_changes  -->  one row a change

Requests: as ``rebalance show``.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import click

from mqadmin.cli.declare import command
from mqadmin.cli.decorators import group_argument, read_topic_argument
from mqadmin.cli.times import DURATION
from mqadmin.cli.types import SECONDS
from mqadmin.cluster.assignment import current, topics_of
from mqadmin.cluster.assignment_changes import Change, Changes, What
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqclient.errors import TimedOut, Unreachable

FLAPS: Final = 1
"""Exit code where a queue flapped."""
COLUMNS: Final = ("at_time", "what", "broker", "queue_id", "client_id", "was")


@dataclass(frozen=True, slots=True)
class ChangeRow(Row):
    """One change; ``broker`` and ``queue_id`` are None for a member that came or went."""

    at_ms: EpochMs
    what: What
    group: str
    topic: str
    broker: str | None
    queue_id: int | None
    client_id: str | None
    was: str | None


@dataclass(slots=True)
class Ending:
    """What was seen until the end."""

    flapping: set[str] = field(default_factory=set)

    def exit_code(self) -> int:
        """Return 1 where a queue flapped."""
        return FLAPS if self.flapping else 0


@command(
    "rebalance watch",
    examples=(
        ("mqadmin rebalance watch billing orders", "until Ctrl-C"),
        ("mqadmin rebalance watch billing", "in every topic that billing reads"),
        ("mqadmin rebalance watch billing orders --for 2m -o jsonl", "exit code 1 where it flaps"),
    ),
    details="""\
The first rows say how it is. A queue is flapping where its reader changed three times within a
minute: members that come and go, or that do not agree on who is there.""",
    rows=ChangeRow,
    columns=COLUMNS,
)
@group_argument()
@read_topic_argument
@click.option("--interval", type=SECONDS, default=2.0, help="between two looks")
@click.option("--for", "for_", type=DURATION, help="end after this long")
async def watch_rebalance(
    call: Call, *, group: str, topic: str | None, interval: float, for_: int | None
) -> Outcome:
    """Return rows that go on until ``--for`` or Ctrl-C.

    Raises:
        NoRoute: there is no such topic.
        NotFound: no broker knows the group, or no topic is named and it has read nothing.
    """
    admin = await call.admin()
    topics = await topics_of(admin, group, topic)
    for name in topics:
        await current(admin, group, name)
    ending = Ending()
    changes = _changes(call, ending, group, topics, interval_s=interval, for_ms=for_)
    columns = COLUMNS if topic else ("at_time", "what", "topic", *COLUMNS[2:])
    return Outcome(changes, follow=True, columns=columns, exit_code=ending.exit_code)


async def _changes(
    call: Call,
    ending: Ending,
    group: str,
    topics: list[str],
    *,
    interval_s: float,
    for_ms: int | None,
) -> AsyncIterator[Row]:
    admin = await call.admin()
    looks = {topic: Changes() for topic in topics}
    started_ms = call.now_ms()
    while True:
        for topic, changes in looks.items():
            try:
                now = await current(admin, group, topic, known=False)
            except (TimedOut, Unreachable) as error:
                call.warn(f"{error}; trying again")
                continue
            for change in changes.look(call.now_ms(), now.members, owners=now.owners):
                if change.what is What.FLAPPING:
                    ending.flapping.add(str(change.queue))
                yield _row(change, group, topic)
        if for_ms is not None and call.now_ms() - started_ms + interval_s * 1000 > for_ms:
            return
        await asyncio.sleep(interval_s)


def _row(change: Change, group: str, topic: str) -> ChangeRow:
    queue = change.queue
    return ChangeRow(
        at_ms=change.at_ms,
        what=change.what,
        group=group,
        topic=topic,
        broker=queue.broker_name if queue else None,
        queue_id=queue.queue_id if queue else None,
        client_id=change.client_id,
        was=change.was,
    )
