"""``pipeline timeline``: when the messages of a store came, counted on Spark."""

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import every_span, more_stores, of_topic, stored_from, stored_to
from mqadmin.cli.times import bound_ms
from mqadmin.output.rows import Outcome
from mqadmin.output.times import When
from mqadmin.session.call import Call
from mqadmin.store.rows import SpanRow
from mqadmin.store.spark_job import Engine, engine_options, run_job


@command(
    "pipeline timeline",
    details="By store time, as `store timeline`. Spans without messages between others are rows.",
    examples=(
        ("mqadmin pipeline timeline /data/store", "the whole store in some sixty spans"),
        ("mqadmin pipeline timeline /data/store --every 1m --topic orders", "minute by minute"),
    ),
    rows=SpanRow,
    columns=("start_time", "count", "bytes", "bar"),
    needs=Needs.STORE,
)
@engine_options
@more_stores
@every_span
@of_topic("-t")
@stored_from()
@stored_to()
def show_timeline(
    call: Call,
    *,
    where: Engine,
    more: tuple[str, ...],
    every: int | None,
    topic: str | None,
    from_: When | None,
    to: When | None,
) -> Outcome:
    """Return one row a span, oldest first."""
    now_ms = call.now_ms()
    options = {
        "every_ms": every,
        "topic": topic,
        "begin_ms": bound_ms(from_, now_ms),
        "end_ms": bound_ms(to, now_ms),
    }
    return run_job(call, "timeline", where, row=SpanRow, options=options, more_stores=more)
