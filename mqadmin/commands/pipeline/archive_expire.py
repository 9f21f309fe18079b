"""``pipeline archive expire``: takes old messages out of an archive."""

import asyncio
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.times import TIME
from mqadmin.cli.types import TOPIC
from mqadmin.output.rows import Outcome, Row
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.spark_job import LOCAL, run_live_job


@dataclass(frozen=True, slots=True)
class ExpiredRow(Row):
    """One file that no longer counts."""

    topic: str
    broker: str
    messages: int
    size: int
    path: str


@command(
    "pipeline archive expire",
    details=(
        "A file expires as a whole, when its last message was stored before the time; it has the "
        "messages of one day (UTC). What has expired is not archived again. The bytes are freed "
        "by `pipeline archive clean`. No run of `pipeline archive` may write at the same time."
    ),
    examples=(
        ("mqadmin pipeline archive expire /data/archive --before -90d", "keep 90 days"),
        (
            "mqadmin pipeline archive expire /data/archive --before 2026-01-01 --topic orders",
            "only one topic",
        ),
    ),
    rows=ExpiredRow,
    columns=("topic", "broker", "messages", "size"),
    needs=Needs.NONE,
)
@click.argument("archive", help="directory, or URI as s3://bucket/name")
@click.option("--before", type=TIME, required=True, help="store time; older messages expire")
@click.option(
    "--topic", type=TOPIC, multiple=True, help="only this topic; may be given more than once"
)
async def expire_archive(
    call: Call, *, archive: str, before: When, topic: tuple[str, ...]
) -> Outcome:
    """Return a row for each file.

    Raises:
        CommandError: there is no archive, or another process writes to it.
    """
    await call.confirm(f"take messages from before {before} out of {archive}?")
    options = {"before": before.ms(call.now_ms()), "topics": ",".join(topic) or None}
    return await asyncio.to_thread(
        run_live_job, call, "expire", archive, LOCAL, row=ExpiredRow, options=options
    )
