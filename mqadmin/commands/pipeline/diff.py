"""``pipeline diff``: where two stores part, compared on Spark."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.sparkjob import Engine, run_job
from mqadmin.storerows import DiffRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """The other store, and where it runs."""

    other: Annotated[str, argument("the store to compare with", metavar="B", kind=Kind.DIR)]


@command(
    "pipeline diff",
    "compare two stores, on Spark",
    details=(
        "For a master and its slave, or a store before and after; rows are those of "
        "`store diff`. The exit code is 1 where anything is different."
    ),
    examples=(("mqadmin pipeline diff /mnt/master /mnt/slave", "the log, then each queue"),),
    rows=DiffRow,
    needs=Needs.STORE,
)
def diff_stores(call: Call, args: Arguments) -> Outcome:
    """Return a row for the log and one for each queue that is not the same."""
    return run_job(call, "diff", args, row=DiffRow, options={"other": args.other})
