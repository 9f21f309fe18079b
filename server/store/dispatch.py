"""Dispatch: a stored record gets its queue entry and its index entries.

Rule: everything here is memory first. A disk that is full or broken while queues or
index are written does not lose an entry: it stays in memory and is written later, and
after a crash it is built again from the commit log.

Source: store/DefaultMessageStore.java (ReputMessageService, CommitLogDispatcherBuildIndex,
CommitLogDispatcherBuildConsumeQueue).
"""

from collections.abc import Sequence
from typing import Final

from server.store.append import is_queued
from server.store.calls import DispatchEntry
from server.store.index import Index
from server.store.queue import TAIL_FLUSH_SIZE, ConsumeQueue
from storefmt.consumequeue import CQ_ENTRY, ENTRY_SIZE

_UNWRITTEN_MAX: Final = TAIL_FLUSH_SIZE // ENTRY_SIZE


class Dispatcher:
    """Feeds queues and index of one store."""

    def __init__(self, index: Index | None) -> None:
        self.index = index
        self.dirty: dict[ConsumeQueue, None] = {}
        """Queues with entries that are not written, or files that are not synced."""
        self.dispatched_offset = 0
        """Log offset up to which records are in their queues."""
        self.last_store_ms = 0
        self.paused: OSError | None = None
        """Why entries stay in memory for now; housekeeping tries again."""
        self._index_backlog: list[DispatchEntry] = []

    def dispatch(
        self, entries: Sequence[DispatchEntry], queues: Sequence[ConsumeQueue], *, now_ms: int
    ) -> None:
        """Take records in log order; ``queues`` are theirs, one each."""
        pack = CQ_ENTRY.pack
        dirty = self.dirty
        for entry, queue in zip(entries, queues, strict=True):
            sys_flag = entry.sys_flag
            if queue.deleted or (sys_flag & 12 and not is_queued(sys_flag)):
                continue
            queue.tail += pack(entry.log_offset, entry.size, entry.tags_code)
            queue.max_offset += 1
            dirty[queue] = None
            if queue.max_offset - queue.written_count >= _UNWRITTEN_MAX and not self.paused:
                try:
                    queue.write()
                except OSError as error:
                    self.paused = error
        if self.index is not None:
            self._dispatch_keys(self.index, entries, now_ms)
        last = entries[-1]
        self.dispatched_offset = last.log_offset + last.size
        self.last_store_ms = last.store_ms

    def _dispatch_keys(self, index: Index, entries: Sequence[DispatchEntry], now_ms: int) -> None:
        if self._index_backlog:
            entries = [*self._index_backlog, *entries]
            self._index_backlog = []
        for number, entry in enumerate(entries):
            try:
                index.dispatch(entry, now_ms)
            except OSError as error:
                self.paused = error
                self._index_backlog = list(entries[number:])
                return

    def write_queues(self, *, count_max: int | None = None) -> None:
        """Write queue entries that are only in memory.

        Args:
            count_max: most queues to write now.

        Raises:
            OSError: the disk did not take them; they stay in memory.
        """
        waiting = [queue for queue in self.dirty if queue.unwritten_size]
        for queue in waiting[:count_max]:
            if not queue.deleted:
                queue.write()
        self.paused = None
