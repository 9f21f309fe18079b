"""``store carve``: records out of damaged, cut, overwritten or orphan files."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import NotFound, Usage
from mqadmin.messages import MESSAGE_COLUMNS, MessageRow
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, option
from mqadmin.records import body_form, row_at
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from storefmt.offline.output_dir import OutDir
from storefmt.offline.repair.carve import (
    LOG_FILE_SIZE,
    CarveCount,
    Carved,
    CarvedLog,
    Carver,
    files_to_carve,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What to take, and where to."""

    to: Annotated[
        str | None,
        option("also write them as a log into this new directory", metavar="OUT", kind=Kind.DIR),
    ] = None
    log_file_size: Annotated[int, option("bytes of a log file in OUT")] = LOG_FILE_SIZE
    no_crc: Annotated[bool, option("also take records whose body does not fit its CRC")] = False
    copies: Annotated[bool, option("list a record each time it is found")] = False
    no_body: Annotated[bool, option("leave the bodies out")] = False
    inflate: Annotated[bool, option("decompress the bodies")] = False


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
    "find records in damaged, cut, overwritten or orphan files",
    details="DIR may be a file, too: any file, whatever its name. A record counts when its "
    "lengths add up and its CRC fits, wherever it lies; the same one found again counts once. "
    "With --to they become a commit log again, each at its own log offset, or packed where they "
    "come from a DLedger log; `store repair` then makes a store of it. The exit code is 3 where "
    "nothing was found.",
    examples=(
        ("mqadmin store carve FILE -o jsonl > found.jsonl", "every record in a file"),
        ("mqadmin store carve DIR --to OUT --no-body", "all files below DIR, into a new log"),
    ),
    rows=CarvedRow,
    columns=("file", "pos", *MESSAGE_COLUMNS[:-1]),
    needs=Needs.STORE,
)
def carve_files(call: Call, args: Arguments) -> Outcome:
    """Return one row a record, in the order of files and positions.

    Raises:
        Usage: ``--dry-run`` was given.
        NotInStore: no such file.
        BadCall: OUT is not empty, or lies in DIR.
    """
    if call.dry_run and args.to:
        raise Usage("store carve writes into a directory of its own", hint="leave --dry-run out")
    carver = Carver(check_crc=not args.no_crc, dedupe=not args.copies)
    paths = files_to_carve(call.store_dir)
    log = None
    if args.to:
        out = OutDir.make(args.to, source=call.store_dir)
        log = CarvedLog(out, file_size=args.log_file_size)
    found = carver.count
    return Outcome(
        _rows(call, args, carver, log),
        exit_code=lambda: 0 if found.records else NotFound.exit_code,
        notes=() if paths else ("no file to search",),
    )


def _rows(
    call: Call, args: Arguments, carver: Carver, log: CarvedLog | None
) -> Iterator[CarvedRow]:
    form = body_form(no_body=args.no_body, inflate=args.inflate)
    try:
        with Progress(call.console, "carve") as progress:
            for found in carver.search(files_to_carve(call.store_dir), progress=progress):
                written = log is not None and log.put(found)
                row = row_at(
                    found.record,
                    log_offset=found.record.log_offset,
                    file=str(found.path),
                    body=form,
                    warn=call.warn,
                )
                yield _carved(row, found, written)
        if log is not None:
            log.finish()
    finally:
        if log is not None:
            log.close()
            log.out.sync()
    call.warn(_told(carver.count, log))


def _carved(row: MessageRow, found: Carved, written: bool) -> CarvedRow:
    values = {each.name: getattr(row, each.name) for each in fields(row)}
    return CarvedRow(**values, pos=found.pos, in_place=found.in_place, written=written)


def _told(count: CarveCount, log: CarvedLog | None) -> str:
    text = (
        f"{count.records} records in {count.files} files, {count.copies} copies passed over, "
        f"{count.torn} places with a magic that are no whole record"
    )
    if count.not_remembered:
        text += f"; {count.not_remembered} records were not compared with others"
    if log is not None:
        text += f"; {log.written_count} written"
    return text
