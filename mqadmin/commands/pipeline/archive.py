"""``pipeline archive …``: archive topics in Parquet files, and maintain the archive.

archive    archive each message exactly once
compact    write few large files instead of many small ones
expire     remove old messages
clean      delete files that no longer belong to the archive
"""

import asyncio
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, argument, command
from mqadmin.cli.times import TIME
from mqadmin.cli.types import GROUP, INTEGER, TOPIC, Choice
from mqadmin.commands.pipeline._shared import of_archive, only_topics
from mqadmin.output.times import When
from mqadmin.store_access.spark_job import LOCAL, Engine, JobOptions, of_live_job, run_live_job


@dataclass(frozen=True, slots=True)
class ArchivedRow(Row):
    """One committed file; ``commit`` numbers the archive's manifests from 1."""

    commit: int
    topic: str
    broker: str
    messages: int
    size: int
    path: str


@command(
    "pipeline archive",
    details="A run archives the messages that the topics have at its start, and the next run "
    "continues from there. A run that dies loses and repeats nothing: only files that a manifest "
    "lists count, and the same manifest contains the positions. Run it more often than brokers "
    "delete messages. On one machine, --engine local is just as good; Spark spreads the queues "
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
@of_live_job
@argument("archive", help="directory, or a URI such as s3://bucket/name; created if missing")
@click.option(
    "--topic", type=TOPIC, multiple=True, help="topic to archive; may be given more than once"
)
@click.option("--pattern", help="archive all topics that match this expression instead")
@click.option(
    "--start",
    help="where a new archive starts: earliest, or JSON of topic -> broker -> queue -> offset",
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
    help="continue if a broker has deleted messages before they were archived",
)
@click.option(
    "--report",
    type=GROUP,
    help="also store offsets for this group, so that its lag shows the progress",
)
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
        CommandError: a broker does not answer, or has deleted the next messages.
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
    """Files of one topic, broker and day that were merged."""

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
        "Each run of `pipeline archive` writes new files, so frequent runs write small ones. "
        "This command merges the files of a topic, broker and day into files of about 256 MiB, "
        "and commits them. The old files stay for their readers until `pipeline archive clean`. "
        "Bodies that an earlier version kept compressed are decompressed; files that are already "
        "large stay as they are. No run of `pipeline archive` may write at the same time."
    ),
    examples=(
        ("mqadmin pipeline archive compact /data/archive --engine local", "without Spark"),
        ("mqadmin pipeline archive compact s3://backup/orders --topic orders", "only one topic"),
    ),
    rows=CompactedRow,
    needs=Needs.NONE,
)
@of_live_job
@of_archive
@only_topics
@click.option("--keep-compressed", is_flag=True, help="leave compressed bodies as they are")
def compact_archive(
    call: Call, *, where: Engine, archive: str, topic: tuple[str, ...], keep_compressed: bool
) -> Outcome:
    """Return a row for each group of files.

    Raises:
        CommandError: the archive does not exist, or another process writes to it.
    """
    options: JobOptions = {
        "topics": topic,
        "decompress": "false" if keep_compressed else None,
    }
    return run_live_job(call, "compact", archive, where, row=CompactedRow, options=options)


@dataclass(frozen=True, slots=True)
class ExpiredRow(Row):
    """One file that no longer belongs to the archive."""

    topic: str
    broker: str
    messages: int
    size: int
    path: str


@command(
    "pipeline archive expire",
    details=(
        "A file, which holds messages of one day (UTC), expires as a whole if its last message "
        "was stored before the time. Expired messages are not archived again. `pipeline archive "
        "clean` frees the space. No run of `pipeline archive` may write at the same time."
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
@click.option("--before", type=TIME, required=True, help="messages stored before this time expire")
@only_topics
async def expire_archive(
    call: Call, *, archive: str, before: When, topic: tuple[str, ...]
) -> Outcome:
    """Return a row for each file.

    Raises:
        CommandError: the archive does not exist, or another process writes to it.
    """
    await call.confirm(f"remove messages from before {before} from {archive}?")
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
    details="A killed run, a compaction and an expiry leave files that no manifest lists any "
    "more. Such a file is deleted if it was written, or last listed, before the time. Choose a "
    "time before the start of every run that still writes, because on object storage nothing "
    "else distinguishes its files from those of a killed run, and before the start of every "
    "program that still reads.",
    examples=(
        ("mqadmin pipeline archive clean s3://backup/orders --before -1d", "older than a day"),
    ),
    rows=CleanedRow,
    needs=Needs.NONE,
)
@of_archive
@click.option(
    "--before",
    type=TIME,
    required=True,
    help="delete files that no manifest has listed since this time",
)
async def clean_archive(call: Call, *, archive: str, before: When) -> Outcome:
    """Return a row for each file.

    Raises:
        CommandError: the archive does not exist, or another process writes to it.
    """
    await call.confirm(f"delete files of {archive} that no manifest has listed since {before}?")
    options = {"before": before.ms(call.now_ms())}
    return await asyncio.to_thread(
        run_live_job, call, "clean", archive, LOCAL, row=CleanedRow, options=options
    )
