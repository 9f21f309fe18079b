"""``store seal``: write checksums of whole records beside a store."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import jobs_option
from mqadmin.cli.types import DIR
from mqadmin.errors import Damaged, Usage
from mqadmin.output.terminal.progress import Progress
from storefmt.offline.verify.seal import CHECKSUMS, seal
from storefmt.offline.views.storedir import StoreDir


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
    details="Unless --to is given, this command writes into the store directory: its files go to "
    "DIR/checksums, which brokers ignore. `store verify` then finds every flipped bit of the "
    "log, even those that no CRC of RocketMQ covers. Run it again to cover new records. Bytes "
    "that have changed are not sealed again: the row says differs, and the exit code is 6.",
    examples=(
        ("mqadmin store seal DIR", "write DIR/checksums"),
        ("mqadmin store seal DIR --to OUT", "elsewhere; `store verify --checksums OUT` reads it"),
    ),
    rows=SealRow,
    needs=Needs.STORE,
)
@click.option(
    "--to", type=DIR, metavar="OUT", help="write to this directory instead of DIR/checksums"
)
@jobs_option
def seal_store(call: Call, *, to: str | None, jobs: int | None) -> Outcome:
    """Return a row for each log file.

    Raises:
        Usage: ``--dry-run`` was given.
        NotAStore: the directory is not a store.
        BadCall: the target contains files other than checksums.
    """
    if call.dry_run:
        raise Usage("store seal has no dry run: it only writes checksums", hint="omit --dry-run")
    rows = list(_rows(call, to, jobs))
    differs = any(row.result == "differs" for row in rows)
    return Outcome(rows, exit_code=Damaged.exit_code if differs else 0)


def _rows(call: Call, to: str | None, jobs: int | None) -> Iterator[SealRow]:
    target = Path(to) if to else call.store_dir / CHECKSUMS
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "seal") as progress:
        for sealed in seal(store, target, jobs=jobs, progress=progress):
            yield SealRow.of(sealed, segments=sealed.segment_count, damaged=sealed.damage_count)
