"""``pipeline archive``: live topics into Parquet files, each message exactly once."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.sparkjob import Engine, run_live_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """What is archived, where to, and where it runs."""

    archive: Annotated[
        str, argument("directory, or URI as s3://bucket/name; made when it is not there")
    ]
    topic: Annotated[
        tuple[str, ...], option("topic to archive; may be given more than once", kind=Kind.TOPIC)
    ] = ()
    pattern: Annotated[str | None, option("instead: all topics that match this expression")] = None
    start: Annotated[
        str | None,
        option("where a new archive begins: earliest, or JSON topic -> broker -> queue -> offset"),
    ] = None
    tags: Annotated[str | None, option("only these: TagA || TagB")] = None
    commit_every: Annotated[int | None, option("messages between two commits")] = None
    commit_bytes: Annotated[
        int | None, option("bytes of messages between two commits, about so many")
    ] = None
    allow_loss: Annotated[
        bool, option("go on where a broker has removed messages before they were archived")
    ] = False
    report: Annotated[
        str | None, option("also set this group's offsets, so that its lag shows", kind=Kind.GROUP)
    ] = None


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
    "archive live topics into Parquet, each message once",
    details=(
        "A run archives what the topics have at its start, and the next run goes on there. A "
        "run that dies at any moment loses and repeats nothing: only files that a manifest "
        "names count, and the same manifest has the positions. Run it more often than brokers "
        "remove messages. On one machine --engine local is as good; Spark spreads the queues "
        "over a cluster."
    ),
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
def archive_topics(call: Call, args: Arguments) -> Outcome:
    """Return a row for each file that was committed.

    Raises:
        Usage: no topics are named.
        CommandError: a broker does not answer, or no longer has what is next.
    """
    options = {
        "subscribe": ",".join(args.topic) or None,
        "subscribePattern": args.pattern,
        "startingOffsets": args.start,
        "filterExpression": args.tags,
        "maxOffsetsPerTrigger": args.commit_every,
        "maxBytesPerTrigger": None if args.commit_bytes is None else str(args.commit_bytes),
        "failOnDataLoss": "false" if args.allow_loss else None,
        "reportGroup": args.report,
    }
    return run_live_job(
        call,
        "archive",
        args.archive,
        args,
        row=ArchivedRow,
        options=options,
        target=call.target(),
    )
