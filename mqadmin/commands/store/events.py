"""``store events``: what happened to a store directory, and when."""

from dataclasses import dataclass
from typing import Annotated

from mqadmin.call import Call
from mqadmin.output.progress import Progress
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome
from mqadmin.storedtime import PAUSE
from mqadmin.storerows import EVENTS_DETAILS, EventRow
from storefmt.offline.analyse.events import PAUSE_MS, store_events
from storefmt.offline.views.storedir import StoreDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What is a pause."""

    pause: Annotated[int | None, PAUSE] = None


@command(
    "store events",
    "show what happened to a store directory, and when",
    details=EVENTS_DETAILS,
    examples=(
        ("mqadmin store events DIR", "the life of the store"),
        ("mqadmin store events DIR --pause 5m", "with shorter pauses"),
    ),
    rows=EventRow,
    columns=("at_time", "kind", "span_ms", "log_offset", "detail"),
    needs=Needs.STORE,
)
def show_events(call: Call, args: Arguments) -> Outcome:
    """Return one row an event, oldest first.

    Raises:
        NotAStore: the directory is no store.
    """
    with StoreDir.open(call.store_dir) as store, Progress(call.console, "events") as progress:
        total = store.log.end - store.log.min_offset
        found = store_events(
            store, pause_ms=args.pause or PAUSE_MS, on_done=lambda size: progress(size, total)
        )
    return Outcome([EventRow(**one._asdict()) for one in found])
