"""``pipeline rebuild``: make consume queues and indexes again from the logs."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.types import DIR
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltPartRow(Row):
    """One queue, the index, or a ``note`` about what could not be rebuilt; offsets in entries.

    ``filler_count`` entries have no record in the log.
    """

    store: str
    kind: str
    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    filler_count: int
    files: int
    note: str


@command(
    "pipeline rebuild",
    details="The files are those of `store rebuild`, byte for byte. Each queue and each index "
    "file is one task; a damaged log is rebuilt as one task. The exit code is 6 if a log is "
    "damaged.",
    examples=(
        ("mqadmin pipeline rebuild /data/store --to /data/new", "one store, by queue"),
        ("mqadmin pipeline rebuild /mnt/a /mnt/b --to /mnt/new", "two stores, each below /mnt/new"),
    ),
    rows=RebuiltPartRow,
    needs=Needs.STORE,
)
@of_stores_job
@click.option(
    "--to",
    type=DIR,
    required=True,
    metavar="OUT",
    help="new directory; each of several stores gets one below it",
)
@click.option("--no-index", is_flag=True, help="do not rebuild the index")
def rebuild_stores(call: Call, *, where: Engine, to: str, no_index: bool) -> Outcome:
    """Return a row for each queue and index.

    Raises:
        NotAStore: a directory is not a store.
        BadCall: the new directory is not empty, or lies in a store.
    """
    options = {"to": to, "index": "false" if no_index else None}
    return run_job(call, "rebuild", where, row=RebuiltPartRow, options=options)
