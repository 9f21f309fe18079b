"""``pipeline archive compact``: few large files instead of many small ones."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import TOPIC
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_live_job


@dataclass(frozen=True, slots=True)
class CompactedRow(Row):
    """Files of one topic, broker and day that became fewer."""

    commit: int
    topic: str
    broker: str
    messages: int
    files_before: int
    files: int
    size_before: int
    size: int


@command(
    "pipeline archive compact",
    details=(
        "Each run of `pipeline archive` makes files of its own, so frequent runs make small ones. "
        "This writes the files of a topic, broker and day again as files of about 256 MiB, and "
        "commits them. The old files stay until `pipeline archive clean`, for those who read them. "
        "No run of `pipeline archive` may write at the same time."
    ),
    examples=(
        ("mqadmin pipeline archive compact /data/archive --engine local", "without Spark"),
        ("mqadmin pipeline archive compact s3://backup/orders --topic orders", "only one topic"),
    ),
    rows=CompactedRow,
    needs=Needs.NONE,
)
@engine_options
@click.argument("archive", help="directory, or URI as s3://bucket/name")
@click.option(
    "--topic", type=TOPIC, multiple=True, help="only this topic; may be given more than once"
)
def compact_archive(call: Call, *, where: Engine, archive: str, topic: tuple[str, ...]) -> Outcome:
    """Return a row for each group of files.

    Raises:
        CommandError: there is no archive, or another process writes to it.
    """
    options = {"topics": ",".join(topic) or None}
    return run_live_job(call, "compact", archive, where, row=CompactedRow, options=options)
