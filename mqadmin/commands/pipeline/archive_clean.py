"""``pipeline archive clean``: deletes the files of an archive that do not count."""

import asyncio
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.times import TIME
from mqadmin.output.rows import Outcome, Row
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.spark_job import LOCAL, run_live_job


@dataclass(frozen=True, slots=True)
class CleanedRow(Row):
    """One file that was deleted."""

    path: str
    size: int


@command(
    "pipeline archive clean",
    details=(
        "Files do not count that a killed run has left, or that compaction and expiry have "
        "replaced or taken out. They go if they were written, or last counted, before the time. "
        "Choose one before the start of every run that still writes, since on object storage "
        "nothing else tells its files from those of a killed run, and of everything that still "
        "reads."
    ),
    examples=(
        ("mqadmin pipeline archive clean s3://backup/orders --before -1d", "older than a day"),
    ),
    rows=CleanedRow,
    needs=Needs.NONE,
)
@click.argument("archive", help="directory, or URI as s3://bucket/name")
@click.option("--before", type=TIME, required=True, help="time since when a file does not count")
async def clean_archive(call: Call, *, archive: str, before: When) -> Outcome:
    """Return a row for each file.

    Raises:
        CommandError: there is no archive, or another process writes to it.
    """
    await call.confirm(f"delete files of {archive} that have not counted since {before}?")
    options = {"before": before.ms(call.now_ms())}
    return await asyncio.to_thread(
        run_live_job, call, "clean", archive, LOCAL, row=CleanedRow, options=options
    )
