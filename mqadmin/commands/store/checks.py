"""``store verify``, ``seal``, ``diff``: find damage, write checksums, and compare two stores."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command, one
from mqadmin.cli.decorators import jobs_option
from mqadmin.cli.types import DIR
from mqadmin.errors import CheckFailed, Damaged, ItemNotFound, Usage
from mqadmin.output.terminal.progress import Progress
from mqadmin.store.rows import DiffRow, FindingRow
from storefmt.offline.analyse.compare import compare_logs, compare_queues
from storefmt.offline.verify.seal import CHECKSUMS, seal
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
    "warning means that the store is not as a broker leaves it, but every message can be "
    "read. An info is normal, and worth knowing. The exit code is 6 with any error or "
    "warning.",
    examples=(
        ("mqadmin store verify DIR", "check every record, entry and file"),
        ("mqadmin store verify DIR --deep -o json", "and every key of the index"),
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
    help="directory that `store seal --to` wrote; DIR/checksums is used if it is there",
)
@jobs_option
def verify_store(call: Call, *, deep: bool, checksums: str | None, jobs: int | None) -> Outcome:
    """Return the report.

    Raises:
        NotAStore: the directory is no store.
        ItemNotFound: there are no checksums where the option says.
    """
    sums = Path(checksums) if checksums else None
    if sums is not None and not sums.is_dir():
        raise ItemNotFound(f"{sums}: no directory of checksums", hint="`store seal` makes one")
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "verify") as progress:
        report = verify(store, deep=deep, checksums=sums, jobs=jobs, progress=progress)
    findings = tuple(
        FindingRow.of(finding, severity=finding.severity.value, offset=finding.pos)
        for finding in report.findings
    )
    row = ReportRow.of(report, findings=findings)
    return one(row, exit_code=0 if report.ok else Damaged.exit_code)


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
    details="This is the one command that writes into a store directory: it writes files into "
    "DIR/checksums, which no broker looks at. `store verify` then finds every flipped bit "
    "of the log, also those that no CRC of RocketMQ covers. Run it again to cover what "
    "was written since; bytes that changed are never sealed again: the row says differs, "
    "and the exit code is 6.",
    examples=(
        ("mqadmin store seal DIR", "into DIR/checksums"),
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
        NotAStore: the directory is no store.
        BadCall: the target holds other files.
    """
    if call.dry_run:
        raise Usage("store seal writes into a directory of checksums", hint="leave --dry-run out")
    rows = list(_rows(call, to, jobs))
    differs = any(row.result == "differs" for row in rows)
    return Outcome(rows, exit_code=Damaged.exit_code if differs else 0)


def _rows(call: Call, to: str | None, jobs: int | None) -> Iterator[SealRow]:
    target = Path(to) if to else call.store_dir / CHECKSUMS
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "seal") as progress:
        for done in seal(store, target, jobs=jobs, progress=progress):
            yield SealRow.of(done, segments=done.segment_count, damaged=done.damage_count)


@command(
    "store diff",
    details="The command compares a master and its slave, or a store before and after. A log that "
    "starts later or ends earlier does not diverge, but its queues lack messages. CHANGED "
    "counts the messages that both have and that differ; of the log, the bytes from the "
    "first difference to the end. The exit code is 1 where anything is different.",
    examples=(("mqadmin store diff A B", "the log first, then each queue that differs"),),
    rows=DiffRow,
    needs=Needs.STORE,
)
@argument("other", type=DIR, metavar="B", help="the store to compare with")
def diff_stores(call: Call, *, other: str) -> Outcome:
    """Return a row for the log and one for each queue that is not the same.

    Raises:
        NotAStore: one of the directories is no store.
    """
    with StoreDir.open(call.store_dir) as a, StoreDir.open(Path(other)) as b:
        with Progress(call.console, "diff") as progress:
            log = compare_logs(a, b, progress=progress)
        common = max(0, min(log.a_end, log.b_end) - max(log.a_start, log.b_start))
        rows = [
            DiffRow(
                kind="log",
                same=log.same,
                topic="",
                queue_id=-1,
                a_min=log.a_start,
                a_max=log.a_end,
                b_min=log.b_start,
                b_max=log.b_end,
                only_a=log.a_end - log.a_start - common,
                only_b=log.b_end - log.b_start - common,
                changed=log.differing_size + log.unread_size,
                first=log.diverges_at,
            )
        ]
        rows += [
            DiffRow.of(queue, kind="queue", same=False, first=queue.first_changed)
            for queue in compare_queues(a, b, log)
        ]
    different = len(rows) > 1 or not log.same or rows[0].only_a + rows[0].only_b > 0
    return Outcome(rows, exit_code=CheckFailed.exit_code if different else 0)
