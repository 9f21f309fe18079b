"""``store timeline``: when the messages of a store directory came."""

from collections.abc import Iterator
from typing import Final

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import every_span, jobs_option, of_topic, stored_from, stored_to
from mqadmin.cli.times import bound_ms
from mqadmin.errors import Usage
from mqadmin.output.progress import Progress
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.rows import SpanRow
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.analyse.tally import By, Tally, Wanted, filled, span_of
from storefmt.offline.views.storedir import StoreDir

SPANS_MAX: Final = 10_000


@command(
    "store timeline",
    details="By store time. Spans without messages between others are rows, too.",
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
@stored_from()
@stored_to()
@jobs_option
def show_timeline(
    call: Call,
    *,
    every: int | None,
    topic: str | None,
    from_: When | None,
    to: When | None,
    jobs: int | None,
) -> Outcome:
    """Return one row a span, oldest first.

    Raises:
        Usage: the span is so short that there are too many.
        NotAStore: the directory is no store.
    """
    now_ms = call.now_ms()
    wanted = Wanted(topic=topic, begin_ms=bound_ms(from_, now_ms), end_ms=bound_ms(to, now_ms))
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "timeline") as progress:
        total = store.log.end - store.log.min_offset
        bucket_ms = every or span_of(store, begin_ms=wanted.begin_ms, end_ms=wanted.end_ms)
        found = count_records(
            store,
            By.TIME,
            wanted=wanted,
            bucket_ms=bucket_ms,
            jobs=jobs,
            on_done=lambda size: progress(size, total),
        )
    tallies = {start: tally for (start, *_), tally in found.items() if isinstance(start, int)}
    spans = filled(tallies, bucket_ms)
    if len(spans) > SPANS_MAX:
        raise Usage(f"{len(spans)} spans, at most {SPANS_MAX}", hint="take a longer --every")
    return Outcome(list(_rows(spans, bucket_ms)))


def _rows(spans: list[tuple[int, Tally]], bucket_ms: int) -> Iterator[SpanRow]:
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
