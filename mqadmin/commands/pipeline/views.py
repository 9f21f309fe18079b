"""``pipeline views``: print SQL views of the tables of a store, for Spark."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import more_stores
from mqadmin.store_access.spark_job import LOCAL, run_job


@dataclass(frozen=True, slots=True)
class ViewRow(Row):
    """One view."""

    view: str
    statement: str


@command(
    "pipeline views",
    details="The script makes a temporary view of each table of the stores, and the view headers, "
    "which is the commit log without bodies and properties and about four times faster to scan. "
    "A session that runs it needs the package mqspark; the function of Python is "
    "mqspark.jobs.views.views(spark, DIR).",
    examples=(
        ("mqadmin pipeline views /data/store > views.sql", "for spark-sql -i views.sql"),
        ("mqadmin pipeline views /mnt/a/store --prefix a_", "a_commitlog, a_topics and so on"),
    ),
    needs=Needs.STORE,
)
@more_stores
@click.option("--prefix", metavar="TEXT", help="how the names of the views begin")
def print_views(call: Call, *, more: tuple[str, ...], prefix: str | None) -> Outcome:
    """Print the script, which is the result itself, without rows.

    Raises:
        NotAStore: a directory is not a store.
        Usage: the prefix has other characters than letters, digits and ``_``.
    """
    where = replace(LOCAL, more=more)
    made = run_job(call, "views", where, row=ViewRow, options={"prefix": prefix})
    assert isinstance(made.rows, Iterator)
    for row in made.rows:
        assert isinstance(row, ViewRow)
        call.console.out.write(f"{row.statement};\n")
    return Outcome(())
