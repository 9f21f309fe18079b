"""``pipeline timeline``: when the messages of a store came, counted on Spark."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.sparkjob import Engine, run_job
from mqadmin.storedtime import EVERY, STORED_FROM, STORED_TO, bound_ms
from mqadmin.storerows import SpanRow
from mqadmin.times import When


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """How fine, which messages, and where it runs."""

    every: Annotated[int | None, EVERY] = None
    topic: Annotated[str | None, option("of this topic", short="t", kind=Kind.TOPIC)] = None
    from_: Annotated[When | None, STORED_FROM] = None
    to: Annotated[When | None, STORED_TO] = None


@command(
    "pipeline timeline",
    "show when the messages of a store came, on Spark",
    details="By store time, as `store timeline`. Spans without messages between others are rows.",
    examples=(
        ("mqadmin pipeline timeline /data/store", "the whole store in some sixty spans"),
        ("mqadmin pipeline timeline /data/store --every 1m --topic orders", "minute by minute"),
    ),
    rows=SpanRow,
    columns=("start_time", "count", "bytes", "bar"),
    needs=Needs.STORE,
)
def show_timeline(call: Call, args: Arguments) -> Outcome:
    """Return one row a span, oldest first."""
    now_ms = call.now_ms()
    options = {
        "every_ms": args.every,
        "topic": args.topic,
        "begin_ms": bound_ms(args.from_, now_ms),
        "end_ms": bound_ms(args.to, now_ms),
    }
    return run_job(call, "timeline", args, row=SpanRow, options=options)
