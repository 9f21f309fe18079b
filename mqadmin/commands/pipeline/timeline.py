"""``pipeline timeline``: show when the messages of stores were stored."""

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import every_span, of_topic, stored_between
from mqadmin.cli.times import OpenTimeSpan
from mqadmin.store_access.analysis_rows import SpanRow
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@command(
    "pipeline timeline",
    details="Messages are counted by store time, as `store timeline` does. Empty spans between "
    "others have rows as well.",
    examples=(
        ("mqadmin pipeline timeline /data/store", "the whole store in about sixty spans"),
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
