"""``offset clone``, ``export``, ``import``: copy the offsets of groups to a group or a file.

clone     offsets of FROM --> each within its queue --> UPDATE_CONSUMER_OFFSET for TO --> read back
export    GET_ALL_CONSUMER_OFFSET on each master --> lines of JSON in a file
import    lines {"group", "topic", "broker", "queue_id", "consumer_offset"} --> stored and read back

Requests of what stores offsets: GET_BROKER_CLUSTER_INFO, GET_ALL_CONSUMER_OFFSET,
GET_CONSUMER_LIST_BY_GROUP, GET_MIN_OFFSET, GET_MAX_OFFSET, UPDATE_CONSUMER_OFFSET,
QUERY_CONSUMER_OFFSET. To clone, Java's tool sends one request to the broker (CLONE_GROUP_OFFSET),
which copies all topics and says nothing.

Rule: everything is checked before anything is stored: the lines, the queues, and that no member of
any of the groups is online.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange, offsets_of
from mqadmin.changes.offset_copy import OffsetsByGroup, store_offsets
from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command, one
from mqadmin.cli.decorators import (
    broker_map,
    broker_option,
    clamp_option,
    replace_option,
    to_file,
)
from mqadmin.cli.types import FILE_PATH, GROUP, TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.groups import GroupOffset
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.output.files import STDOUT, check_is_new, write_whole
from mqadmin.output.structured import json_text
from storefmt.config.foreign_json import read_json
from storefmt.names import RETRY_PREFIX
from storefmt.paths import check_group_name


@command(
    "offset clone",
    examples=(
        ("mqadmin offset clone billing billing-new --dry-run", "what would move"),
        ("mqadmin offset clone billing billing-new --topic orders -y", "in one topic"),
    ),
    details="The retry topic of the group is its own and is not copied.",
    rows=OffsetChange,
    columns=OFFSET_COLUMNS,
    writes=True,
)
@argument("source", type=GROUP, metavar="FROM", help="the group to copy")
@argument("target", type=GROUP, metavar="TO", help="the group that gets the offsets")
@click.option("--topic", type=TOPIC, multiple=True, help="only in this topic")
async def clone_offsets(call: Call, *, source: str, target: str, topic: tuple[str, ...]) -> Outcome:
    """Return one row for each queue; queues that are no more are named in a note (exit code 5).

    Raises:
        ItemNotFound: the first group has no offset.
        ServerRefused: members of the second one are online.
    """
    check_group_name(target)
    if source == target:
        raise Usage(f"{source} and {target} are the same group")
    admin = await call.admin()
    nodes = {at.broker: at.address for at in await masters(admin, every=True)}
    wanted = {
        (target, name): spots
        for name, spots in (await offsets_of(admin, source, nodes, topic)).items()
        if not name.startswith(RETRY_PREFIX) or name in topic
    }
    return await store_offsets(
        call,
        wanted,
        groups=[target],
        addresses=nodes.values(),
        title=f"offset clone {source} {target}",
        question=lambda count: f"give group {target} {count} offsets of {source}?",
        missing="no queue any more",
    )


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
@to_file(required=True)
@argument("group", nargs=-1, type=GROUP, help="these groups; all if left out")
@click.option("--topic", type=TOPIC, help="only in this topic")
@replace_option
async def export_offsets(
    call: Call, *, to: Path, group: tuple[str, ...], topic: str | None, replace: bool
) -> Outcome:
    """Return what was written.

    Raises:
        Usage: the file is there already.
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
        from mqadmin.store.offline import stored_positions

        return [
            GroupOffset.of(at, broker=None, consumer_offset=at.queue_offset)
            for at in stored_positions(call, None)
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


@command(
    "offset import",
    examples=(
        ("mqadmin offset import billing.jsonl --dry-run", "what would move"),
        ("mqadmin offset import all.jsonl --group billing -y", "one group of a file"),
        ("mqadmin offset import all.jsonl --map broker-a=broker-5", "for a broker of another name"),
        (
            "mqadmin offset show billing -n old:9876 -o jsonl | mqadmin offset import - -y",
            "from another cluster",
        ),
    ),
    rows=OffsetChange,
    columns=("group", *OFFSET_COLUMNS, "remark"),
    writes=True,
)
@argument(
    "file",
    type=FILE_PATH,
    help="file of JSON lines, as `offset export` writes it; - reads standard input",
)
@click.option("--group", type=GROUP, multiple=True, help="only of this group")
@broker_option(help="broker of the lines that name none (those of a store)")
@broker_map("lines of broker OLD are for broker NEW here")
@clamp_option
async def import_offsets(
    call: Call,
    *,
    file: Path,
    group: tuple[str, ...],
    broker: str | None,
    brokers: tuple[tuple[str, str], ...],
    clamp: bool,
) -> Outcome:
    """Return one row for each queue; queues that are no more are named in a note (exit code 5).

    An offset past the end of its queue is refused, and so is its row, unless --clamp is given.

    Raises:
        Usage: a line is no offset.
        NoRoute: a topic is not there.
        ServerRefused: members of a group are online.
    """
    text = call.console.text_of(file)
    wanted = _read_file(file, text, groups=group, broker=broker, renamed=dict(brokers))
    admin = await call.admin()
    groups = sorted({name for name, _ in wanted})
    return await store_offsets(
        call,
        wanted,
        groups=groups,
        addresses=[node.address for node in await masters(admin, every=True)],
        question=lambda count: f"store {count} offsets of {', '.join(groups)}?",
        missing="no such queue",
        clamp=clamp,
    )


def _read_file(
    file: Path,
    text: str,
    *,
    groups: tuple[str, ...],
    broker: str | None,
    renamed: Mapping[str, str],
) -> OffsetsByGroup:
    found: OffsetsByGroup = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{file} line {number}"
        row = _read_line(where, line)
        if groups and row.group not in groups:
            continue
        at = row.broker or broker
        if at is None:
            raise Usage(f"{where}: no broker", hint="add --broker NAME")
        check_group_name(row.group)
        spots = found.setdefault((row.group, row.topic), {})
        spots[renamed.get(at, at), row.queue_id] = row.consumer_offset
    if not found:
        raise Usage(f"{file} has no offset", hint="`offset export` writes such a file")
    return found


def _read_line(where: str, line: str) -> GroupOffset:
    try:
        row = read_json(line)
        if not isinstance(row["group"], str) or not isinstance(row["topic"], str):
            raise TypeError("group and topic must be text")
        return GroupOffset(
            group=row["group"],
            topic=row["topic"],
            broker=row.get("broker"),
            queue_id=int(row["queue_id"]),
            consumer_offset=int(row["consumer_offset"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        said = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise Usage(f"{where}: {said}", hint="`offset export` writes such a file") from None
