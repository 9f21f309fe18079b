"""Types of the compiled kernel, which is there only where it was built."""

from server.store.queues.entry_backlog import Backlog
from server.store.queues.evicted_queues import QueueColumns
from server.store.queues.queue_table import QueueHandle
from server.store.results import DispatchEntry

def add_entries(
    records: list[DispatchEntry],
    handles: list[QueueHandle],
    start: int,
    columns: QueueColumns,
    backlog: Backlog,
    *,
    loaded_max: int,
    evicted_max: int,
) -> int: ...
