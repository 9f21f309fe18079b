"""``offset export``: the offsets of groups as lines of JSON, which ``offset import`` takes.

Requests on each master: GET_ALL_CONSUMER_OFFSET.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.offsetrows import GroupOffset
from mqadmin.output.structured import json_text
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import masters
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row, one


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Whose offsets, and where to."""

    to: Annotated[Path, option("file to write", short="f", metavar="FILE", kind=Kind.FILE)]
    group: Annotated[
        tuple[str, ...], argument("these groups; all if left out", kind=Kind.GROUP)
    ] = ()
    topic: Annotated[str | None, option("only in this topic", kind=Kind.TOPIC)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedOffsets(Row):
    """What was written."""

    file: str
    groups: int
    rows: int


@command(
    "offset export",
    "write the offsets of groups to a file",
    examples=(
        ("mqadmin offset export billing --to billing.jsonl", "of one group"),
        ("mqadmin offset export --to all.jsonl", "of every group"),
        ("mqadmin offset export --to all.jsonl --store DIR", "out of a store directory"),
    ),
    rows=ExportedOffsets,
    needs=Needs.EITHER,
)
async def export_offsets(call: Call, args: Arguments) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file is there already.
        NotFound: a group has no offset.
    """
    if args.to.exists():
        raise Usage(f"{args.to} is there already", hint="remove it, or write to another file")
    rows = [
        row
        for row in await _rows(call)
        if (not args.group or row.group in args.group) and args.topic in (None, row.topic)
    ]
    groups = {row.group for row in rows}
    for group in args.group:
        if group not in groups:
            raise NotFound(f"group {group} has no offset", hint="`group list` shows the groups")
    text = "".join(f"{json_text(asdict(row))}\n" for row in rows)
    args.to.write_text(text, encoding="utf-8")
    return one(ExportedOffsets(file=str(args.to), groups=len(groups), rows=len(rows)))


async def _rows(call: Call) -> list[GroupOffset]:
    if call.is_offline:
        from mqadmin.offline import stored_offsets

        return stored_offsets(call)
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
