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
from mqadmin.rows import EpochMs, Outcome, Row, Share
from mqadmin.times import When, parse_duration, parse_when
from storefmt.offline.stats import count_records
from storefmt.offline.storedir import StoreDir
from storefmt.offline.tally import By, Tally, Wanted
from storefmt.offline.timespan import filled, span_of

SPANS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """How fine, and which messages."""

    every: Annotated[
        str | None, option("length of a span: 10s, 5m, 1h, 1d; chosen if left out", metavar="SPAN")
    ] = None
    topic: Annotated[str | None, option("of this topic", short="t", kind=Kind.TOPIC)] = None
    from_: Annotated[
        When | None,
        option("stored then or later", metavar="TIME", kind=Kind.TIME, parse=parse_when),
    ] = None
    to: Annotated[
        When | None,
        option("stored then or before", metavar="TIME", kind=Kind.TIME, parse=parse_when),
    ] = None
    jobs: Annotated[int | None, JOBS] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow(Row):
    """The messages of one span of time; ``relative`` is its part of the fullest span."""

    start_ms: EpochMs
    end_ms: EpochMs
    count: int
    bytes: int
    relative: Share
    first_ms: EpochMs
    last_ms: EpochMs


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
        Usage: the span is no duration, or so short that there are too many.
        NotAStore: the directory is no store.
    """
    every_ms = _every_ms(args.every)
    now_ms = call.now_ms()
    wanted = Wanted(
        topic=args.topic,
        begin_ms=args.from_.ms(now_ms) if args.from_ else None,
        end_ms=args.to.ms(now_ms) if args.to else None,
    )
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "timeline") as progress:
        total = store.log.end - store.log.min_offset
        bucket_ms = every_ms or span_of(store, begin_ms=wanted.begin_ms, end_ms=wanted.end_ms)
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


def _every_ms(text: str | None) -> int:
    if text is None:
        return 0
    try:
        every_ms = parse_duration(text)
    except ValueError as error:
        raise Usage(str(error)) from None
    if every_ms <= 0:
        raise Usage(f"a span of {text} is no span")
    return every_ms


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
