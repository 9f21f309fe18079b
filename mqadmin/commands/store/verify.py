"""``store verify``: look for damage in a store directory."""

from dataclasses import dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import jobs_option
from mqadmin.cli.types import DIR
from mqadmin.errors import Damaged, NotFound
from mqadmin.output.progress import Progress
from mqadmin.output.rows import Outcome, Row, one
from mqadmin.session.call import Call
from mqadmin.store.rows import FindingRow
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
    details="error: a message is lost or wrong, or a broker would not start. warning: not as a "
    "broker leaves it, but every message can be read. info: normal, and worth knowing. "
    "The exit code is 6 with any error or warning.",
    examples=(
        ("mqadmin store verify DIR", "check every record, entry and file"),
        ("mqadmin store verify DIR --deep -o json", "and every key of the index"),
    ),
    rows=ReportRow,
    needs=Needs.STORE,
)
@click.option(
    "--deep", is_flag=True, help="also decompress bodies, and hold the index against the log"
)
@click.option(
    "--checksums", type=DIR, help="where `store seal --to` wrote; DIR/checksums is used by itself"
)
@jobs_option
def verify_store(call: Call, *, deep: bool, checksums: str | None, jobs: int | None) -> Outcome:
    """Return the report.

    Raises:
        NotAStore: the directory is no store.
        NotFound: there are no checksums where the option says.
    """
    sums = Path(checksums) if checksums else None
    if sums is not None and not sums.is_dir():
        raise NotFound(f"{sums}: no directory of checksums", hint="`store seal` makes one")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "verify") as progress:
        report = verify(store, deep=deep, checksums=sums, jobs=jobs, progress=progress)
    findings = tuple(
        FindingRow.of(finding, severity=finding.severity.value, offset=finding.pos)
        for finding in report.findings
    )
    row = ReportRow.of(report, findings=findings)
    return one(row, exit_code=0 if report.ok else Damaged.exit_code)
