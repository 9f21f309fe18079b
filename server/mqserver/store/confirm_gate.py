"""Holds the entries of messages that a failover to another replica could still take back.

    dispatch ──> admit ──> at or below the confirm offset ──> queues, index, readers
                   └─ above it: held, in log order, until the confirm offset has reached them

Rule: nothing above the confirm offset is in a queue, so that no reader sees it: pulls, pops,
timers, delays and transaction checks read queues. A store without a group holds nothing.

Source: store/DefaultMessageStore.java#ReputMessageService, which stops at getConfirmOffset (5.4.0).
"""

from collections import deque

from mqserver.store.queues.queue_table import QueueHandle
from mqserver.store.results import DispatchEntry
from storefmt.formats.consumequeue import FILLER_SIZE


class ConfirmGate:
    """The messages of one store that are not confirmed."""

    def __init__(self) -> None:
        self.limit: int | None = None
        """Log offset at or below which messages end that may be read; None for no limit."""
        self._held: deque[tuple[DispatchEntry, QueueHandle]] = deque()

    def __len__(self) -> int:
        return len(self._held)

    def admit(
        self, entries: list[DispatchEntry], handles: list[QueueHandle]
    ) -> tuple[list[DispatchEntry], list[QueueHandle]]:
        """Return the entries, with their queues, that may be read now; the others are held."""
        limit, held = self.limit, self._held
        if not held and (limit is None or not entries or _end(entries[-1]) <= limit):
            return entries, handles
        held.extend(zip(entries, handles, strict=True))
        entries, handles = [], []
        while held and (limit is None or _end(held[0][0]) <= limit):
            entry, handle = held.popleft()
            entries.append(entry)
            handles.append(handle)
        return entries, handles


def _end(entry: DispatchEntry) -> int:
    """Return the log offset at which a message ends; a filler of a queue is not in the log."""
    return 0 if entry.size == FILLER_SIZE else entry.log_offset + entry.size
