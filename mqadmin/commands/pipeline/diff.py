"""``pipeline diff``: where two stores part, compared on Spark."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.sparkjob import Engine, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """The other store, and where it runs."""

    other: Annotated[str, argument("the store to compare with", metavar="B", kind=Kind.DIR)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDiffRow(Row):
    """The log, or one queue that is not the same; fields as those of ``store diff``."""

    kind: str
    same: bool
    topic: str
    queue_id: int
    a_min: int
    a_max: int
    b_min: int
    b_max: int
    only_a: int
    only_b: int
    changed: int
    first: int


@command(
    "pipeline diff",
    "compare two stores, on Spark",
    details=(
        "For a master and its slave, or a store before and after; rows are those of "
        "`store diff`. The exit code is 1 where anything is different."
    ),
    examples=(("mqadmin pipeline diff /mnt/master /mnt/slave", "the log, then each queue"),),
    rows=StoreDiffRow,
    needs=Needs.STORE,
)
def diff_stores(call: Call, args: Arguments) -> Outcome:
    """Return a row for the log and one for each queue that is not the same."""
    return run_job(call, "diff", args, row=StoreDiffRow, options={"other": args.other})
