"""``store rebuild``, ``repair``, ``carve``: save what can be saved of a damaged store.

rebuild    queues and index made again from the log
repair     a copy that a broker opens, with everything that can be saved
carve      records out of damaged, cut, overwritten or orphan files
"""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import combine, option_group
from mqadmin.cli.types import DIR, INTEGER
from mqadmin.errors import Damaged, ItemNotFound, Usage
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, BodyForm, MessageRow
from mqadmin.messages.record_rows import body_options, row_at
from mqadmin.output.terminal.progress import Progress
from storefmt.names import DELAY_LEVELS
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.carve import (
    LOG_FILE_SIZE,
    CarveCount,
    CarvedLog,
    Carver,
    files_to_carve,
)
from storefmt.offline.repair.rebuild import StoreShape, rebuild
from storefmt.offline.repair.repair import repair
from storefmt.offline.views.storedir import StoreDir

shape_options = combine(
    click.option("--to", type=DIR, required=True, metavar="OUT", help="new or empty directory"),
    option_group(
        "shape",
        StoreShape,
        click.option(
            "--queue-file-size",
            type=INTEGER,
            default=0,
            help="bytes of a queue file; 0 for the size of the old ones, or 6000000",
        ),
        click.option(
            "--index-slots",
            "index_slot_count",
            type=INTEGER,
            default=0,
            help="slots of an index file; 0 for those of the old ones, or 5000000",
        ),
        click.option(
            "--index-entries",
            "index_entry_count",
            type=INTEGER,
            default=0,
            help="entries of an index file; 0 for those of the old ones, or 20000000",
        ),
        click.option(
            "--delay-levels", default=DELAY_LEVELS, help="messageDelayLevel of the broker"
        ),
    ),
)
"""``--to``, and the sizes as ``shape``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltRow(Row):
    """One queue, or the index (``topic`` empty); offsets in entries.

    ``filler_count`` entries have no record in the log.
    """

    kind: str
    topic: str = ""
    queue_id: int = -1
    min_offset: int = 0
    max_offset: int
    filler_count: int = 0
    files: int


@command(
    "store rebuild",
    details="The result is what a broker would have made, byte for byte. The store itself is "
    "only read: move `consumequeue` and `index` of OUT into it while no broker runs. Sizes and "
    "names of files, entries of expired messages and ext units come from what is left of the "
    "old files. The exit code is 6 where the log has damage, see `store repair`.",
    examples=(
        ("mqadmin store rebuild DIR --to OUT", "queues and index into OUT"),
        ("mqadmin store rebuild DIR --to OUT --no-index", "the queues alone"),
    ),
    rows=RebuiltRow,
    needs=Needs.STORE,
)
@shape_options
@click.option("--no-index", is_flag=True, help="leave the index out")
def rebuild_store(call: Call, *, to: str, shape: StoreShape, no_index: bool) -> Outcome:
    """Return a row for each queue and one for the index.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is no store.
        BadCall: OUT is not empty, or lies in the store.
    """
    if call.dry_run:
        raise Usage("store rebuild writes into a directory of its own", hint="leave --dry-run out")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "rebuild") as progress:
        out = OutputDirectory.make(to, source=call.store_dir)
        done = rebuild(store, out, shape=shape, with_index=not no_index, progress=progress)
        out.sync()
    rows = [RebuiltRow.of(queue, kind="queue", files=queue.file_count) for queue in done.queues]
    if not no_index:
        rows.append(
            RebuiltRow(kind="index", max_offset=done.index_entry_count, files=done.index_file_count)
        )
    notes = tuple(done.notes)
    if done.lost_size:
        notes += (f"{done.lost_size} bytes of the log are not records; `store verify` says where",)
    return Outcome(rows, exit_code=Damaged.exit_code if done.lost_size else 0, notes=notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRow(Row):
    """One thing that was lost, changed or left out.

    ``action``: lost (``count`` messages, the first one named, or a state file that nothing
    brings back), replaced or cut (bytes of the log that are no record), corrected, restored,
    copied, left_out, note. Unknown offsets are -1.
    """

    action: str
    file: str
    log_offset: int
    size: int
    topic: str
    queue_id: int
    queue_offset: int
    count: int
    reason: str


@command(
    "store repair",
    details="Damage in the log is overwritten in the copy with records of the same size, since "
    "the recovery of a broker stops at the first bytes that are not a record; everything "
    "behind it keeps its place. A message that is lost leaves an empty one with the tag "
    "MQADMIN_DAMAGED in its queue. Queues and index are made from the log; state files "
    "come from their .bak where they must. The rows say what is lost; without rows "
    "nothing is. DIR is only read.",
    examples=(
        ("mqadmin store repair DIR --to OUT", "what was lost, and the copy in OUT"),
        ("mqadmin store repair DIR --to OUT -o json > lost.json", "the report as a file"),
    ),
    rows=RepairRow,
    columns=("action", "file", "log_offset", "topic", "queue_id", "queue_offset", "reason"),
    needs=Needs.STORE,
)
@shape_options
def repair_store(call: Call, *, to: str, shape: StoreShape) -> Outcome:
    """Return a row for everything that is not as it was.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is no store.
        BadCall: OUT is not empty, or lies in the store.
    """
    if call.dry_run:
        raise Usage("store repair writes into a directory of its own", hint="leave --dry-run out")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "repair") as progress:
        out = OutputDirectory.make(to, source=call.store_dir)
        done = repair(store, out, shape=shape, progress=progress)
        out.sync()
    records = done.rebuilt.record_count
    note = (
        f"{records} records in {len(done.rebuilt.queues)} queues; {done.lost_count} messages "
        f"lost, {done.lost_size} bytes of the log replaced or cut"
    )
    return Outcome([RepairRow.of(each) for each in done.actions], notes=(note,))


@dataclass(frozen=True, slots=True, kw_only=True)
class CarvedRow(MessageRow):
    """A record at byte ``pos`` of ``file``; ``log_offset`` is what the record says.

    ``in_place``: both agree. ``written``: it is in OUT, at its log offset.
    """

    pos: int
    in_place: bool
    written: bool


@command(
    "store carve",
    details="DIR may also be a file of any name. A record counts when its lengths add up and its "
    "CRC fits, wherever it lies; the same one found again counts once. With --to the "
    "records become a commit log again, each at its own log offset, or packed where they "
    "come from a DLedger log; `store repair` then makes a store of it. The exit code is 3 "
    "where nothing was found.",
    examples=(
        ("mqadmin store carve FILE -o jsonl > found.jsonl", "every record in a file"),
        ("mqadmin store carve DIR --to OUT --no-body", "all files below DIR, into a new log"),
    ),
    rows=CarvedRow,
    columns=("file", "pos", *MESSAGE_COLUMNS[:-1]),
    needs=Needs.STORE,
)
@click.option(
    "--to", type=DIR, metavar="OUT", help="also write the records as a log into this new directory"
)
@click.option(
    "--log-file-size", type=INTEGER, default=LOG_FILE_SIZE, help="bytes of a log file in OUT"
)
@click.option("--no-crc", is_flag=True, help="also take records whose body does not fit its CRC")
@click.option("--copies", is_flag=True, help="list a record each time it is found")
@body_options
def carve_files(
    call: Call, *, to: str | None, log_file_size: int, no_crc: bool, copies: bool, body: BodyForm
) -> Outcome:
    """Return one row for each record, in the order of files and positions.

    Raises:
        Usage: ``--dry-run`` was given.
        NotInStore: no such file.
        BadCall: OUT is not empty, or lies in DIR.
    """
    if call.dry_run and to:
        raise Usage("store carve writes into a directory of its own", hint="leave --dry-run out")
    carver = Carver(check_crc=not no_crc, dedupe=not copies)
    paths = files_to_carve(call.store_dir)
    log = None
    if to:
        out = OutputDirectory.make(to, source=call.store_dir)
        log = CarvedLog(out, file_size=log_file_size)
    found = carver.count
    return Outcome(
        _rows(call, body, carver, log),
        exit_code=lambda: 0 if found.records else ItemNotFound.exit_code,
        notes=() if paths else ("no file to search",),
    )


def _rows(call: Call, body: BodyForm, carver: Carver, log: CarvedLog | None) -> Iterator[CarvedRow]:
    try:
        with Progress(call.console, "carve") as progress:
            for found in carver.search(files_to_carve(call.store_dir), progress=progress):
                written = log is not None and log.put(found)
                row = row_at(
                    found.record,
                    log_offset=found.record.log_offset,
                    file=str(found.path),
                    body=body,
                    warn=call.warn,
                )
                yield CarvedRow.of(row, pos=found.pos, in_place=found.in_place, written=written)
        if log is not None:
            log.finish()
    finally:
        if log is not None:
            log.close()
            log.out.sync()
    call.warn(_told(carver.count, log))


def _told(count: CarveCount, log: CarvedLog | None) -> str:
    text = (
        f"{count.records} records in {count.files} files, {count.copies} copies passed over, "
        f"{count.torn} places with a magic that are not whole records"
    )
    if count.not_remembered:
        text += f"; {count.not_remembered} records were not compared with others"
    if log is not None:
        text += f"; {log.written_count} written"
    return text
