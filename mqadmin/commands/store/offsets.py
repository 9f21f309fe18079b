"""``store offsets``: where consumer groups stand, out of a store directory."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import of_topic
from mqadmin.cli.types import GROUP
from mqadmin.cluster.groups import GroupOffset
from mqadmin.errors import NotFound
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRow(GroupOffset):
    """Where a group stands: ``offset`` is the next entry it reads, ``lag`` in messages.

    ``consumer_offset`` is the same as ``offset``: `offset import` takes these rows, too.
    """

    offset: int
    max_offset: int
    lag: int


@command(
    "store offsets",
    details="A negative lag is an offset behind the end of its queue: somebody set it there.",
    examples=(("mqadmin store offsets DIR --group billing", "each queue of one group"),),
    rows=OffsetRow,
    columns=("group", "topic", "queue_id", "offset", "max_offset", "lag"),
    needs=Needs.STORE,
)
@click.option("--group", "-g", type=GROUP, help="of this group")
@of_topic()
def list_offsets(call: Call, *, group: str | None, topic: str | None) -> Outcome:
    """Return one row for each group and queue; light queues are queue 0 of their topic.

    Raises:
        NotFound: the store has no offset of the group.
    """
    with StoreDir.open(call.store_dir) as store:
        of_group = [at for at in store.group_offsets() if group in (None, at.group)]
        if group is not None and not of_group:
            raise NotFound(f"group {group} has no offset in {store.root}")
        rows = [
            OffsetRow.of(at, broker=None, consumer_offset=at.queue_offset, offset=at.queue_offset)
            for at in of_group
            if topic in (None, at.topic)
        ]
        rows.sort(key=lambda row: (row.group, row.topic, row.queue_id))
        return Outcome(rows, notes=tuple(store.state.notes))
