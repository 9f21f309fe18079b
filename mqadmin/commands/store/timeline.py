"""``store timeline``: when the messages of a store directory came."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.jobs import JOBS, jobs_of
from mqadmin.output.progress import Progress
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import EVERY, STORED_FROM, STORED_TO, bound_ms
from mqadmin.storerows import SpanRow
from mqadmin.times import When
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.analyse.tally import By, Tally, Wanted, filled, span_of
from storefmt.offline.views.storedir import StoreDir

SPANS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How fine, and which messages."""

    every: Annotated[int | None, EVERY] = None
    topic: Annotated[str | None, option("of this topic", short="t", kind=Kind.TOPIC)] = None
    from_: Annotated[When | None, STORED_FROM] = None
    to: Annotated[When | None, STORED_TO] = None
    jobs: Annotated[int | None, JOBS] = None


@command(
    "store timeline",
    "show when the messages of a store directory came",
    details="By store time. Spans without messages between others are rows, too.",
    examples=(
        ("mqadmin store timeline DIR", "the whole store in some sixty spans"),
        ("mqadmin store timeline DIR --every 1m --topic orders --from -1h", "minute by minute"),
    ),
    rows=SpanRow,
    columns=("start_time", "count", "bytes", "bar"),
    needs=Needs.STORE,
)
def show_timeline(call: Call, args: Arguments) -> Outcome:
    """Return one row a span, oldest first.

    Raises:
        Usage: the span is so short that there are too many.
        NotAStore: the directory is no store.
    """
    now_ms = call.now_ms()
    wanted = Wanted(
        topic=args.topic,
        begin_ms=bound_ms(args.from_, now_ms),
        end_ms=bound_ms(args.to, now_ms),
    )
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "timeline") as progress:
        total = store.log.end - store.log.min_offset
        bucket_ms = args.every or span_of(store, begin_ms=wanted.begin_ms, end_ms=wanted.end_ms)
        found = count_records(
            store,
            By.TIME,
            wanted=wanted,
            bucket_ms=bucket_ms,
            jobs=jobs_of(args.jobs),
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
