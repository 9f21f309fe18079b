"""``store carve``: find records in damaged, cut, overwritten or orphan files."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.types import DIR, INTEGER
from mqadmin.errors import ItemNotFound, Usage
from mqadmin.messages.message_rows import MESSAGE_COLUMNS, BodyForm, MessageRow
from mqadmin.messages.record_rows import body_options, row_at
from mqadmin.output.terminal.progress import Progress
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.carve import (
    LOG_FILE_SIZE,
    CarveCount,
    CarvedLog,
    Carver,
    files_to_carve,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarvedRow(MessageRow):
    """A record at byte ``pos`` of ``file``; ``log_offset`` is the one in the record.

    ``in_place``: both agree. ``written``: it is in OUT, at its log offset.
    """

    pos: int
    in_place: bool
    written: bool


@command(
    "store carve",
    details="DIR may also be a file of any name. A record counts if its lengths add up and its "
    "CRC matches, wherever it lies; copies of a record count once. With --to, the records are "
    "written as a commit log, each at its own log offset, or packed if they come from a DLedger "
    "log; `store repair` then makes a store of it. The exit code is 3 if nothing was found.",
    examples=(
        ("mqadmin store carve FILE -o jsonl > found.jsonl", "every record in a file"),
        (
            "mqadmin store carve DIR --to OUT --no-body",
            "recover all files below DIR into a new log",
        ),
    ),
    rows=CarvedRow,
    columns=("file", "pos", *MESSAGE_COLUMNS[:-1]),
    needs=Needs.STORE,
)
@click.option(
    "--to", type=DIR, metavar="OUT", help="also write the records as a log into this new directory"
)
@click.option(
    "--log-file-size",
    type=INTEGER,
    default=LOG_FILE_SIZE,
    help="size of a log file in OUT, in bytes",
)
@click.option("--no-crc", is_flag=True, help="include records whose body does not match its CRC")
@click.option("--copies", is_flag=True, help="list every copy of a record")
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
        raise Usage(
            "store carve --to has no dry run: it only writes into a new directory",
            hint="omit --dry-run",
        )
    carver = Carver(check_crc=not no_crc, dedupe=not copies)
    paths = files_to_carve(call.store_dir)
    log = None
    if to:
        out = OutputDirectory.make(to, source=call.store_dir)
        log = CarvedLog(out, file_size=log_file_size)
    carved_count = carver.count
    return Outcome(
        _rows(call, body, carver, log),
        exit_code=lambda: 0 if carved_count.records else ItemNotFound.exit_code,
        notes=() if paths else ("no files to search",),
    )


def _rows(call: Call, body: BodyForm, carver: Carver, log: CarvedLog | None) -> Iterator[CarvedRow]:
    try:
        with Progress(call.console, "carve") as progress:
            for carved in carver.search(files_to_carve(call.store_dir), progress=progress):
                written = log is not None and log.put(carved)
                row = row_at(
                    carved.record,
                    log_offset=carved.record.log_offset,
                    file=str(carved.path),
                    body=body,
                    warn=call.warn,
                )
                yield CarvedRow.of(row, pos=carved.pos, in_place=carved.in_place, written=written)
        if log is not None:
            log.finish()
    finally:
        if log is not None:
            log.close()
            log.out.sync()
    call.warn(_told(carver.count, log))


def _told(count: CarveCount, log: CarvedLog | None) -> str:
    text = (
        f"{count.records} records in {count.files} files, {count.copies} copies skipped, "
        f"{count.torn} magic numbers without a whole record"
    )
    if count.not_remembered:
        text += f"; {count.not_remembered} records were not compared with others"
    if log is not None:
        text += f"; {log.written_count} written"
    return text
