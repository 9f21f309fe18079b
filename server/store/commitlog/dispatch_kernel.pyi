"""Types of the compiled kernel, which is there only where it was built."""

from collections.abc import Callable

from server.store.queues.evicted_queues import QueueColumns
from server.store.queues.queue_table import QueueHandle
from server.store.results import DispatchEntry

def add_entries(
    records: list[DispatchEntry],
    handles: list[QueueHandle],
    start: int,
    columns: QueueColumns,
    add_one: Callable[[int, int, int, int], int],
    *,
    loaded_max: int,
    evicted_max: int,
) -> int: ...
