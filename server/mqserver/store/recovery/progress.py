"""Saves how far a recovery has come, so that the next start continues from there.

    scan ── every 256 MiB ──> queues, index, log synced ──> dispatch.json: safe up to here
    end  ──────────────────>  the same, and the store starts to serve

Rule: everything that is recorded was synced before, and each queue that is named has the
entries of all its records below the safe point. After an interrupted recovery the next start
continues from there, like any other start.
"""

from dataclasses import dataclass
from typing import Final

from mqserver.store.commitlog.flush import sync_queue_files
from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.disk.disk import Disk
from mqserver.store.index.index import Index
from mqserver.store.queues.queue_ends import QueueEnds
from mqserver.store.queues.queue_rows import QueueRow, QueueRows
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.recovery.index_rewind import IndexEnds
from mqserver.store.recovery.queue_rebuild import QueueRebuild
from mqserver.store.recovery.safe_point import (
    IndexMark,
    SafePoint,
    StoreState,
    lock_time,
    write_safe_point,
)
from storefmt.paths import StorePaths

SAVE_EVERY_SIZE: Final = 256 << 20
"""Bytes of log that are scanned between two saves."""

Rebuilds = dict[tuple[str, int], QueueRebuild | None]


@dataclass(eq=False, kw_only=True)
class RecoveryProgress:
    """Writes the safe point during one recovery."""

    disk: Disk
    paths: StorePaths
    log: CommitLog
    table: QueueTable
    point: SafePoint
    """The current safe point; every save changes it."""
    sync_log: bool
    """The log may hold bytes that were never synced."""
    is_claimed: bool = False
    """The safe point describes every queue as it is."""

    def __post_init__(self) -> None:
        self._log_synced = self.point.safe_log_offset

    def save(self, until: int, rebuilds: Rebuilds, index: Index | None) -> None:
        """Record that queues and index have the entries of every record below ``until``.

        If the disk has no space for all entries, nothing is recorded.

        Args:
            until: log offset.
            rebuilds: the queues that are being rebuilt.
            index: the index, None if there is none.

        Raises:
            OSError: the disk refused.
        """
        point = self.point
        rows: list[tuple[str, int, QueueRow]] = []
        for (topic, queue_id), rebuild in rebuilds.items():
            if rebuild is None or rebuild.next is None:
                continue
            first = rebuild.settle()
            if rebuild.no_space is not None:
                return
            # The first retained entry is determined when the store is open.
            rows.append((topic, queue_id, QueueRow(first, first, rebuild.next)))
        point.min_of = -1
        for topic, queue_id, row in rows:
            point.queues.put_row(topic, queue_id, row)
        self._sync_log_until(until)
        self.sync_queues()
        point.index = self._sync_index(index, until)
        point.safe_log_offset = until
        point.lock_ns = lock_time(self.disk, self.paths)
        point.queue_file_size = self.table.files.file_size
        write_safe_point(self.disk, self.paths, point)

    def sync_queues(self) -> None:
        """Sync every queue file that may not be on the disk.

        Raises:
            OSError: the disk refused.
        """
        files = self.table.files
        ends = QueueEnds(self.paths.consumequeue, file_size=files.file_size)
        for queue in self.table.queues.values():
            ends.add(queue, below=None)
        sync_queue_files(self.disk, self.paths, queues=ends, names=files.take_new_names())

    def _sync_log_until(self, until: int) -> None:
        size = self.log.file_size
        if self.sync_log:
            for base in self.log.bases:
                if base < until and base + size > self._log_synced:
                    self.log.file_at(base).fdatasync()
        self._log_synced = until

    def claim(self, *, log_end: int, index: Index | None) -> None:
        """Make the safe point cover the whole store; the caller has to write it.

        Raises:
            OSError: the disk refused.
        """
        self.sync_queues()
        self.point.index = self._sync_index(index, log_end)
        self.point.safe_log_offset = log_end
        self.point.queues = QueueRows()
        for topic, queue_id, row in self.table.rows():
            if row.end > row.first:
                self.point.queues.put_row(topic, queue_id, row)
        self.is_claimed = True

    def _sync_index(self, index: Index | None, until: int) -> IndexMark | None:
        """Write and sync the index; return the mark that the safe point records."""
        if index is None:
            return None
        index.write()
        for file in index.take_unsynced():
            file.fdatasync()
        return IndexEnds(self.disk, index).mark(below=until)


def new_point(log: CommitLog, old_point: SafePoint | None) -> SafePoint:
    """Return a safe point of a recovery, at log offset 0.

    It keeps the deletions and the retention of ``old_point``.
    """
    point = SafePoint(log_file_size=log.file_size, state=StoreState.RECOVERING)
    if old_point is not None:
        point.deleted_topics = dict(old_point.deleted_topics)
        point.clock_ms = old_point.clock_ms
        point.sealed_ms = dict(old_point.sealed_ms)
    return point
