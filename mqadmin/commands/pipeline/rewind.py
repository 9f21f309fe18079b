"""``pipeline rewind plan``: show which messages a reset to a time would replay."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.times import TIME
from mqadmin.cli.types import GROUP, TOPIC
from mqadmin.output.times import When
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


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
    details="The plan is computed from copied stores by the rules of a broker's reset; nothing "
    "is changed. COMMAND is the command that performs it on the running cluster, where offsets "
    "have moved since.",
    examples=(
        ("mqadmin pipeline rewind plan /data/store --to 2026-11-21T10:00:00Z", "every group"),
        (
            "mqadmin pipeline rewind plan /mnt/a /mnt/b --to -2h --group billing",
            "one group, two stores",
        ),
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
