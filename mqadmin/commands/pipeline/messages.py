"""``pipeline duplicates``, ``extract``, ``grep``, ``trace``: find messages in stores."""

from dataclasses import dataclass
from typing import Any, Literal

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, argument, command
from mqadmin.cli.decorators import stored_from, stored_until, with_tags
from mqadmin.cli.times import bound_ms
from mqadmin.cli.types import DIR, TOPIC, Choice
from mqadmin.output.times import When
from mqadmin.store.spark_job import Engine, JobOptions, of_stores_job, run_job


@dataclass(frozen=True, slots=True)
class DuplicateRow(Row):
    """One unique key with more than one record.

    Offsets are bytes of the commit log, null where several stores have it.
    """

    topic: str
    unique_key: str
    copies: int
    stores: tuple[str, ...]
    first_log_offset: int | None
    last_log_offset: int | None
    first_stored_ms: EpochMs
    last_stored_ms: EpochMs


@command(
    "pipeline duplicates",
    details="A producer gives each message one unique key, so two records of a topic with one key "
    "are a send that was tried again. Retries, delayed and half messages are not counted: "
    "there the broker itself stores a message again, under another topic.",
    examples=(
        ("mqadmin pipeline duplicates /data/store", "on this machine's cores"),
        ("mqadmin pipeline duplicates /data/store --engine local", "without Spark"),
    ),
    rows=DuplicateRow,
    columns=("topic", "unique_key", "copies", "first_stored_time", "last_stored_time"),
    needs=Needs.STORE,
)
@of_stores_job
def find_duplicates(call: Call, *, where: Engine) -> Outcome:
    """Return one row for each key that has copies, the most copies first."""
    return run_job(call, "duplicates", where, row=DuplicateRow)


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
    "topic=NAME; bodies are written as they are stored. manifest.jsonl in the new "
    "directory lists what is where.",
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


@dataclass(frozen=True, slots=True)
class HitRow(Row):
    """One message; ``log_offset`` is bytes of the commit log, for ``store get``."""

    store: str
    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    unique_key: str | None
    store_ms: EpochMs
    excerpt: str


@command(
    "pipeline grep",
    details="Bodies are searched where they are read, compressed ones after decompression, so "
    "only hits travel. `store get DIR LOG_OFFSET` shows the whole message of a hit.",
    examples=(
        ("mqadmin pipeline grep /data/store 'card [0-9]{16}' --mask", "where, without the numbers"),
        ("mqadmin pipeline grep /data/store o-17 --engine local -o csv", "without Spark"),
    ),
    rows=HitRow,
    columns=("topic", "queue_id", "queue_offset", "log_offset", "store_time", "excerpt"),
    needs=Needs.STORE,
)
@argument("pattern", help="regular expression (RE2), matched anywhere in a body")
@of_stores_job
@click.option("--mask", is_flag=True, help="show *** instead of what matches")
def find_matches(call: Call, *, where: Engine, pattern: str, mask: bool) -> Outcome:
    """Return one row for each message, by store and log offset."""
    options: JobOptions = {"pattern": pattern, "mask": mask}
    return run_job(call, "grep", where, row=HitRow, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetStepRow(Row):
    """One step in the life of a message, as ``store trace`` names them, or a ``note``."""

    store: str
    step: str
    step_ms: EpochMs
    due_ms: EpochMs
    topic: str | None
    queue_id: int | None
    queue_offset: int | None
    log_offset: int | None
    size: int | None
    unique_key: str | None
    keys: tuple[str, ...]
    msg_id: str | None
    detail: str


def _row(
    *, unique_key: str | None, keys: list[str] | None, due_ms: int | None, **known: Any
) -> Row:
    return FleetStepRow(**known, unique_key=unique_key, keys=tuple(keys or ()), due_ms=due_ms or 0)


@command(
    "pipeline trace",
    details="Each store is searched by one task, as `store trace` does; all copies are rows, in "
    "time order over all stores. The exit code is 3 where no store has the message.",
    examples=(
        ("mqadmin pipeline trace /mnt/a o-17 /mnt/b /mnt/c --topic orders", "in three stores"),
    ),
    rows=FleetStepRow,
    columns=("step_time", "store", "step", "topic", "queue_id", "queue_offset", "detail"),
    needs=Needs.STORE,
)
@argument("which", metavar="KEY|ID", help="keys, unique keys or offset ids, separated by commas")
@of_stores_job
@click.option("--topic", "-t", type=TOPIC, help="only messages that were sent to this topic")
@click.option("--scan", is_flag=True, help="read whole logs, not only what the indexes name")
def trace_messages(
    call: Call, *, where: Engine, which: str, topic: str | None, scan: bool
) -> Outcome:
    """Return one row for each step, oldest first."""
    options = {"key": which, "topic": topic, "scan": scan}
    return run_job(call, "trace", where, row=_row, options=options)
