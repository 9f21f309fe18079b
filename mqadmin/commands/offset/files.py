"""``offset export``, ``offset import``: the offsets of groups as lines of JSON in a file.

    line {"group", "topic", "broker", "queue_id", "consumer_offset"}  -->  stored and read back

Request of an export on each master: GET_ALL_CONSUMER_OFFSET.

Rule: an import checks everything before anything is stored: the lines, the queues, and that no
member of any of the groups is online.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from mqadmin.changes.offset_change import (
    OFFSET_COLUMNS,
    Move,
    OffsetChange,
    check_offline,
    keep,
    moves_to,
    row_of,
    store,
)
from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import BROKER, FILE_PATH, GROUP, TOPIC
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.groups import GroupOffset
from mqadmin.errors import NotFound, Usage
from mqadmin.output.rows import PARTLY, WOULD_CHANGE, Outcome, Row, one
from mqadmin.output.structured import json_text
from mqadmin.session.call import Call
from storefmt.paths import check_group_name


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


Wanted = dict[tuple[str, str], dict[tuple[str, int], int]]
"""(group, topic) -> (broker, queue id) -> queue offset."""


@command(
    "offset import",
    examples=(
        ("mqadmin offset import billing.jsonl --dry-run", "what would move"),
        ("mqadmin offset import all.jsonl --group billing -y", "one group of a file"),
        (
            "mqadmin offset show billing -n old:9876 -o jsonl | mqadmin offset import - -y",
            "from another cluster",
        ),
    ),
    rows=OffsetChange,
    columns=("group", *OFFSET_COLUMNS),
    writes=True,
)
@click.argument(
    "file", type=FILE_PATH, help="lines of JSON as `offset export` writes them; - is standard input"
)
@click.option("--group", type=GROUP, multiple=True, help="only of this group")
@click.option("--broker", type=BROKER, help="for lines without a broker (of a store)")
async def import_offsets(
    call: Call, *, file: Path, group: tuple[str, ...], broker: str | None
) -> Outcome:
    """Return one row a queue; queues that are no more are named in a note (exit code 5).

    Raises:
        Usage: a line is no offset.
        NoRoute: a topic is not there.
        Refused: members of a group are online.
    """
    wanted = _wanted(file, call.console.text_of(file), groups=group, broker=broker)
    admin = await call.admin()
    addresses = [place.address for place in await masters(admin, every=True)]
    planned: list[tuple[str, Move]] = []
    missing: list[str] = []
    for (name, topic), spots in sorted(wanted.items()):
        moves, absent = await moves_to(admin, name, topic, spots)
        planned += [(name, move) for move in moves]
        missing += absent
    notes = (f"no such queue: {', '.join(missing)}",) if missing else ()
    exit_code = PARTLY if missing else 0
    if call.dry_run:
        rows = [row_of(name, move, WOULD_CHANGE) for name, move in planned]
        return Outcome(rows, exit_code=exit_code, notes=notes)
    names = sorted({name for name, _ in wanted})
    for name in names:
        await check_offline(admin, name, addresses)
    await call.confirm(f"store {len(planned)} offsets of {', '.join(names)}?")
    for name in names:
        own = [move for moved, move in planned if moved == name]
        keep(call, admin, name, own, title=f"offset import {name}")
    rows = [await store(admin, name, move) for name, move in planned]
    return Outcome(rows, exit_code=exit_code, notes=notes)


def _wanted(file: Path, text: str, *, groups: tuple[str, ...], broker: str | None) -> Wanted:
    found: Wanted = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{file} line {number}"
        row = _read(where, line)
        if groups and row.group not in groups:
            continue
        at = row.broker or broker
        if at is None:
            raise Usage(f"{where}: no broker", hint="add --broker NAME")
        check_group_name(row.group)
        spots = found.setdefault((row.group, row.topic), {})
        spots[at, row.queue_id] = row.consumer_offset
    if not found:
        raise Usage(f"{file} has no offset", hint="`offset export` writes such a file")
    return found


def _read(where: str, line: str) -> GroupOffset:
    try:
        row = json.loads(line)
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
