"""``store verify``: look for damage in a store directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Damaged, NotFound
from mqadmin.jobs import JOBS, jobs_of
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row, one
from mqadmin.storerows import FindingRow
from storefmt.offline.verify.store import verify
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How closely."""

    deep: Annotated[bool, option("also decompress bodies, and hold the index against the log")] = (
        False
    )
    checksums: Annotated[
        str | None,
        option("where `store seal --to` wrote; DIR/checksums is used by itself", kind=Kind.DIR),
    ] = None
    jobs: Annotated[int | None, JOBS] = None


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
    "look for damage in a store directory",
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
def verify_store(call: Call, args: Arguments) -> Outcome:
    """Return the report.

    Raises:
        NotAStore: the directory is no store.
        NotFound: there are no checksums where the option says.
    """
    checksums = Path(args.checksums) if args.checksums else None
    if checksums is not None and not checksums.is_dir():
        raise NotFound(f"{checksums}: no directory of checksums", hint="`store seal` makes one")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "verify") as progress:
        report = verify(
            store, deep=args.deep, checksums=checksums, jobs=jobs_of(args.jobs), progress=progress
        )
    row = ReportRow(
        ok=report.ok,
        files=report.files,
        records=report.records,
        bytes=report.bytes,
        seconds=report.seconds,
        findings=tuple(
            FindingRow(
                kind=finding.kind,
                severity=finding.severity.value,
                file=finding.file,
                offset=finding.pos,
                field=finding.field,
                found=finding.found,
                expected=finding.expected,
                hint=finding.hint,
                size=finding.size,
                count=finding.count,
            )
            for finding in report.findings
        ),
    )
    return one(row, exit_code=0 if report.ok else Damaged.exit_code)
