"""``pipeline verify``: look for damage in stores, each reported as ``store verify`` does."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.store_access.analysis_rows import FindingRow
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReportRow(Row):
    """What was found in one store; ``findings`` are those of ``store verify``."""

    store: str
    ok: bool
    files: int
    records: int
    bytes: int
    seconds: float
    errors: int
    warnings: int
    findings: tuple[FindingRow, ...]


def _row(*, findings: list[dict[str, Any]], **fields: Any) -> StoreReportRow:
    finding_rows = tuple(FindingRow(**each) for each in findings)
    counts = Counter(each.severity for each in finding_rows)
    return StoreReportRow(
        **fields, errors=counts["error"], warnings=counts["warning"], findings=finding_rows
    )


@command(
    "pipeline verify",
    details="Each store is reported as by `store verify`. A single store is split into parts for "
    "the workers; of several stores, each is one task. The output of -o json contains the "
    "findings. The exit code is 6 with any error or warning.",
    examples=(
        ("mqadmin pipeline verify /data/store", "one store, on this machine's cores"),
        (
            "mqadmin pipeline verify /mnt/a/store /mnt/b/store --master spark://host:7077 -o json",
            "two stores, on a cluster",
        ),
    ),
    rows=StoreReportRow,
    columns=("store", "ok", "files", "records", "bytes", "seconds", "errors", "warnings"),
    needs=Needs.STORE,
)
@of_stores_job
@click.option(
    "--deep", is_flag=True, help="also decompress bodies and compare the index with the log"
)
def verify_stores(call: Call, *, where: Engine, deep: bool) -> Outcome:
    """Return one row for each store.

    Raises:
        NotAStore: a directory is not a store.
    """
    return run_job(call, "verify", where, row=_row, options={"deep": deep})
