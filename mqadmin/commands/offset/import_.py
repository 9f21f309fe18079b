"""``offset import``: store the offsets of a file that ``offset export`` wrote.

    line {"group", "topic", "broker", "queue_id", "consumer_offset"}  -->  stored and read back

Rule: everything is checked before anything is stored: the lines, the queues, and that no
member of any of the groups is online.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.inputfile import text_of
from mqadmin.offsetchange import (
    OFFSET_COLUMNS,
    Move,
    OffsetChange,
    check_offline,
    keep,
    moves_to,
    row_of,
    store,
)
from mqadmin.offsetrows import GroupOffset
from mqadmin.parameters import Kind, argument, option
from mqadmin.places import masters
from mqadmin.registry import command
from mqadmin.rows import PARTLY, WOULD_CHANGE, Outcome
from storefmt.paths import check_group_name

Wanted = dict[tuple[str, str], dict[tuple[str, int], int]]
"""(group, topic) -> (broker, queue id) -> queue offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Which file, and what of it."""

    file: Annotated[
        Path,
        argument(
            "lines of JSON as `offset export` writes them; - is standard input", kind=Kind.FILE
        ),
    ]
    group: Annotated[tuple[str, ...], option("only of this group", kind=Kind.GROUP)] = ()
    broker: Annotated[
        str | None, option("for lines without a broker (of a store)", kind=Kind.BROKER)
    ] = None


@command(
    "offset import",
    "store the offsets of a file",
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
async def import_offsets(call: Call, args: Arguments) -> Outcome:
    """Return one row a queue; queues that are no more are named in a note (exit code 5).

    Raises:
        Usage: a line is no offset.
        NoRoute: a topic is not there.
        Refused: members of a group are online.
    """
    wanted = _wanted(args, text_of(call, args.file))
    admin = await call.admin()
    addresses = [place.address for place in await masters(admin, every=True)]
    planned: list[tuple[str, Move]] = []
    missing: list[str] = []
    for (group, topic), spots in sorted(wanted.items()):
        moves, absent = await moves_to(admin, group, topic, spots)
        planned += [(group, move) for move in moves]
        missing += absent
    notes = (f"no such queue: {', '.join(missing)}",) if missing else ()
    exit_code = PARTLY if missing else 0
    if call.dry_run:
        rows = [row_of(group, move, WOULD_CHANGE) for group, move in planned]
        return Outcome(rows, exit_code=exit_code, notes=notes)
    groups = sorted({group for group, _ in wanted})
    for group in groups:
        await check_offline(admin, group, addresses)
    await call.confirm(f"store {len(planned)} offsets of {', '.join(groups)}?")
    for group in groups:
        own = [move for name, move in planned if name == group]
        keep(call, admin, group, own, title=f"offset import {group}")
    rows = [await store(admin, group, move) for group, move in planned]
    return Outcome(rows, exit_code=exit_code, notes=notes)


def _wanted(args: Arguments, text: str) -> Wanted:
    found: Wanted = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{args.file} line {number}"
        row = _read(where, line)
        if args.group and row.group not in args.group:
            continue
        broker = row.broker or args.broker
        if broker is None:
            raise Usage(f"{where}: no broker", hint="add --broker NAME")
        check_group_name(row.group)
        spots = found.setdefault((row.group, row.topic), {})
        spots[broker, row.queue_id] = row.consumer_offset
    if not found:
        raise Usage(f"{args.file} has no offset", hint="`offset export` writes such a file")
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
