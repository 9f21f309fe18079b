"""``pipeline events``: what happened to a store, and when, read on Spark."""

from dataclasses import dataclass

from mqadmin.cli.declare import Needs, command
from mqadmin.cli.decorators import more_stores, pause_option
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call
from mqadmin.store.rows import EVENTS_DETAILS, EventRow
from mqadmin.store.spark_job import Engine, engine_options, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEventRow(EventRow):
    """One thing that happened to one of the stores."""

    store: str


@command(
    "pipeline events",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin pipeline events /data/store", "the life of the store"),
        ("mqadmin pipeline events s3://backup/store --pause 5m", "of a copy on S3"),
    ),
    rows=FleetEventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
@engine_options
@more_stores
@pause_option
def show_events(call: Call, *, where: Engine, more: tuple[str, ...], pause: int | None) -> Outcome:
    """Return one row an event, oldest first."""
    return run_job(
        call, "events", where, row=FleetEventRow, options={"pause_ms": pause}, more_stores=more
    )
