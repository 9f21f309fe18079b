"""``pipeline events``: show what happened to stores; the rows are those of ``store events``."""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import pause_option
from mqadmin.store_access.analysis_rows import EVENTS_DETAILS, EventRow
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetEventRow(EventRow):
    """One thing that happened to one of the stores."""

    store: str


@command(
    "pipeline events",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin pipeline events /data/store", "every event of the store"),
        ("mqadmin pipeline events s3://backup/store --pause 5m", "from a copy on S3"),
    ),
    rows=FleetEventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
@of_stores_job
@pause_option
def show_events(call: Call, *, where: Engine, pause: int | None) -> Outcome:
    """Return one row for each event, oldest first."""
    return run_job(call, "events", where, row=FleetEventRow, options={"pause_ms": pause})
