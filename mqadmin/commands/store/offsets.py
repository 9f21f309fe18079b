"""``store offsets``: where consumer groups stand, out of a store directory."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which groups."""

    group: Annotated[str | None, option("of this group", short="g", kind=Kind.GROUP)] = None
    topic: Annotated[str | None, option("of this topic", kind=Kind.TOPIC)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRow(Row):
    """Where a group stands: ``offset`` is the next entry it reads, ``lag`` in messages."""

    group: str
    topic: str
    queue_id: int
    offset: int
    max_offset: int
    lag: int


@command(
    "store offsets",
    "list where consumer groups stand in a store directory",
    details="A negative lag is an offset behind the end of its queue: somebody set it there.",
    examples=(("mqadmin store offsets DIR --group billing", "each queue of one group"),),
    rows=OffsetRow,
    needs=Needs.STORE,
)
def list_offsets(call: Call, args: Arguments) -> Outcome:
    """Return one row for each group and queue; light queues are queue 0 of their topic."""
    with StoreDir.open(call.store_dir) as store:
        rows = [
            OffsetRow(
                group=group.group,
                topic=group.topic,
                queue_id=group.queue_id,
                offset=group.queue_offset,
                max_offset=group.max_offset,
                lag=group.lag,
            )
            for group in store.group_offsets()
            if args.group in (None, group.group) and args.topic in (None, group.topic)
        ]
        return Outcome(rows, notes=tuple(store.state.notes))
