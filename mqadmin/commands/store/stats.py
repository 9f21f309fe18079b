"""``store stats``: count the messages of a store directory."""

from dataclasses import dataclass
from typing import Literal

import click

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.cli.decorators import jobs_option, limit_option, of_topic, stored_between
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.cli.types import Choice
from mqadmin.output.rows import Share
from mqadmin.output.terminal.progress import Progress
from mqadmin.output.times import iso_utc
from storefmt.offline.analyse.record_counts import By, CountFilter, Key, RecordCount
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.views.storedir import StoreDir

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
    details="Every record of the log is counted, including those of the broker's own topics. The "
    "largest come first; hours are in chronological order.",
    examples=(
        ("mqadmin store stats DIR", "messages and bytes of every topic"),
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
        NotAStore: the directory is not a store.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    count_filter = CountFilter(topic=topic, begin_ms=begin_ms, end_ms=end_ms)
    way = WAYS[by]
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "stats") as progress:
        total = store.log.end - store.log.min_offset
        counts = count_records(
            store,
            way,
            wanted=count_filter,
            bucket_ms=HOUR_MS,
            jobs=jobs,
            on_done=lambda size: progress(size, total),
        )
    size = max(1, sum(tally.size for tally in counts.values()))
    largest = max((tally.size for tally in counts.values()), default=1)
    order = sorted(counts.items(), key=lambda pair: _place(way, *pair))
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
