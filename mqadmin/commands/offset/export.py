"""``offset export``: the offsets of groups as lines of JSON, which ``offset import`` takes.

Requests on each master: GET_ALL_CONSUMER_OFFSET.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import FILE_PATH, GROUP, TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.groups import GroupOffset
from mqadmin.errors import NotFound, Usage
from mqadmin.output.rows import Outcome, Row, one
from mqadmin.output.structured import json_text
from mqadmin.session.call import Call


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
        ("mqadmin offset export --to all.jsonl --store DIR", "out of a store directory"),
    ),
    rows=ExportedOffsets,
    needs=Needs.EITHER,
)
@click.option(
    "--to",
    "-f",
    type=FILE_PATH,
    required=True,
    metavar="FILE",
    help="file to write; - is standard output",
)
@click.argument("group", nargs=-1, type=GROUP, help="these groups; all if left out")
@click.option("--topic", type=TOPIC, help="only in this topic")
async def export_offsets(
    call: Call, *, to: Path, group: tuple[str, ...], topic: str | None
) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file is there already.
        NotFound: a group has no offset.
    """
    to_stdout = to == Path("-")
    if not to_stdout and to.exists():
        raise Usage(f"{to} is there already", hint="remove it, or write to another file")
    rows = [
        row
        for row in await _rows(call)
        if (not group or row.group in group) and topic in (None, row.topic)
    ]
    groups = {row.group for row in rows}
    for name in group:
        if name not in groups:
            raise NotFound(f"group {name} has no offset", hint="`group list` shows the groups")
    text = "".join(f"{json_text(asdict(row))}\n" for row in rows)
    if to_stdout:
        return Outcome(rows, format="jsonl")
    to.write_text(text, encoding="utf-8")
    return one(ExportedOffsets(file=str(to), groups=len(groups), rows=len(rows)))


async def _rows(call: Call) -> list[GroupOffset]:
    if call.is_offline:
        from mqadmin.store.offline import stored_positions

        return [
            GroupOffset.of(at, broker=None, consumer_offset=at.queue_offset)
            for at in stored_positions(call, None)
        ]
    admin = await call.admin()
    rows = []
    for place in await masters(admin, every=True):
        table = await admin.all_consumer_offsets(place.address)
        rows += [
            GroupOffset(group, topic, place.broker, queue_id, queue_offset)
            for (topic, group), queues in table.items()
            for queue_id, queue_offset in queues.items()
        ]
    return sorted(rows, key=lambda row: (row.group, row.topic, row.broker or "", row.queue_id))
