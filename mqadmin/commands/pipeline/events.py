"""``pipeline events``: what happened to a store, and when, read on Spark."""

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import pause_option
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqadmin.store.rows import EVENTS_DETAILS, EventRow
from mqadmin.store.spark_job import Engine, engine_options, run_job


@command(
    "pipeline events",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin pipeline events /data/store", "the life of the store"),
        ("mqadmin pipeline events s3://backup/store --pause 5m", "of a copy on S3"),
    ),
    rows=EventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
@engine_options
@pause_option
def show_events(call: Call, *, where: Engine, pause: int | None) -> Outcome:
    """Return one row an event, oldest first."""
    return run_job(call, "events", where, row=EventRow, options={"pause_ms": pause})
