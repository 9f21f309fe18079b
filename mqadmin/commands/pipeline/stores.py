"""``pipeline diff``, ``events``, ``rebuild``, ``stats``, ``timeline``, ``verify``: read stores.

``diff``, ``events``, ``timeline`` and ``verify`` have the rows of the ``store`` command of the
same name, with the store where there are several.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, argument, command
from mqadmin.cli.decorators import (
    every_span,
    of_topic,
    pause_option,
    stored_between,
)
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.cli.types import DIR, Choice
from mqadmin.store.rows import EVENTS_DETAILS, DiffRow, EventRow, FindingRow, SpanRow
from mqadmin.store.spark_job import Engine, of_store_job, of_stores_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDiffRow(DiffRow):
    """The log of another store, or one of its queues that is not the same."""

    other: str


@command(
    "pipeline diff",
    details="The job compares a master and its slave, or a store before and after; the rows are "
    "those of `store diff`. The exit code is 1 where anything is different.",
    examples=(
        ("mqadmin pipeline diff /mnt/master /mnt/slave", "the log, then each queue"),
        ("mqadmin pipeline diff /mnt/master /mnt/s1 /mnt/s2", "two slaves"),
    ),
    rows=FleetDiffRow,
    needs=Needs.STORE,
)
@of_store_job
@argument(
    "others", nargs=-1, type=DIR, required=True, metavar="B", help="the stores to compare with"
)
def diff_stores(call: Call, *, where: Engine, others: tuple[str, ...]) -> Outcome:
    """Return of each B a row for the log and one for each queue that is not the same."""
    return run_job(call, "diff", replace(where, more=others), row=FleetDiffRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEventRow(EventRow):
    """One thing that happened to one of the stores."""

    store: str


@command(
    "pipeline events",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin pipeline events /data/store", "the life of the store"),
        ("mqadmin pipeline events s3://backup/store --pause 5m", "of a copy on S3"),
    ),
    rows=FleetEventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
@of_stores_job
@pause_option
def show_events(call: Call, *, where: Engine, pause: int | None) -> Outcome:
    """Return one row for each event, oldest first."""
    return run_job(call, "events", where, row=FleetEventRow, options={"pause_ms": pause})


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltPartRow(Row):
    """One queue, the index, or a ``note`` about what could not be rebuilt; offsets in entries.

    ``filler_count`` entries have no record in the log.
    """

    store: str
    kind: str
    topic: str
    queue_id: int
    min_offset: int
    max_offset: int
    filler_count: int
    files: int
    note: str


@command(
    "pipeline rebuild",
    details="The files are those of `store rebuild`, byte for byte. Each queue is made by one "
    "task, and each file of the index; a log with damage is rebuilt as one task. The exit code "
    "is 6 where a log has damage.",
    examples=(
        ("mqadmin pipeline rebuild /data/store --to /data/new", "one store, by queue"),
        ("mqadmin pipeline rebuild /mnt/a /mnt/b --to /mnt/new", "two, below /mnt/new"),
    ),
    rows=RebuiltPartRow,
    needs=Needs.STORE,
)
@of_stores_job
@click.option(
    "--to",
    type=DIR,
    required=True,
    metavar="OUT",
    help="new directory; each of several stores gets one below it",
)
@click.option("--no-index", is_flag=True, help="leave the index out")
def rebuild_stores(call: Call, *, where: Engine, to: str, no_index: bool) -> Outcome:
    """Return a row for each queue and index.

    Raises:
        NotAStore: a directory is no store.
        BadCall: the new directory is not empty, or lies in a store.
    """
    options = {"to": to, "index": "false" if no_index else None}
    return run_job(call, "rebuild", where, row=RebuiltPartRow, options=options)


@dataclass(frozen=True, slots=True)
class TopicHourRow(Row):
    """What was stored of one topic within one hour.

    The last four are null where it is not counted by them; ``tag`` also without a tag.
    """

    topic: str
    hour_ms: EpochMs
    messages: int
    bytes: int
    queue_id: int | None
    producer: str | None
    tag: str | None
    store: str | None


COLUMNS = ("topic", "hour_time", "messages", "bytes")
BY = {"queue": "queue_id", "producer": "producer", "tag": "tag", "store": "store"}


@command(
    "pipeline stats",
    details="Hours are hours of the store time, in UTC. Without --master, a store below 20 GiB is "
    "counted in one process, because Spark takes about ten seconds to start.",
    examples=(
        ("mqadmin pipeline stats /data/store", "on this machine's cores"),
        ("mqadmin pipeline stats /data/store --engine local -o csv", "without Spark"),
        ("mqadmin pipeline stats /data/store --by producer", "who sent how much, by hour"),
        ("mqadmin pipeline stats '/mnt/*/store' --by store", "several stores, each by itself"),
        ("mqadmin pipeline stats /mnt/store --master spark://host:7077", "on a cluster"),
    ),
    rows=TopicHourRow,
    columns=COLUMNS,
    needs=Needs.STORE,
)
@of_stores_job
@click.option("--by", "-b", type=Choice(list(BY)), help="count by this as well")
def count_by_hour(
    call: Call,
    *,
    where: Engine,
    by: Literal["queue", "producer", "tag", "store"] | None,
) -> Outcome:
    """Return one row for each topic and hour, and each value of ``--by``, in that order."""
    outcome = run_job(call, "stats", where, row=TopicHourRow, options={"by": by})
    return outcome if by is None else replace(outcome, columns=_columns(by))


def _columns(by: str) -> tuple[str, ...]:
    return COLUMNS[0], BY[by], *COLUMNS[1:]


@command(
    "pipeline timeline",
    details="Messages are counted by store time, as `store timeline` does. Spans without messages "
    "between others are rows, too.",
    examples=(
        ("mqadmin pipeline timeline /data/store", "the whole store in some sixty spans"),
        ("mqadmin pipeline timeline /data/store --every 1m --topic orders", "minute by minute"),
    ),
    rows=SpanRow,
    columns=("start_time", "count", "bytes", "bar"),
    needs=Needs.STORE,
)
@of_stores_job
@every_span
@of_topic("-t")
@stored_between
def show_timeline(
    call: Call, *, where: Engine, every: int | None, topic: str | None, stored: OpenTimeSpan
) -> Outcome:
    """Return one row for each span, oldest first."""
    begin_ms, end_ms = stored.ms(call.now_ms())
    options = {"every_ms": every, "topic": topic, "begin_ms": begin_ms, "end_ms": end_ms}
    return run_job(call, "timeline", where, row=SpanRow, options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReportRow(Row):
    """What was found in one store; ``findings`` are those of ``store verify``."""

    store: str
    ok: bool
    files: int
    records: int
    bytes: int
    seconds: float
    errors: int
    warnings: int
    findings: tuple[FindingRow, ...]


def _row(*, findings: list[dict[str, Any]], **known: Any) -> StoreReportRow:
    found = tuple(FindingRow(**each) for each in findings)
    counts = Counter(each.severity for each in found)
    return StoreReportRow(
        **known, errors=counts["error"], warnings=counts["warning"], findings=found
    )


@command(
    "pipeline verify",
    details="The report of each store is that of `store verify`. One store is cut into pieces "
    "that workers check; of many stores each is one task, so that a cluster verifies a "
    "fleet. The output of -o json has the findings. The exit code is 6 with any error or "
    "warning.",
    examples=(
        ("mqadmin pipeline verify /data/store", "one store, on this machine's cores"),
        (
            "mqadmin pipeline verify /mnt/a/store /mnt/b/store --master spark://host:7077 -o json",
            "two stores, on a cluster",
        ),
    ),
    rows=StoreReportRow,
    columns=("store", "ok", "files", "records", "bytes", "seconds", "errors", "warnings"),
    needs=Needs.STORE,
)
@of_stores_job
@click.option(
    "--deep", is_flag=True, help="also decompress bodies and compare the index with the log"
)
def verify_stores(call: Call, *, where: Engine, deep: bool) -> Outcome:
    """Return one row for each store.

    Raises:
        NotAStore: a directory is no store.
    """
    return run_job(call, "verify", where, row=_row, options={"deep": deep})
