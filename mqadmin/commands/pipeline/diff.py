"""``pipeline diff``: compare stores; the rows are those of ``store diff``."""

from dataclasses import dataclass, replace

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.types import DIR
from mqadmin.store_access.analysis_rows import DiffRow
from mqadmin.store_access.spark_job import Engine, of_store_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDiffRow(DiffRow):
    """The log of another store, or one of its queues that differs."""

    other: str


@command(
    "pipeline diff",
    details="The job compares a master with its slaves, or two states of a store; the rows are "
    "those of `store diff`. The exit code is 1 if anything differs.",
    examples=(
        (
            "mqadmin pipeline diff /mnt/master /mnt/slave",
            "the log first, then each queue that differs",
        ),
        ("mqadmin pipeline diff /mnt/master /mnt/s1 /mnt/s2", "two slaves"),
    ),
    rows=FleetDiffRow,
    needs=Needs.STORE,
)
@of_store_job
@argument(
    "others", nargs=-1, type=DIR, required=True, metavar="B", help="the stores to compare with"
)
def diff_stores(call: Call, *, where: Engine, others: tuple[str, ...]) -> Outcome:
    """Return, for each B, a row for the log and one for each queue that differs."""
    return run_job(call, "diff", replace(where, more=others), row=FleetDiffRow)
