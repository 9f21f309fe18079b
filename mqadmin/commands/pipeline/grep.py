"""``pipeline grep``: find messages by a match in their body."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, argument, command
from mqadmin.store_access.spark_job import Engine, JobOptions, of_stores_job, run_job


@dataclass(frozen=True, slots=True)
class HitRow(Row):
    """One message; ``log_offset`` is bytes of the commit log, for ``store get``."""

    store: str
    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    unique_key: str | None
    store_ms: EpochMs
    excerpt: str


@command(
    "pipeline grep",
    details="Bodies are searched where they are read, after decompression, so only matches are "
    "sent over the network. `store get DIR LOG_OFFSET` shows the whole message.",
    examples=(
        ("mqadmin pipeline grep /data/store 'card [0-9]{16}' --mask", "mask the numbers"),
        ("mqadmin pipeline grep /data/store o-17 --engine local -o csv", "without Spark"),
    ),
    rows=HitRow,
    columns=("topic", "queue_id", "queue_offset", "log_offset", "store_time", "excerpt"),
    needs=Needs.STORE,
)
@argument("pattern", help="regular expression (RE2), matched anywhere in a body")
@of_stores_job
@click.option("--mask", is_flag=True, help="show *** instead of what matches")
def find_matches(call: Call, *, where: Engine, pattern: str, mask: bool) -> Outcome:
    """Return one row for each message, by store and log offset."""
    options: JobOptions = {"pattern": pattern, "mask": mask}
    return run_job(call, "grep", where, row=HitRow, options=options)
