"""``store events``: show what happened to a store directory, and when."""

from mqadmin.cli.declare import Call, Needs, Outcome, command
from mqadmin.cli.decorators import pause_option
from mqadmin.output.terminal.progress import Progress
from mqadmin.store_access.analysis_rows import EVENTS_DETAILS, EventRow
from storefmt.offline.analyse.events import PAUSE_MS, store_events
from storefmt.offline.views.storedir import StoreDir


@command(
    "store events",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin store events DIR", "every event of the store"),
        ("mqadmin store events DIR --pause 5m", "include shorter pauses"),
    ),
    rows=EventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
@pause_option
def show_events(call: Call, *, pause: int | None) -> Outcome:
    """Return one row for each event, oldest first.

    Raises:
        NotAStore: the directory is not a store.
    """
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "events") as progress:
        total = store.log.end - store.log.min_offset
        events = store_events(
            store, pause_ms=pause or PAUSE_MS, on_done=lambda size: progress(size, total)
        )
    return Outcome([EventRow(**event._asdict()) for event in events])
