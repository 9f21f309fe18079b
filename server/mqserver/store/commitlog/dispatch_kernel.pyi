"""Types of the compiled kernel, which is there only where it was built."""

from mqserver.store.queues.entry_backlog import Backlog
from mqserver.store.queues.evicted_queues import QueueColumns
from mqserver.store.queues.queue_table import QueueHandle
from mqserver.store.results import DispatchEntry

def add_entries(
    records: list[DispatchEntry],
    handles: list[QueueHandle],
    start: int,
    columns: QueueColumns,
    backlog: Backlog,
    *,
    evicted_max: int,
) -> int: ...
