"""``offset export``: write the offsets of groups to a file, as lines of JSON.

Request: GET_ALL_CONSUMER_OFFSET on each master.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command, one
from mqadmin.cli.decorators import replace_option, to_file
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.groups import GroupOffset
from mqadmin.errors import ItemNotFound
from mqadmin.output.files import STDOUT, check_is_new, write_whole
from mqadmin.output.structured import json_text


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedOffsets(Row):
    """What was written."""

    file: str
    groups: int
    rows: int


@command(
    "offset export",
    examples=(
        ("mqadmin offset export billing --to billing.jsonl", "of one group"),
        ("mqadmin offset export --to all.jsonl", "of every group"),
        ("mqadmin offset export --to - > all.jsonl", "to standard output"),
        ("mqadmin offset export --to all.jsonl --store DIR", "from a store directory"),
    ),
    rows=ExportedOffsets,
    needs=Needs.EITHER,
)
@to_file(required=True)
@argument("group", nargs=-1, type=GROUP, help="these groups; all if left out")
@click.option("--topic", type=TOPIC, help="only in this topic")
@replace_option
async def export_offsets(
    call: Call, *, to: Path, group: tuple[str, ...], topic: str | None, replace: bool
) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file already exists.
        ItemNotFound: a group has no offset.
    """
    check_is_new(to, replace=replace)
    rows = [
        row
        for row in await _rows(call)
        if (not group or row.group in group) and topic in (None, row.topic)
    ]
    groups = {row.group for row in rows}
    for name in group:
        if name not in groups:
            raise ItemNotFound(f"group {name} has no offset", hint="`group list` shows the groups")
    text = "".join(f"{json_text(asdict(row))}\n" for row in rows)
    if to == STDOUT:
        return Outcome(rows, format="jsonl", row_class=GroupOffset)
    write_whole(to, text)
    return one(ExportedOffsets(file=str(to), groups=len(groups), rows=len(rows)))


async def _rows(call: Call) -> list[GroupOffset]:
    if call.is_offline:
        from mqadmin.store_access.stored_rows import stored_positions

        return [
            GroupOffset.of(position, broker=None, consumer_offset=position.queue_offset)
            for position in stored_positions(call, None)
        ]
    admin = await call.admin()
    rows = []
    for node in await masters(admin, every=True):
        table = await admin.all_consumer_offsets(node.address)
        rows += [
            GroupOffset(group, topic, node.broker, queue_id, queue_offset)
            for (topic, group), queues in table.items()
            for queue_id, queue_offset in queues.items()
        ]
    return sorted(rows, key=lambda row: (row.group, row.topic, row.broker or "", row.queue_id))
