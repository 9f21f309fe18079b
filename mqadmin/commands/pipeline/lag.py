"""``pipeline lag``: how far each group of a store was behind."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


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
    "several brokers are added up. With older copies of one store's file there are rows for "
    "their times, too. The other time is the store time of the last message read, of the "
    "queue that is furthest behind.",
    examples=(
        ("mqadmin pipeline lag /data/store", "on this machine's cores"),
        ("mqadmin pipeline lag /mnt/a/store /mnt/b/store --engine local", "of two brokers"),
        (
            "mqadmin pipeline lag /data/store --offsets monday.json@1795233600000,tuesday.json",
            "over time",
        ),
    ),
    rows=GroupLagRow,
    columns=("at_time", "group", "topic", "queues", "lag", "last_consumed_time"),
    needs=Needs.STORE,
)
@engine_options
@more_stores
@click.option(
    "--offsets", metavar="FILE[@EPOCH_MS]", help="older copies of consumerOffset.json, with commas"
)
def show_lag(call: Call, *, where: Engine, more: tuple[str, ...], offsets: str | None) -> Outcome:
    """Return one row a time, group and topic; of a time the largest lag first."""
    options = {"offsets": offsets}
    return run_job(call, "lag", where, row=GroupLagRow, options=options, more_stores=more)
