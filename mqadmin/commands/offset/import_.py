"""``offset import``: store the offsets of a file.

    lines {"group", "topic", "broker", "queue_id", "consumer_offset"} --> stored and read back

Rule: lines, queues and members are all checked before the first offset is stored, so that a file
with a mistake changes nothing.

Requests: those of ``mqadmin.changes.offset_copy``.
"""

from collections.abc import Mapping
from pathlib import Path

import click

from mqadmin.changes.offset_change import OFFSET_COLUMNS, OffsetChange
from mqadmin.changes.offset_copy import OffsetsByGroup, store_offsets
from mqadmin.cli.declare import Call, Outcome, argument, command
from mqadmin.cli.decorators import broker_map, broker_option, clamp_option
from mqadmin.cli.types import FILE_PATH, GROUP
from mqadmin.cluster.brokers import masters
from mqadmin.cluster.groups import GroupOffset
from mqadmin.errors import Usage
from storefmt.config.foreign_json import read_json
from storefmt.paths import check_group_name


@command(
    "offset import",
    examples=(
        ("mqadmin offset import billing.jsonl --dry-run", "what would move"),
        ("mqadmin offset import all.jsonl --group billing -y", "one group of a file"),
        (
            "mqadmin offset import all.jsonl --map broker-a=broker-5",
            "for a broker with another name",
        ),
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
@broker_option(help="broker for lines without a broker (those of a store)")
@broker_map("import lines of broker OLD to broker NEW")
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
    """Return one row for each queue; queues that no longer exist are named in a note (exit code 5).

    An offset past the end of its queue is refused, and so is its row, unless --clamp is given.

    Raises:
        Usage: a line is not a valid offset.
        NoRoute: a topic does not exist.
        ServerRefused: members of a group are online.
    """
    text = call.console.text_of(file)
    offsets = _read_file(file, text, groups=group, broker=broker, renamed=dict(brokers))
    admin = await call.admin()
    groups = sorted({name for name, _ in offsets})
    return await store_offsets(
        call,
        offsets,
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
    offsets: OffsetsByGroup = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{file} line {number}"
        row = _read_line(where, line)
        if groups and row.group not in groups:
            continue
        broker_name = row.broker or broker
        if broker_name is None:
            raise Usage(f"{where} names no broker", hint="add --broker NAME")
        check_group_name(row.group)
        spots = offsets.setdefault((row.group, row.topic), {})
        spots[renamed.get(broker_name, broker_name), row.queue_id] = row.consumer_offset
    if not offsets:
        raise Usage(f"{file} has no offset", hint="`offset export` writes such a file")
    return offsets


def _read_line(where: str, line: str) -> GroupOffset:
    try:
        row = read_json(line)
        if not isinstance(row["group"], str) or not isinstance(row["topic"], str):
            raise TypeError("group and topic must be strings")
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
