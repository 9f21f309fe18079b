"""``pipeline rebuild``: queues and index of one store, or of many, made again from the log."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores
from mqadmin.cli.types import DIR
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


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
    details="The files are those of `store rebuild`, byte for byte. Each queue is made by one "
    "task, and each file of the index; a log with damage is rebuilt as one task. The exit code "
    "is 6 where a log has damage.",
    examples=(
        ("mqadmin pipeline rebuild /data/store --to /data/new", "one store, by queue"),
        ("mqadmin pipeline rebuild /mnt/a /mnt/b --to /mnt/new", "two, below /mnt/new"),
    ),
    rows=RebuiltPartRow,
    needs=Needs.STORE,
)
@engine_options
@more_stores
@click.option(
    "--to",
    type=DIR,
    required=True,
    metavar="OUT",
    help="new directory; with several stores one below it for each",
)
@click.option("--no-index", is_flag=True, help="leave the index out")
def rebuild_stores(
    call: Call, *, where: Engine, more: tuple[str, ...], to: str, no_index: bool
) -> Outcome:
    """Return a row for each queue and index.

    Raises:
        NotAStore: a directory is no store.
        BadCall: the new directory is not empty, or lies in a store.
    """
    options = {"to": to, "index": "false" if no_index else "true"}
    return run_job(call, "rebuild", where, row=RebuiltPartRow, options=options, more_stores=more)
