"""``pipeline restore``: restore an archive into a topic, or into a new store directory."""

import asyncio
from dataclasses import dataclass

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import broker_option
from mqadmin.cli.types import DIR, INTEGER, TOPIC
from mqadmin.commands.pipeline._shared import of_archive, only_topics
from mqadmin.errors import Usage
from mqadmin.store_access.spark_job import Engine, of_live_job, run_live_job


@dataclass(frozen=True, slots=True)
class RestoredRow(Row):
    """Messages that went to a commit log file or a topic."""

    target: str
    source: str
    messages: int


@command(
    "pipeline restore",
    details="With --to, the job writes a store directory that a broker can open: every record "
    "keeps its queue offset and times, and only offset ids change. The broker builds queues and "
    "index when it starts. With --to-topic, the messages are sent again. The property "
    "RMQ_SPARK_ID of each message says where it was (topic@broker@queue@offset), because a "
    "restore that is run twice sends everything twice.",
    examples=(
        ("mqadmin pipeline restore /data/archive --to /data/new --engine local", "a new store"),
        ("mqadmin pipeline restore s3://backup/orders --to-topic orders_again", "send again"),
    ),
    rows=RestoredRow,
    needs=Needs.NONE,
)
@of_live_job
@of_archive
@only_topics
@click.option("--to", type=DIR, metavar="OUT", help="a new store directory")
@broker_option(help="with --to: the broker whose messages are restored, if the archive has several")
@click.option(
    "--file-size",
    type=INTEGER,
    help="with --to: size of a commit log file in bytes (default 1 GiB)",
)
@click.option("--to-topic", type=TOPIC, help="send the messages to this topic instead")
@click.option("--keep-queues", is_flag=True, help="with --to-topic: keep the queue ids")
async def restore_archive(
    call: Call,
    *,
    where: Engine,
    archive: str,
    topic: tuple[str, ...],
    to: str | None,
    broker: str | None,
    file_size: int | None,
    to_topic: str | None,
    keep_queues: bool,
) -> Outcome:
    """Return a row for each commit log file, or for each topic and broker.

    Raises:
        Usage: not one of the two targets is named.
        CommandError: the archive does not exist, or it cannot be restored there.
    """
    if (to is None) == (to_topic is None):
        raise Usage("a restore needs one target", hint="--to DIR, or --to-topic TOPIC")
    if to_topic is not None:
        await call.confirm(f"send the messages of {archive} to topic {to_topic}?")
    options = {
        "topics": topic,
        "store": to,
        "broker": broker,
        "fileSize": file_size,
        "topic": to_topic,
        "keepQueues": keep_queues,
    }
    return await asyncio.to_thread(
        run_live_job,
        call,
        "restore",
        archive,
        where,
        row=RestoredRow,
        options=options,
        target=None if to_topic is None else call.target(),
    )
