"""``pipeline lag``: show how far each group was behind."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True)
class GroupLagRow(Row):
    """Where a group stood in a topic, all queues of all stores together.

    ``at_ms`` is 0 for the time at which a store was copied.
    """

    at_ms: EpochMs
    group: str
    topic: str
    queues: int
    lag: int
    last_consumed_ms: EpochMs


@command(
    "pipeline lag",
    details="Positions are those of consumerOffset.json when the store was copied; the stores of "
    "several brokers are added up. Older copies of one store's file add rows for their times. "
    "The time of the last consumption is the store time of the last message read in the queue "
    "that is furthest behind.",
    examples=(
        ("mqadmin pipeline lag /data/store", "on this machine's cores"),
        ("mqadmin pipeline lag /mnt/a/store /mnt/b/store --engine local", "two brokers"),
        (
            "mqadmin pipeline lag /data/store --offsets monday.json@1795233600000,tuesday.json",
            "over time",
        ),
    ),
    rows=GroupLagRow,
    columns=("at_time", "group", "topic", "queues", "lag", "last_consumed_time"),
    needs=Needs.STORE,
)
@of_stores_job
@click.option(
    "--offsets",
    metavar="FILE[@EPOCH_MS]",
    help="older copies of consumerOffset.json, separated by commas",
)
def show_lag(call: Call, *, where: Engine, offsets: str | None) -> Outcome:
    """Return one row for each time, group and topic; of a time the largest lag first."""
    return run_job(call, "lag", where, row=GroupLagRow, options={"offsets": offsets})
