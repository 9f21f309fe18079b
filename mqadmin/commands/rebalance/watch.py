"""``rebalance watch``: the assignments of a group as they change, and queues that never rest.

    every --interval s:  as ``rebalance show``  -->  mqadmin.flapping  -->  one row a change

Requests: as ``rebalance show``.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Annotated, Final

from mqadmin.assignment import current
from mqadmin.call import Call
from mqadmin.flapping import Change, Changes, What
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import command
from mqadmin.rows import EpochMs, Outcome, Row
from mqadmin.settings import positive_seconds
from mqadmin.times import parse_duration
from mqclient.errors import TimedOut, Unreachable

FLAPS: Final = 1
"""Exit code where a queue flapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose queues, how often to look, and for how long."""

    group: Annotated[str, argument("the consumer group", kind=Kind.GROUP)]
    topic: Annotated[str, argument("the topic", kind=Kind.TOPIC)]
    interval: Annotated[
        float, option("between two looks", metavar="SECONDS", parse=positive_seconds)
    ] = 2.0
    for_: Annotated[
        int | None, option("end after this long", metavar="TIME", parse=parse_duration)
    ] = None


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
    "show assignments as they change, and queues that change hands again and again",
    examples=(
        ("mqadmin rebalance watch billing orders", "until Ctrl-C"),
        ("mqadmin rebalance watch billing orders --for 2m -o jsonl", "exit code 1 where it flaps"),
    ),
    details="""\\
The first rows say how it is. A queue is flapping where its reader changed three times within a
minute: members that come and go, or that do not agree on who is there.""",
    rows=ChangeRow,
    columns=("at_time", "what", "broker", "queue_id", "client_id", "was"),
)
async def watch_rebalance(call: Call, args: Arguments) -> Outcome:
    """Return rows that go on until ``--for`` or Ctrl-C.

    Raises:
        NoRoute: there is no such topic.
        NotFound: no broker knows the group.
    """
    await current(await call.admin(), args.group, args.topic)
    ending = Ending()
    return Outcome(_changes(call, args, ending), follow=True, exit_code=ending.exit_code)


async def _changes(call: Call, args: Arguments, ending: Ending) -> AsyncIterator[Row]:
    admin = await call.admin()
    changes = Changes()
    started_ms = call.now_ms()
    while True:
        try:
            now = await current(admin, args.group, args.topic, known=False)
        except (TimedOut, Unreachable) as error:
            call.warn(f"{error}; trying again")
        else:
            for change in changes.look(call.now_ms(), now.members, owners=now.owners):
                if change.what is What.FLAPPING:
                    ending.flapping.add(str(change.queue))
                yield _row(change, args)
        if args.for_ is not None and call.now_ms() - started_ms + args.interval * 1000 > args.for_:
            return
        await asyncio.sleep(args.interval)


def _row(change: Change, args: Arguments) -> ChangeRow:
    queue = change.queue
    return ChangeRow(
        at_ms=change.at_ms,
        what=change.what,
        group=args.group,
        topic=args.topic,
        broker=queue.broker_name if queue else None,
        queue_id=queue.queue_id if queue else None,
        client_id=change.client_id,
        was=change.was,
    )
