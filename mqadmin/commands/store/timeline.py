"""``store timeline``: show when the messages of a store directory were stored."""

from collections.abc import Iterator
from typing import Final

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import every_span, jobs_option, of_topic, stored_between
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.errors import Usage
from mqadmin.output.terminal.progress import Progress
from mqadmin.store_access.analysis_rows import SpanRow
from storefmt.offline.analyse.record_counts import (
    By,
    CountFilter,
    RecordCount,
    span_of,
    with_empty_spans,
)
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.views.storedir import StoreDir

SPANS_MAX: Final = 10_000


@command(
    "store timeline",
    details="Messages are counted by store time. Empty spans in between also have rows.",
    examples=(
        ("mqadmin store timeline DIR", "the whole store in about sixty spans"),
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
        NotAStore: the directory is not a store.
    """
    begin_ms, end_ms = stored.ms(call.now_ms())
    count_filter = CountFilter(topic=topic, begin_ms=begin_ms, end_ms=end_ms)
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "timeline") as progress:
        total = store.log.end - store.log.min_offset
        bucket_ms = every or span_of(store, begin_ms=begin_ms, end_ms=end_ms)
        counts = count_records(
            store,
            By.TIME,
            wanted=count_filter,
            bucket_ms=bucket_ms,
            jobs=jobs,
            on_done=lambda size: progress(size, total),
        )
    tallies = {start: tally for (start, *_), tally in counts.items() if isinstance(start, int)}
    spans = with_empty_spans(tallies, bucket_ms)
    if len(spans) > SPANS_MAX:
        raise Usage(
            f"too many spans ({len(spans)}), the limit is {SPANS_MAX}",
            hint="use a longer --every",
        )
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
