"""``pipeline restore``: an archive back into topics, or into a new store directory."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, argument, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.sparkjob import Engine, run_live_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Which archive, where to, and where it runs."""

    archive: Annotated[str, argument("directory, or URI as s3://bucket/name")]
    topic: Annotated[
        tuple[str, ...], option("only this topic; may be given more than once", kind=Kind.TOPIC)
    ] = ()
    to: Annotated[str | None, option("a store directory to make", kind=Kind.DIR)] = None
    broker: Annotated[
        str | None, option("with --to: whose messages, where the archive has several brokers'")
    ] = None
    file_size: Annotated[
        int | None, option("with --to: bytes of a commit log file (default 1 GiB)")
    ] = None
    to_topic: Annotated[
        str | None, option("instead: send the messages to this topic", kind=Kind.TOPIC)
    ] = None
    keep_queues: Annotated[bool, option("with --to-topic: into the queues of the same numbers")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class RestoredRow(Row):
    """Messages that went to a commit log file or a topic."""

    target: str
    source: str
    messages: int


@command(
    "pipeline restore",
    "bring an archive back, into a store or a topic",
    details=(
        "With --to it makes a store directory that a broker opens: every record as it was, with "
        "its queue offset and times; only ids by log offset change. The broker builds queues "
        "and index when it starts. With --to-topic messages are sent once more; each says in "
        "property RMQ_SPARK_ID where it was (topic@broker@queue@offset), because a restore that "
        "is run twice sends twice."
    ),
    examples=(
        ("mqadmin pipeline restore /data/archive --to /data/new --engine local", "a new store"),
        ("mqadmin pipeline restore s3://backup/orders --to-topic orders_again", "send again"),
    ),
    rows=RestoredRow,
    needs=Needs.NONE,
)
async def restore_archive(call: Call, args: Arguments) -> Outcome:
    """Return a row for each commit log file, or for each topic and broker.

    Raises:
        Usage: not one of the two targets is named.
        CommandError: there is no archive, or it cannot be restored there.
    """
    if (args.to is None) == (args.to_topic is None):
        raise Usage("a restore needs one target", hint="--to DIR, or --to-topic TOPIC")
    if args.to_topic is not None:
        await call.confirm(f"send the messages of {args.archive} to topic {args.to_topic}?")
    options = {
        "topics": ",".join(args.topic) or None,
        "store": args.to,
        "broker": args.broker,
        "fileSize": args.file_size,
        "topic": args.to_topic,
        "keepQueues": "true" if args.keep_queues else None,
    }
    return await asyncio.to_thread(
        run_live_job,
        call,
        "restore",
        args.archive,
        args,
        row=RestoredRow,
        options=options,
        target=None if args.to_topic is None else call.target(),
    )
