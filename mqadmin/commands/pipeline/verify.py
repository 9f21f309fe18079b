"""``pipeline verify``: look for damage in one store, or in those of a whole fleet."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.rows import FindingRow
from mqadmin.store.spark_job import Engine, engine_options, run_job


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


def _row(*, findings: list[dict[str, Any]], **known: Any) -> StoreReportRow:
    found = tuple(FindingRow(**each) for each in findings)
    counts = Counter(each.severity for each in found)
    return StoreReportRow(
        **known, errors=counts["error"], warnings=counts["warning"], findings=found
    )


@command(
    "pipeline verify",
    details="The report of each store is that of `store verify`. One store is cut into pieces that "
    "workers judge; of many stores each is one task, so that a cluster verifies a fleet. "
    "-o json has the findings. The exit code is 6 with any error or warning.",
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
@engine_options
@more_stores
@click.option(
    "--deep", is_flag=True, help="also decompress bodies, and hold the index against the log"
)
def verify_stores(call: Call, *, where: Engine, more: tuple[str, ...], deep: bool) -> Outcome:
    """Return one row a store.

    Raises:
        NotAStore: a directory is no store.
    """
    options = {"deep": "true"} if deep else {}
    return run_job(call, "verify", where, row=_row, options=options, more_stores=more)
