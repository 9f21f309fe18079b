"""Dispatch: adds the queue entry and the index entries of each stored record.

Rule: all entries go to memory, and the upkeep lets a thread write them (``entry_writes``). Index
keys are collected, because one insertion of many keys is cheaper than many insertions (it saves
2 us per write of one message). They are added to the index when there are enough of them, when the
index is queried, or with the next upkeep, and always before anything records that they are there.
If the disk is full, broken or slow, no entry is lost: it stays in memory and is written later, and
after a crash it is rebuilt from the commit log.

Records do not fail each other. If the entry of one cannot be made, the queue gets the plain entry
that a recovery would make, or a filler, which consumers skip; keys that cannot be added are
left out. Both are logged. The safe point then stays before that record (``incomplete_from``), so
the next start recovers from there and makes what is missing, as ``mqadmin store rebuild`` would.

Source: store/DefaultMessageStore.java (ReputMessageService, CommitLogDispatcherBuildIndex,
CommitLogDispatcherBuildConsumeQueue).
"""

import logging
from collections.abc import Callable
from typing import Final

from mqserver.runtime.observers import Observers
from mqserver.store.index.index import Index
from mqserver.store.queues.evicted_queues import NONE
from mqserver.store.queues.ext import ExtFiles
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import UNWRITTEN_MAX, QueueHandle, QueueTable
from mqserver.store.results import DispatchEntry
from storefmt.dispatch.record_entries import is_queued
from storefmt.formats.consumequeue import FILLER_SIZE
from storefmt.kernels import load

LOG = logging.getLogger(__name__)

KEYS_WAITING_MAX: Final = 64
"""Number of records whose keys may be collected before they are added to the index."""


class DispatchObservers(Observers[[list[DispatchEntry]]]):
    """Functions that are called with the entries that became readable."""

    __slots__ = ()

    def announce(self, entries: list[DispatchEntry]) -> None:
        """Call all functions; if one fails, again with each entry, so that it gets the others."""
        try:
            self(entries)
        except Exception:
            LOG.exception(
                "could not announce %d new messages together; announcing them one by one",
                len(entries),
            )
            for entry in entries:
                self._announce_alone(entry)

    def _announce_alone(self, entry: DispatchEntry) -> None:
        try:
            self([entry])
        except Exception:
            LOG.exception(
                "message %d of %s queue %d was stored, but not announced to every waiting request",
                entry.queue_offset, entry.topic, entry.queue_id,
            )  # fmt: skip


class Dispatcher:
    """Adds entries to the queues and the index of one store."""

    def __init__(self, index: Index | None, table: QueueTable) -> None:
        self.index = index
        self.exts: ExtFiles | None = None
        """Takes a unit for each message if the store writes consume queue ext files."""
        self.dispatched_offset = 0
        """Log offset up to which records have their queue entries."""
        self.last_store_ms = 0
        self.last_log_offset = -1
        """Where the last record begins; -1 if the start had no record to read."""
        self.new_count = 0
        """Records that were dispatched since the upkeep last began to write all queues."""
        self.incomplete_from: int | None = None
        """Log offset of the first record that lacks entries until the next start; None for none."""
        self._table = table
        self._waiting: list[DispatchEntry] = []
        # An insertion failed, so the index may already have some of the waiting keys.
        self._in_part = False

    def dispatch(
        self, entries: list[DispatchEntry], handles: list[QueueHandle], *, now_ms: int
    ) -> None:
        """Add the entries of records in log order; ``handles`` has the queue of each record."""
        table, add = self._table, _add if self.exts is None else None
        evicted_max = UNWRITTEN_MAX if self.exts is None and table.has_room else 0
        dispatched, count = 0, len(entries)
        while dispatched < count:
            if add is not None:
                dispatched = add(
                    entries, handles, dispatched, table.columns, table.files.backlog,
                    evicted_max=evicted_max,
                )  # fmt: skip
            if dispatched < count:
                self._add_alone(entries[dispatched], handles[dispatched], evicted_max)
                dispatched += 1
        if table.is_crowded:
            try:
                table.evict()
            except Exception:
                LOG.exception("could not evict queues; the next dispatch tries again")
        if self.index is not None:
            self._waiting += entries
            if len(self._waiting) >= KEYS_WAITING_MAX and not self._in_part:
                self.put_keys(now_ms)
        self.new_count += count
        last = entries[-1]
        self.dispatched_offset = last.log_offset + last.size
        self.last_store_ms = last.store_ms
        self.last_log_offset = last.log_offset

    def _add_alone(self, entry: DispatchEntry, handle: QueueHandle, evicted_max: int) -> None:
        """Add the queue entry of one record; if that fails, at least keep the places after it."""
        try:
            self._add_one(entry, handle, evicted_max)
            return
        except Exception:
            LOG.exception(
                "the first attempt to add the queue entry of the record at %d failed",
                entry.log_offset,
            )
        queue = self._table.at(handle) if isinstance(handle, int) else handle
        # Every offset that was given out has one entry, so this says whether it is there.
        if queue is None or queue.deleted or queue.max_offset != entry.queue_offset:
            return
        try:
            queue.append(entry.log_offset, entry.size, entry.tags_code)
        except Exception:
            self.note_incomplete(entry.log_offset)
            LOG.exception(
                "message %d of %s queue %d (record at %d) cannot be consumed until the next start",
                entry.queue_offset, entry.topic, entry.queue_id, entry.log_offset,
            )  # fmt: skip
            queue.append(0, FILLER_SIZE, 0)

    def note_incomplete(self, log_offset: int) -> None:
        """Let the next start recover from this record on, because it lacks entries."""
        if self.incomplete_from is None:
            self.incomplete_from = log_offset

    def _add_one(self, entry: DispatchEntry, handle: QueueHandle, evicted_max: int) -> None:
        """Add the queue entry of one record."""
        _, _, _, log_offset, size, tags_code, _, sys_flag, _ = entry
        if not is_queued(sys_flag):
            return
        queue: ConsumeQueue | None
        if isinstance(handle, int):
            columns = self._table.columns
            if columns.unwritten[handle] < evicted_max and columns.written[handle] != NONE:
                add_one = self._table.files.backlog.add_one
                place = columns.waiting[handle]
                columns.waiting[handle] = add_one(place, log_offset, size, tags_code)
                columns.unwritten[handle] += 1
                return
            # The queue has been loaded, has many entries in the backlog, or was deleted.
            queue = self._table.at(handle)
        else:
            queue = handle
        if queue is None or queue.deleted:
            return
        if self.exts is not None:
            tags_code = self.exts.put_unit(queue, entry)
        queue.append(log_offset, size, tags_code)

    def resume(self, entries: list[DispatchEntry]) -> None:
        """Continue with records whose keys found no space during recovery."""
        self._waiting = entries
        self._in_part = bool(entries)

    @property
    def keys_wait(self) -> bool:
        """Return whether the index lacks keys of dispatched records."""
        return self.index is not None and bool(self._waiting)

    def put_keys(self, now_ms: int) -> None:
        """Add the waiting keys to the index; if its slots cannot be read, they keep waiting.

        Args:
            now_ms: the time that names a new index file.
        """
        entries, index = self._waiting, self.index
        if not entries or index is None:
            return
        self._waiting = []
        try:
            if not self._in_part:
                index.dispatch_new(entries, now_ms)
                return
        except OSError as error:
            LOG.error(
                "cannot read the index, so the keys of %d records wait: %s", len(entries), error
            )
            self._in_part = True
        except Exception:
            LOG.exception(
                "could not add the keys of %d records together; adding them one by one",
                len(entries),
            )
        for number, entry in enumerate(entries):
            try:
                index.dispatch(entry, now_ms)
            except OSError:
                self._waiting = entries[number:]
                return
            except Exception:
                self.note_incomplete(entry.log_offset)
                LOG.exception(
                    "keys of the record at %d are not in the index until the next start",
                    entry.log_offset,
                )
        self._in_part = False


_add: Callable[..., int] | None = load(
    "mqserver.store.commitlog.dispatch_kernel", "add_entries", pure=None
)
