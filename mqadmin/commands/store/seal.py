"""``store seal``: checksums of whole records beside a store."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Damaged, Usage
from mqadmin.jobs import JOBS, jobs_of
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from storefmt.offline.verify.seal import CHECKSUMS, seal
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Where the checksums go."""

    to: Annotated[
        str | None,
        option("another directory than DIR/checksums", metavar="OUT", kind=Kind.DIR),
    ] = None
    jobs: Annotated[int | None, JOBS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SealRow(Row):
    """One log file: ``result`` is sealed, extended, unchanged or differs."""

    file: str
    result: str
    segments: int
    size: int
    damaged: int


@command(
    "store seal",
    "write checksums of whole records beside a store",
    details="This is the one command that writes into a store directory: files in "
    "DIR/checksums, which no broker looks at. `store verify` then finds every flipped bit of "
    "the log, also those that no CRC of RocketMQ covers. Run it again to cover what was "
    "written since; bytes that changed are never sealed again: the row says differs, and the "
    "exit code is 6.",
    examples=(
        ("mqadmin store seal DIR", "into DIR/checksums"),
        ("mqadmin store seal DIR --to OUT", "elsewhere; `store verify --checksums OUT` reads it"),
    ),
    rows=SealRow,
    needs=Needs.STORE,
)
def seal_store(call: Call, args: Arguments) -> Outcome:
    """Return a row for each log file.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is no store.
        BadCall: the target holds other files.
    """
    if call.dry_run:
        raise Usage("store seal writes into a directory of checksums", hint="leave --dry-run out")
    rows = list(_rows(call, args))
    differs = any(row.result == "differs" for row in rows)
    return Outcome(rows, exit_code=Damaged.exit_code if differs else 0)


def _rows(call: Call, args: Arguments) -> Iterator[SealRow]:
    target = Path(args.to) if args.to else call.store_dir / CHECKSUMS
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "seal") as progress:
        for done in seal(store, target, jobs=jobs_of(args.jobs), progress=progress):
            yield SealRow(
                file=done.file,
                result=done.result,
                segments=done.segment_count,
                size=done.size,
                damaged=done.damage_count,
            )
