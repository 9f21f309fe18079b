"""``pipeline diff``: compare stores; the rows are those of ``store diff``."""

from dataclasses import dataclass, replace

from mqadmin.cli.declare import Call, Needs, Outcome, argument, command
from mqadmin.cli.types import DIR
from mqadmin.store.rows import DiffRow
from mqadmin.store.spark_job import Engine, of_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDiffRow(DiffRow):
    """The log of another store, or one of its queues that is not the same."""

    other: str


@command(
    "pipeline diff",
    details="The job compares a master and its slave, or a store before and after; the rows are "
    "those of `store diff`. The exit code is 1 where anything is different.",
    examples=(
        ("mqadmin pipeline diff /mnt/master /mnt/slave", "the log, then each queue"),
        ("mqadmin pipeline diff /mnt/master /mnt/s1 /mnt/s2", "two slaves"),
    ),
    rows=FleetDiffRow,
    needs=Needs.STORE,
)
@of_job
@argument(
    "others", nargs=-1, type=DIR, required=True, metavar="B", help="the stores to compare with"
)
def diff_stores(call: Call, *, where: Engine, others: tuple[str, ...]) -> Outcome:
    """Return of each B a row for the log and one for each queue that is not the same."""
    return run_job(call, "diff", replace(where, more=others), row=FleetDiffRow)
