"""``pipeline events``: what happened to a store, and when, read on Spark."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.sparkjob import Engine, run_job
from mqadmin.storedtime import PAUSE
from mqadmin.storerows import EVENTS_DETAILS, EventRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """What is a pause, and where it runs."""

    pause: Annotated[int | None, PAUSE] = None


@command(
    "pipeline events",
    "show what happened to a store, and when, on Spark",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin pipeline events /data/store", "the life of the store"),
        ("mqadmin pipeline events s3://backup/store --pause 5m", "of a copy on S3"),
    ),
    rows=EventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
def show_events(call: Call, args: Arguments) -> Outcome:
    """Return one row an event, oldest first."""
    return run_job(call, "events", args, row=EventRow, options={"pause_ms": args.pause})
