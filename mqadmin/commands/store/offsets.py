"""``store offsets``: show the offsets of consumer groups in a store directory."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import of_topic
from mqadmin.cli.types import GROUP
from mqadmin.cluster.groups import GroupOffset
from mqadmin.store_access.stored_rows import stored_positions


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRow(GroupOffset):
    """Where a group stands: ``offset`` is the next entry it reads, ``lag`` in messages.

    ``consumer_offset`` equals ``offset``, so that `offset import` accepts these rows.
    """

    offset: int
    max_offset: int
    lag: int


@command(
    "store offsets",
    details="A negative lag means that the offset was set beyond the end of its queue.",
    examples=(("mqadmin store offsets DIR --group billing", "each queue of one group"),),
    rows=OffsetRow,
    columns=("group", "topic", "queue_id", "offset", "max_offset", "lag"),
    needs=Needs.STORE,
)
@click.option("--group", "-g", type=GROUP, help="only offsets of this group")
@of_topic()
def list_offsets(call: Call, *, group: str | None, topic: str | None) -> Outcome:
    """Return one row for each group and queue; light queues are queue 0 of their topic.

    Raises:
        ItemNotFound: the store has no offsets of the group.
    """
    return Outcome(
        [
            OffsetRow.of(
                position,
                broker=None,
                consumer_offset=position.queue_offset,
                offset=position.queue_offset,
            )
            for position in stored_positions(call, group)
            if topic in (None, position.topic)
        ]
    )
