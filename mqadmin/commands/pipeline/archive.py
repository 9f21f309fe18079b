"""``pipeline archive …``: archive topics in Parquet files, and maintain the archive.

archive    archive each message exactly once
compact    write few large files instead of many small ones
expire     remove old messages
clean      delete files that no longer count
"""

import asyncio
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.times import TIME
from mqadmin.cli.types import GROUP, INTEGER, TOPIC, Choice
from mqadmin.commands.pipeline._shared import of_archive, only_topics
from mqadmin.output.times import When
from mqadmin.store.spark_job import LOCAL, Engine, JobOptions, of_job, run_live_job


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
@of_job
@argument("archive", help="directory, or URI as s3://bucket/name; made when it is not there")
@click.option(
    "--topic", type=TOPIC, multiple=True, help="topic to archive; may be given more than once"
)
@click.option("--pattern", help="archive all topics that match this expression instead")
@click.option(
    "--start",
    help="where a new archive begins: earliest, or JSON topic -> broker -> queue -> offset",
)
@click.option(
    "--format",
    "kind",
    type=Choice(["parquet", "delta", "iceberg"]),
    help="format of a new archive: parquet with manifests (the default), delta or iceberg",
)
@click.option("--tags", help="only messages with these tags: TagA || TagB")
@click.option("--commit-every", type=INTEGER, help="messages between two commits")
@click.option(
    "--commit-bytes", type=INTEGER, help="approximate bytes of messages between two commits"
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
        "subscribe": topic,
        "subscribePattern": pattern,
        "startingOffsets": start,
        "format": kind,
        "filterExpression": tags,
        "maxOffsetsPerTrigger": commit_every,
        "maxBytesPerTrigger": commit_bytes,
        "failOnDataLoss": "false" if allow_loss else None,
        "reportGroup": report,
    }
    return run_live_job(
        call, "archive", archive, where, row=ArchivedRow, options=options, target=call.target()
    )


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
        "Bodies that an earlier version kept compressed are written as they were sent; files that "
        "are large already stay as they are. "
        "No run of `pipeline archive` may write at the same time."
    ),
    examples=(
        ("mqadmin pipeline archive compact /data/archive --engine local", "without Spark"),
        ("mqadmin pipeline archive compact s3://backup/orders --topic orders", "only one topic"),
    ),
    rows=CompactedRow,
    needs=Needs.NONE,
)
@of_job
@of_archive
@only_topics
@click.option("--keep-compressed", is_flag=True, help="leave compressed bodies as they are")
def compact_archive(
    call: Call, *, where: Engine, archive: str, topic: tuple[str, ...], keep_compressed: bool
) -> Outcome:
    """Return a row for each group of files.

    Raises:
        CommandError: there is no archive, or another process writes to it.
    """
    options: JobOptions = {
        "topics": topic,
        "decompress": "false" if keep_compressed else None,
    }
    return run_live_job(call, "compact", archive, where, row=CompactedRow, options=options)


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
@of_archive
@click.option("--before", type=TIME, required=True, help="store time; older messages expire")
@only_topics
async def expire_archive(
    call: Call, *, archive: str, before: When, topic: tuple[str, ...]
) -> Outcome:
    """Return a row for each file.

    Raises:
        CommandError: there is no archive, or another process writes to it.
    """
    await call.confirm(f"take messages from before {before} out of {archive}?")
    options: JobOptions = {"before": before.ms(call.now_ms()), "topics": topic}
    return await asyncio.to_thread(
        run_live_job, call, "expire", archive, LOCAL, row=ExpiredRow, options=options
    )


@dataclass(frozen=True, slots=True)
class CleanedRow(Row):
    """One file that was deleted."""

    path: str
    size: int


@command(
    "pipeline archive clean",
    details="A killed run, a compaction and an expiry leave files that do not count. Such a file "
    "is deleted if it was written, or last counted, before the time. Choose a time before "
    "the start of every run that still writes, since on object storage nothing else tells "
    "its files from those of a killed run, and before the start of everything that still "
    "reads.",
    examples=(
        ("mqadmin pipeline archive clean s3://backup/orders --before -1d", "older than a day"),
    ),
    rows=CleanedRow,
    needs=Needs.NONE,
)
@of_archive
@click.option(
    "--before", type=TIME, required=True, help="time since which a file must not have counted"
)
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
