"""``pipeline diff``: where two stores part, compared on Spark."""

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import DIR
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqadmin.store.rows import DiffRow
from mqadmin.store.spark_job import Engine, engine_options, run_job


@command(
    "pipeline diff",
    details="For a master and its slave, or a store before and after; rows are those of "
    "`store diff`. The exit code is 1 where anything is different.",
    examples=(("mqadmin pipeline diff /mnt/master /mnt/slave", "the log, then each queue"),),
    rows=DiffRow,
    needs=Needs.STORE,
)
@engine_options
@click.argument("other", type=DIR, metavar="B", help="the store to compare with")
def diff_stores(call: Call, *, where: Engine, other: str) -> Outcome:
    """Return a row for the log and one for each queue that is not the same."""
    return run_job(call, "diff", where, row=DiffRow, options={"other": other})
