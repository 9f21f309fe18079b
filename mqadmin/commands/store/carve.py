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
