"""How far a recovery has come, on disk, so that the next try goes on from there.

    walk ── every 256 MiB ──> queues, index, log synced ──> dispatch.json: safe up to here
    end  ──────────────────>  the same, and the store runs

Rule: what is said here was synced before, and each queue that is named has the entries of all
its records below the point. An interrupted recovery goes on from there as any start does.
"""

from typing import Final

from server.store.commitlog.flush import sync_queue_files
from server.store.commitlog.log_files import CommitLog
from server.store.disk.disk import Disk
from server.store.index.index import Index
from server.store.queues.queue_ends import QueueEnds
from server.store.queues.queue_rows import QueueRow, QueueRows
from server.store.queues.queue_table import QueueTable
from server.store.recovery.index_rewind import IndexEnds
from server.store.recovery.queue_rebuild import QueueRebuild
from server.store.recovery.safe_point import (
    IndexMark,
    SafePoint,
    Writer,
    lock_time,
    write_safe_point,
)
from storefmt.paths import StorePaths

SAVE_EVERY_SIZE: Final = 256 << 20
"""Bytes of log between two saves."""

Rebuilds = dict[tuple[str, int], QueueRebuild | None]


class Progress:
    """Writes the safe point of one recovery.

    Args:
        point: what is said now; changed by every save.
        sync_log: whether the log may hold what was never synced.
    """

    def __init__(
        self,
        disk: Disk,
        paths: StorePaths,
        *,
        log: CommitLog,
        table: QueueTable,
        point: SafePoint,
        sync_log: bool,
    ) -> None:
        self.point = point
        self.is_claimed = False
        """The point tells of every queue as it is."""
        self._disk = disk
        self._paths = paths
        self._log = log
        self._table = table
        self._sync_log = sync_log
        self._log_synced = point.safe_log_offset

    def save(self, until: int, rebuilds: Rebuilds, index: Index | None) -> None:
        """Say that every record below log offset ``until`` is in its queue and in the index.

        On a disk without space for all of it nothing is said.

        Raises:
            OSError: the disk refused.
        """
        point = self.point
        told: list[tuple[str, int, QueueRow]] = []
        for (topic, queue_id), rebuild in rebuilds.items():
            if rebuild is None or rebuild.next is None:
                continue
            first = rebuild.settle()
            if rebuild.no_space is not None:
                return
            # The first kept entry is looked for when the store is open.
            told.append((topic, queue_id, QueueRow(first, first, rebuild.next)))
        point.min_of = -1
        for topic, queue_id, row in told:
            point.queues.put(topic, queue_id, row)
        self._sync_log_until(until)
        self.sync_queues()
        point.index = self._sync_index(index, until)
        point.safe_log_offset = until
        point.lock_ns = lock_time(self._disk, self._paths)
        point.queue_file_size = self._table.files.file_size
        write_safe_point(self._disk, self._paths, point)

    def sync_queues(self) -> None:
        """Sync every queue file that is not known to be on the disk.

        Raises:
            OSError: the disk refused.
        """
        files = self._table.files
        ends = QueueEnds(self._paths.consumequeue, file_size=files.file_size)
        for queue in self._table.queues.values():
            ends.add(queue, below=None)
        sync_queue_files(self._disk, self._paths, queues=ends, names=files.take_new_names())

    def _sync_log_until(self, until: int) -> None:
        size = self._log.file_size
        if self._sync_log:
            for base in self._log.bases:
                if base < until and base + size > self._log_synced:
                    self._log.file_at(base).fdatasync()
        self._log_synced = until

    def claim(self, *, log_end: int, index: Index | None) -> None:
        """Let the point say that all of the store is on the disk; ``write`` is the caller's.

        Raises:
            OSError: the disk refused.
        """
        self.sync_queues()
        self.point.index = self._sync_index(index, log_end)
        self.point.safe_log_offset = log_end
        self.point.queues = QueueRows()
        for topic, queue_id, row in self._table.rows():
            if row.end > row.first:
                self.point.queues.put(topic, queue_id, row)
        self.is_claimed = True

    def _sync_index(self, index: Index | None, until: int) -> IndexMark | None:
        """Write and sync the index; returns what there is of it."""
        if index is None:
            return None
        index.write()
        for file in index.take_unsynced():
            file.fdatasync()
        return IndexEnds(self._disk, index).mark(below=until)


def new_point(log: CommitLog, known: SafePoint | None, *, writer: Writer) -> SafePoint:
    """Return a point that promises nothing yet and keeps what was known of other things."""
    point = SafePoint(log_file_size=log.file_size, writer=writer)
    if known is not None:
        point.deleted_topics = dict(known.deleted_topics)
        point.clock_ms = known.clock_ms
        point.sealed_ms = dict(known.sealed_ms)
    return point
