"""``store verify``: look for damage in a store directory."""

from dataclasses import dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command, one
from mqadmin.cli.decorators import jobs_option
from mqadmin.cli.types import DIR
from mqadmin.errors import Damaged, ItemNotFound
from mqadmin.output.terminal.progress import Progress
from mqadmin.store_access.analysis_rows import FindingRow
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow(Row):
    """The result; ``ok`` is false with any finding that is an error or a warning."""

    ok: bool
    files: int
    records: int
    bytes: int
    seconds: float
    findings: tuple[FindingRow, ...]


@command(
    "store verify",
    details="An error means that a message is lost or wrong, or that a broker would not start. A "
    "warning means that the store is not in the state that a broker leaves, but every message "
    "can be read. An info is normal, but worth knowing. The exit code is 6 with any error or "
    "warning.",
    examples=(
        ("mqadmin store verify DIR", "check every record, entry and file"),
        ("mqadmin store verify DIR --deep -o json", "also check every key of the index"),
    ),
    rows=ReportRow,
    needs=Needs.STORE,
)
@click.option(
    "--deep", is_flag=True, help="also decompress bodies and compare the index with the log"
)
@click.option(
    "--checksums",
    type=DIR,
    help="directory that `store seal --to` wrote; by default DIR/checksums if it exists",
)
@jobs_option
def verify_store(call: Call, *, deep: bool, checksums: str | None, jobs: int | None) -> Outcome:
    """Return the report.

    Raises:
        NotAStore: the directory is not a store.
        ItemNotFound: the directory of checksums does not exist.
    """
    sums = Path(checksums) if checksums else None
    if sums is not None and not sums.is_dir():
        raise ItemNotFound(
            f"{sums} is not a directory of checksums", hint="`store seal` creates one"
        )
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "verify") as progress:
        report = verify(store, deep=deep, checksums=sums, jobs=jobs, progress=progress)
    findings = tuple(
        FindingRow.of(finding, severity=finding.severity.value, offset=finding.pos)
        for finding in report.findings
    )
    row = ReportRow.of(report, findings=findings)
    return one(row, exit_code=0 if report.ok else Damaged.exit_code)
