"""``pipeline extract``: messages of one store, or of many, into files."""

from dataclasses import dataclass
from typing import Literal

import click

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores, stored_from, stored_until, with_tags
from mqadmin.cli.times import bound_ms
from mqadmin.cli.types import DIR, TOPIC, Choice
from mqadmin.output.rows import Outcome, Row
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


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
    details="Parquet and jsonl come in one file for each topic of each part of a log, below "
    "topic=NAME; bodies are as they are stored. manifest.jsonl in the new directory says "
    "what is where.",
    examples=(
        (
            "mqadmin pipeline extract /data/store --to /data/orders --topic orders",
            "one topic as Parquet",
        ),
        (
            "mqadmin pipeline extract /data/store --to /data/hits --body 'card [0-9]{16}' "
            "--format jsonl",
            "what should not be there",
        ),
    ),
    rows=ExtractedFileRow,
    columns=("file", "rows", "bytes", "crc32"),
    needs=Needs.STORE,
)
@engine_options
@more_stores
@click.option("--to", type=DIR, required=True, metavar="OUT", help="new directory for the files")
@click.option(
    "--format",
    "format_",
    type=Choice(["parquet", "jsonl", "files"]),
    default="parquet",
    help="what to write; files: a body a file",
)
@click.option("--topic", type=TOPIC, multiple=True, help="of one of these topics")
@with_tags()
@click.option("--key", "-k", help="with this unique key")
@stored_from()
@stored_until
@click.option("--body", metavar="REGEX", help="whose body has a match of this")
def extract_messages(
    call: Call,
    *,
    where: Engine,
    more: tuple[str, ...],
    to: str,
    format_: Literal["parquet", "jsonl", "files"],
    topic: tuple[str, ...],
    tag: tuple[str, ...],
    key: str | None,
    from_: When | None,
    until: When | None,
    body: str | None,
) -> Outcome:
    """Return one row a file.

    Raises:
        BadCall: the new directory is not empty, or lies in a store.
    """
    now_ms = call.now_ms()
    options = {
        "to": to,
        "kind": format_,
        "topics": ",".join(topic) or None,
        "tags": ",".join(tag) or None,
        "unique_key": key,
        "begin_ms": bound_ms(from_, now_ms),
        "end_ms": bound_ms(until, now_ms),
        "body": body,
    }
    return run_job(call, "extract", where, row=ExtractedFileRow, options=options, more_stores=more)
