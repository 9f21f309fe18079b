"""``pipeline lag``, ``pipeline rewind plan``: show the lag of groups, and plan a reset."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.times import TIME
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.output.times import When
from mqadmin.store.spark_job import Engine, of_stores_job, run_job


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
    "several brokers are added up. With older copies of one store's file there are rows "
    "for their times, too. The time of the last consumption is the store time of the last "
    "message read, of the queue that is furthest behind.",
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
@of_stores_job
@click.option(
    "--offsets",
    metavar="FILE[@EPOCH_MS]",
    help="older copies of consumerOffset.json, separated by commas",
)
def show_lag(call: Call, *, where: Engine, offsets: str | None) -> Outcome:
    """Return one row for each time, group and topic; of a time the largest lag first."""
    return run_job(call, "lag", where, row=GroupLagRow, options={"offsets": offsets})


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow(Row):
    """One queue of one group; ``target_ms`` is the store time of the message it would get."""

    store: str
    group: str
    topic: str
    queue_id: int
    queue_offset: int
    target: int
    replayed: int
    skipped: int
    bytes: int
    target_ms: EpochMs
    command: str


@command(
    "pipeline rewind plan",
    details="The plan is made from copied stores by the rules of a broker's reset; nothing is "
    "changed. COMMAND is the line that would do it on the running cluster, where offsets "
    "have moved on since.",
    examples=(
        ("mqadmin pipeline rewind plan /data/store --to 2026-11-21T10:00:00Z", "every group"),
        ("mqadmin pipeline rewind plan /mnt/a /mnt/b --to -2h --group billing", "one, two stores"),
    ),
    rows=MoveRow,
    columns=(
        "group",
        "topic",
        "queue_id",
        "queue_offset",
        "target",
        "replayed",
        "skipped",
        "bytes",
    ),
    needs=Needs.STORE,
)
@of_stores_job
@click.option("--to", type=TIME, required=True, help="store time to move to")
@click.option("--group", "-g", type=GROUP, help="only this group")
@click.option("--topic", "-t", type=TOPIC, help="only this topic")
def plan_rewind(
    call: Call, *, where: Engine, to: When, group: str | None, topic: str | None
) -> Outcome:
    """Return one row for each queue of each group."""
    options = {"to_ms": to.ms(call.now_ms()), "group": group, "topic": topic}
    return run_job(call, "rewind-plan", where, row=MoveRow, options=options)
