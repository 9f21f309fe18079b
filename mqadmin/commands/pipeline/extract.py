"""``pipeline extract``: write the messages of stores to files."""

from dataclasses import dataclass
from typing import Literal

import click

from mqadmin.cli.declare import Call, Needs, Outcome, Row, command
from mqadmin.cli.decorators import stored_from, stored_until, with_tags
from mqadmin.cli.times import bound_ms
from mqadmin.cli.types import DIR, TOPIC, Choice
from mqadmin.output.times import When
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True)
class ExtractedFileRow(Row):
    """One file of the manifest; with ``files`` one directory of a topic."""

    file: str
    store: str
    topic: str
    rows: int
    first_log_offset: int
    last_log_offset: int
    bytes: int
    crc32: str


@command(
    "pipeline extract",
    details="Parquet and jsonl have one file for each topic of each part of a log, below "
    "topic=NAME; bodies are written as they are stored. manifest.jsonl in the new directory "
    "lists the files.",
    examples=(
        (
            "mqadmin pipeline extract /data/store --to /data/orders --topic orders",
            "one topic as Parquet",
        ),
        (
            "mqadmin pipeline extract /data/store --to /data/hits --body 'card [0-9]{16}' "
            "--format jsonl",
            "messages that should not contain such a number",
        ),
    ),
    rows=ExtractedFileRow,
    columns=("file", "rows", "bytes", "crc32"),
    needs=Needs.STORE,
)
@of_stores_job
@click.option("--to", type=DIR, required=True, metavar="OUT", help="new directory for the files")
@click.option(
    "--format",
    "format_",
    type=Choice(["parquet", "jsonl", "files"]),
    default="parquet",
    help="format of the files; `files` writes a file for each body",
)
@click.option("--topic", type=TOPIC, multiple=True, help="only messages of one of these topics")
@with_tags()
@click.option("--key", "-k", help="only the message with this unique key")
@stored_from()
@stored_until
@click.option("--body", metavar="REGEX", help="only messages whose body matches this")
def extract_messages(
    call: Call,
    *,
    where: Engine,
    to: str,
    format_: Literal["parquet", "jsonl", "files"],
    topic: tuple[str, ...],
    tag: tuple[str, ...],
    key: str | None,
    from_: When | None,
    until: When | None,
    body: str | None,
) -> Outcome:
    """Return one row for each file.

    Raises:
        BadCall: the new directory is not empty, or lies in a store.
    """
    now_ms = call.now_ms()
    options = {
        "to": to,
        "kind": format_,
        "topics": topic,
        "tags": tag,
        "unique_key": key,
        "begin_ms": bound_ms(from_, now_ms),
        "end_ms": bound_ms(until, now_ms),
        "body": body,
    }
    return run_job(call, "extract", where, row=ExtractedFileRow, options=options)
