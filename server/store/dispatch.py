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
from storefmt.sysflag import TRANSACTION_MASK

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
            _, _, _, log_offset, size, tags_code, _, sys_flag, _ = entry
            if queue.deleted or (sys_flag & TRANSACTION_MASK and not is_queued(sys_flag)):
                continue
            queue.tail += pack(log_offset, size, tags_code)
            queue.max_offset += 1
            if queue not in dirty:
                dirty[queue] = None
            elif queue.max_offset - queue.written_count >= _UNWRITTEN_MAX and not self.paused:
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
        try:
            if not self._index_backlog:
                index.dispatch_new(entries, now_ms)
                return
        except OSError as error:
            self.paused = error
        # What part of them is in the index is in its files: ``dispatch`` takes the rest.
        self._index_backlog += entries
        self.retry_keys(now_ms)

    def retry_keys(self, now_ms: int) -> None:
        """Put the keys into the index for which there was no space."""
        backlog, self._index_backlog = self._index_backlog, []
        for number, entry in enumerate(backlog):
            try:
                if self.index is not None:
                    self.index.dispatch(entry, now_ms)
            except OSError as error:
                self.paused = error
                self._index_backlog = backlog[number:]
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
