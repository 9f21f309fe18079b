"""``pipeline archive``: live topics into Parquet files, each message exactly once."""

from dataclasses import dataclass

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.types import GROUP, INTEGER, TOPIC, Choice
from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_live_job


@dataclass(frozen=True, slots=True)
class ArchivedRow(Row):
    """One file that counts; ``commit`` numbers the archive's manifests from 1."""

    commit: int
    topic: str
    broker: str
    messages: int
    size: int
    path: str


@command(
    "pipeline archive",
    details="A run archives what the topics have at its start, and the next run goes on there. A "
    "run that dies at any moment loses and repeats nothing: only files that a manifest "
    "names count, and the same manifest has the positions. Run it more often than brokers "
    "remove messages. On one machine --engine local is as good; Spark spreads the queues "
    "over a cluster.",
    examples=(
        ("mqadmin pipeline archive /data/archive --topic orders --engine local", "without Spark"),
        (
            "mqadmin pipeline archive s3://backup/orders --pattern 'orders.*' --master yarn",
            "all topics that match, on a cluster",
        ),
    ),
    rows=ArchivedRow,
    columns=("commit", "topic", "broker", "messages", "size"),
    needs=Needs.NAMESRV,
)
@engine_options
@click.argument("archive", help="directory, or URI as s3://bucket/name; made when it is not there")
@click.option(
    "--topic", type=TOPIC, multiple=True, help="topic to archive; may be given more than once"
)
@click.option("--pattern", help="instead: all topics that match this expression")
@click.option(
    "--start",
    help="where a new archive begins: earliest, or JSON topic -> broker -> queue -> offset",
)
@click.option(
    "--format",
    "kind",
    type=Choice(["parquet", "delta", "iceberg"]),
    help="of a new archive: parquet with manifests (the default), a Delta or an Iceberg table",
)
@click.option("--tags", help="only these: TagA || TagB")
@click.option("--commit-every", type=INTEGER, help="messages between two commits")
@click.option(
    "--commit-bytes", type=INTEGER, help="bytes of messages between two commits, about so many"
)
@click.option(
    "--allow-loss",
    is_flag=True,
    help="go on where a broker has removed messages before they were archived",
)
@click.option("--report", type=GROUP, help="also set this group's offsets, so that its lag shows")
def archive_topics(
    call: Call,
    *,
    where: Engine,
    archive: str,
    topic: tuple[str, ...],
    pattern: str | None,
    start: str | None,
    kind: str | None,
    tags: str | None,
    commit_every: int | None,
    commit_bytes: int | None,
    allow_loss: bool,
    report: str | None,
) -> Outcome:
    """Return a row for each file that was committed.

    Raises:
        Usage: no topics are named.
        CommandError: a broker does not answer, or no longer has what is next.
    """
    options = {
        "subscribe": ",".join(topic) or None,
        "subscribePattern": pattern,
        "startingOffsets": start,
        "format": kind,
        "filterExpression": tags,
        "maxOffsetsPerTrigger": commit_every,
        "maxBytesPerTrigger": None if commit_bytes is None else str(commit_bytes),
        "failOnDataLoss": "false" if allow_loss else None,
        "reportGroup": report,
    }
    return run_live_job(
        call, "archive", archive, where, row=ArchivedRow, options=options, target=call.target()
    )
