"""``pipeline timeline``: when the messages of a store came, counted on Spark."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.errors import Usage
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row, Share
from mqadmin.sparkjob import Engine, run_job
from mqadmin.times import When, parse_duration, parse_when


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """How fine, which messages, and where it runs."""

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


@dataclass(frozen=True, slots=True)
class StoreSpanRow(Row):
    """The messages of one span of time; ``relative`` is its part of the fullest span."""

    start_ms: EpochMs
    end_ms: EpochMs
    count: int
    bytes: int
    relative: Share
    first_ms: EpochMs
    last_ms: EpochMs


@command(
    "pipeline timeline",
    "show when the messages of a store came, on Spark",
    details="By store time, as `store timeline`. Spans without messages between others are rows.",
    examples=(
        ("mqadmin pipeline timeline /data/store", "the whole store in some sixty spans"),
        ("mqadmin pipeline timeline /data/store --every 1m --topic orders", "minute by minute"),
    ),
    rows=StoreSpanRow,
    columns=("start_time", "count", "bytes", "bar"),
    needs=Needs.STORE,
)
def show_timeline(call: Call, args: Arguments) -> Outcome:
    """Return one row a span, oldest first.

    Raises:
        Usage: the span is no duration.
    """
    now_ms = call.now_ms()
    options = {
        "every_ms": _ms(args.every),
        "topic": args.topic,
        "begin_ms": str(args.from_.ms(now_ms)) if args.from_ else None,
        "end_ms": str(args.to.ms(now_ms)) if args.to else None,
    }
    return run_job(call, "timeline", args, row=StoreSpanRow, options=options)


def _ms(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        every_ms = parse_duration(text)
    except ValueError as error:
        raise Usage(str(error)) from None
    if every_ms <= 0:
        raise Usage(f"a span of {text} is no span")
    return str(every_ms)
