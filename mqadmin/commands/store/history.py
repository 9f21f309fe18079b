"""``store events``, ``timeline``, ``stats``: show what happened to a store, and count messages."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.decorators import (
    every_span,
    jobs_option,
    limit_option,
    of_topic,
    pause_option,
    stored_between,
)
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.cli.types import Choice
from mqadmin.errors import Usage
from mqadmin.output.rows import Share
from mqadmin.output.terminal.progress import Progress
from mqadmin.output.times import iso_utc
from mqadmin.store.rows import EVENTS_DETAILS, EventRow, SpanRow
from storefmt.offline.analyse.events import PAUSE_MS, store_events
from storefmt.offline.analyse.record_counts import (
    By,
    CountFilter,
    Key,
    RecordCount,
    span_of,
    with_empty_spans,
)
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.views.storedir import StoreDir


@command(
    "store events",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin store events DIR", "the life of the store"),
        ("mqadmin store events DIR --pause 5m", "with shorter pauses"),
    ),
    rows=EventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
@pause_option
def show_events(call: Call, *, pause: int | None) -> Outcome:
    """Return one row for each event, oldest first.

    Raises:
        NotAStore: the directory is no store.
    """
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "events") as progress:
        total = store.log.end - store.log.min_offset
        found = store_events(
            store, pause_ms=pause or PAUSE_MS, on_done=lambda size: progress(size, total)
        )
    return Outcome([EventRow(**one._asdict()) for one in found])


SPANS_MAX: Final = 10_000


@command(
    "store timeline",
    details="Messages are counted by store time. Spans without messages between others are rows, "
    "too.",
    examples=(
        ("mqadmin store timeline DIR", "the whole store in some sixty spans"),
        ("mqadmin store timeline DIR --every 1m --topic orders --from -1h", "minute by minute"),
    ),
    rows=SpanRow,
    columns=("start_time", "count", "bytes", "bar"),
    needs=Needs.STORE,
)
@every_span
@of_topic("-t")
@stored_between
@jobs_option
def show_timeline(
    call: Call, *, every: int | None, topic: str | None, stored: OpenTimeSpan, jobs: int | None
) -> Outcome:
    """Return one row for each span, oldest first.

    Raises:
        Usage: the span is so short that there are too many.
        NotAStore: the directory is no store.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    wanted = CountFilter(topic=topic, begin_ms=begin_ms, end_ms=end_ms)
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "timeline") as progress:
        total = store.log.end - store.log.min_offset
        bucket_ms = every or span_of(store, begin_ms=begin_ms, end_ms=end_ms)
        found = count_records(
            store,
            By.TIME,
            wanted=wanted,
            bucket_ms=bucket_ms,
            jobs=jobs,
            on_done=lambda size: progress(size, total),
        )
    tallies = {start: tally for (start, *_), tally in found.items() if isinstance(start, int)}
    spans = with_empty_spans(tallies, bucket_ms)
    if len(spans) > SPANS_MAX:
        raise Usage(f"{len(spans)} spans, at most {SPANS_MAX}", hint="take a longer --every")
    return Outcome(list(_rows(spans, bucket_ms)))


def _rows(spans: list[tuple[int, RecordCount]], bucket_ms: int) -> Iterator[SpanRow]:
    largest = max((tally.count for _, tally in spans), default=1)
    for start_ms, tally in spans:
        yield SpanRow(
            start_ms=start_ms,
            end_ms=start_ms + bucket_ms,
            count=tally.count,
            bytes=tally.size,
            relative=round(tally.count / largest, 6),
            first_ms=tally.first_ms,
            last_ms=tally.last_ms,
        )


HOUR_MS = 3_600_000
WAYS = {
    "topic": By.TOPIC, "queue": By.QUEUE, "tag": By.TAG, "producer": By.PRODUCER, "hour": By.TIME,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StatRow(Row):
    """The messages of one topic, queue, tag, producer host or hour.

    ``bytes`` are bytes of the log; ``share`` is the part of all bytes that were counted,
    ``relative`` the part of the largest row. ``key`` is null for messages without a tag.
    """

    key: str | None
    topic: str | None
    queue_id: int | None
    count: int
    bytes: int
    share: float
    relative: Share
    first_ms: EpochMs
    last_ms: EpochMs


@command(
    "store stats",
    details="Every record of the log is counted, also those of the broker's own topics. The "
    "largest come first; hours come in their order.",
    examples=(
        ("mqadmin store stats DIR", "what the topics take"),
        ("mqadmin store stats DIR --by tag --topic orders -o csv", "the tags of one topic"),
        ("mqadmin store stats DIR --by hour --from -1d", "the last day, hour by hour"),
    ),
    rows=StatRow,
    columns=("key", "count", "bytes", "bar", "first_time", "last_time"),
    needs=Needs.STORE,
)
@click.option(
    "--by",
    "-b",
    type=Choice(["topic", "queue", "tag", "producer", "hour"]),
    default="topic",
    help="what to count by",
)
@of_topic("-t")
@stored_between
@limit_option(help="largest number of rows")
@jobs_option
def show_stats(
    call: Call,
    *,
    by: Literal["topic", "queue", "tag", "producer", "hour"],
    topic: str | None,
    stored: OpenTimeSpan,
    limit: int | None,
    jobs: int | None,
) -> Outcome:
    """Return one row for each topic, queue, tag, producer host or hour.

    Raises:
        NotAStore: the directory is no store.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    wanted = CountFilter(topic=topic, begin_ms=begin_ms, end_ms=end_ms)
    way = WAYS[by]
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "stats") as progress:
        total = store.log.end - store.log.min_offset
        found = count_records(
            store,
            way,
            wanted=wanted,
            bucket_ms=HOUR_MS,
            jobs=jobs,
            on_done=lambda size: progress(size, total),
        )
    size = max(1, sum(tally.size for tally in found.values()))
    largest = max((tally.size for tally in found.values()), default=1)
    order = sorted(found.items(), key=lambda pair: _place(way, *pair))
    return Outcome([_row(way, *pair, size, largest) for pair in order][:limit])


def _place(by: By, key: Key, tally: RecordCount) -> tuple[int, str]:
    if by is By.TIME:
        return tally.first_ms, ""
    return -tally.size, str(key)


def _row(by: By, key: Key, tally: RecordCount, size: int, largest: int) -> StatRow:
    first = key[0]
    name = iso_utc(first) if by is By.TIME and isinstance(first, int) else first
    if by is By.QUEUE and len(key) == 2:
        name = f"{first} {key[1]}"
    named = by in (By.TOPIC, By.QUEUE) and isinstance(first, str)
    return StatRow(
        key=None if name is None else str(name),
        topic=str(first) if named else None,
        queue_id=int(key[1]) if by is By.QUEUE and len(key) == 2 and key[1] is not None else None,
        count=tally.count,
        bytes=tally.size,
        share=round(tally.size / size, 6),
        relative=round(tally.size / largest, 6),
        first_ms=tally.first_ms,
        last_ms=tally.last_ms,
    )
