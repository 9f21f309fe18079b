"""Periodic work of a store: write queues and index, sync them, and record the safe point.

    every 1 s    queue tails and index entries are written to the page cache, in small steps
    every 60 s   a round begins: everything unsynced at that moment is written, in small steps,
                 and synced by a job; then checkpoint and dispatch.json name the log offset up
                 to which this is so. A round also begins when a new log file was begun.
    on shutdown  everything at once, and the abort file is removed

Rule: a step writes a few hundred queues, however many there are. The checkpoint has the same
meaning as in Java and covers only what was synced: physic_ms is the store time of the last
record that a flush covered, logics_ms of the last record in synced queues, and index_ms the
end of the last synced file that is full.

Source: store/DefaultMessageStore.java (FlushConsumeQueueService, #shutdown),
store/StoreCheckpoint.java, store/index/IndexService.java#flush.
"""

import errno
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mqserver.store.commitlog.dispatch import NEW_FILE_COST
from mqserver.store.commitlog.flush import FlushJob, QueueSyncJob, write_checkpoint
from mqserver.store.commitlog.groups import Group
from mqserver.store.config import StoreConfig
from mqserver.store.index.index import PAGES_A_STEP
from mqserver.store.queues.queue_ends import QueueEnds
from mqserver.store.queues.removal import RemoveJob, move_away
from mqserver.store.recovery.index_rewind import IndexEnds
from mqserver.store.recovery.opening import OpenedStore
from mqserver.store.recovery.safe_point import Listing
from mqserver.store.recovery.safe_point_file import SafePointFile
from storefmt.formats.checkpoint import Checkpoint

QUEUES_A_STEP: Final = 250
"""Most queues that one step writes, so that the event loop is not held up."""
LOOKS_A_STEP: Final = 4 * QUEUES_A_STEP
"""Queues whose ends one step records for the next sync."""


@dataclass(slots=True)
class _Round:
    """The state of one round: what to sync and then to record."""

    until: int
    """Log offset up to which the log is durable; the safe point will cover exactly the records
    below it."""
    flushed: int
    checkpoint: Checkpoint
    slots: "array[int]"
    """Queues that are still to be written and recorded in ``ends``."""
    ends: QueueEnds


class Upkeep:
    """The periodic work of one store."""

    def __init__(self, config: StoreConfig, opened: OpenedStore) -> None:
        self.flushed_ms = opened.checkpoint.physic_ms
        """Store time of the last record that is on the disk."""
        self._disk = opened.disk
        self._paths = opened.paths
        self._log = opened.log
        self._table = opened.table
        self._dispatcher = opened.dispatcher
        self._checkpoint = opened.checkpoint
        self.safe_file = SafePointFile(opened.disk, opened.paths, opened.point)
        """The one writer of ``dispatch.json``."""
        self._release = opened.release
        self.settings_changed(config)
        self._next_write_ms = opened.now_ms + self._interval_ms
        self._next_sync_ms = opened.now_ms + self._thorough_interval_ms
        self._job_running = False
        self._round: _Round | None = None
        self._synced_offset = self.safe_file.safe_log_offset

    def settings_changed(self, config: StoreConfig) -> None:
        """Apply the current intervals."""
        self._interval_ms = config.flush_interval_consume_queue_ms
        self._thorough_interval_ms = config.flush_consume_queue_thorough_interval_ms

    def flush_job(self, groups: Sequence[Group], *, store_ms: int) -> FlushJob:
        """Return a job that makes the written part of the log durable.

        Args:
            groups: the groups that wait for it (SYNC_FLUSH).
            store_ms: store time of the last written record.
        """
        directories = [self._paths.commitlog] if self._log.directory_unsynced else []
        self._log.directory_unsynced = False
        return FlushJob(
            disk=self._disk,
            files=self._log.take_unsynced(),
            directories=directories,
            until=self._log.written_offset,
            groups=groups,
            store_ms=store_ms,
        )

    def step(self, now_ms: int) -> QueueSyncJob | None:
        """Do the work that is due; return a job when it is time to sync.

        Raises:
            OSError: a write failed; nothing in memory is lost.
        """
        self._write_some(now_ms)
        if self._job_running:
            return None
        if self._round is None:
            self._table.evict_idle()
            due = _is_due(self._next_sync_ms, now_ms, self._thorough_interval_ms)
            if not (due or self._has_rolled()):
                return None
            self._next_sync_ms = now_ms + self._thorough_interval_ms
            if self._log.flushed_offset <= self._synced_offset:
                return None
            self._round = self._begin_round()
        if not self._go_on(self._round, QUEUES_A_STEP):
            return None
        job = self._sync_job(self._round)
        self._job_running = True
        return job

    @property
    def is_settled(self) -> bool:
        """Tell whether ``step`` has finished what it began."""
        dispatcher = self._dispatcher
        begun = self._round is not None or self._job_running or dispatcher.to_write is not None
        return not begun and dispatcher.paused is None

    def _write_some(self, now_ms: int) -> None:
        """Write some of the queues that were unwritten when this interval began."""
        dispatcher = self._dispatcher
        due = _is_due(self._next_write_ms, now_ms, self._interval_ms)
        if due or dispatcher.paused is not None:
            if dispatcher.to_write is None:
                dispatcher.to_write = self._table.unwritten()
            dispatcher.put_keys(now_ms)
            if dispatcher.index is not None:
                dispatcher.index.write(pages_max=PAGES_A_STEP)
            self._next_write_ms = now_ms + self._interval_ms
        # A round writes the queues it needs itself.
        if self._round is None:
            dispatcher.write_queues(cost_max=QUEUES_A_STEP)

    def _has_rolled(self) -> bool:
        """Tell whether the flushed part of the log has reached a new file since the last round."""
        size = self._log.file_size
        return self._log.flushed_offset // size > self._synced_offset // size

    def job_ended(self) -> None:
        """Allow the next sync job to start."""
        self._job_running = False

    def _begin_round(self) -> _Round:
        dispatcher = self._dispatcher
        dispatcher.put_keys(dispatcher.last_store_ms)
        until = min(self._log.flushed_offset, dispatcher.dispatched_offset)
        if dispatcher.keys_wait or dispatcher.incomplete_from is not None:
            # Keys that found no space are not in any index file yet; and a record that lacks
            # entries gets them from a recovery.
            until = self.safe_file.safe_log_offset
        dispatcher.to_write = None
        self._table.forgotten.clear()
        return _Round(
            until=until,
            flushed=self._log.flushed_offset,
            checkpoint=Checkpoint(
                self.flushed_ms, dispatcher.last_store_ms, self._checkpoint.index_ms
            ),
            slots=self._table.unsynced(),
            ends=QueueEnds(self._paths.consumequeue, file_size=self._table.files.file_size),
        )

    def _go_on(self, round_: _Round, count_max: int) -> bool:
        """Write some queues of a round; return True once all of them are written.

        Raises:
            OSError: the disk refused a write; the round continues with that queue later.
        """
        cost, looks = 0, count_max * LOOKS_A_STEP // QUEUES_A_STEP
        while round_.slots and cost < count_max and looks:
            with self._table.borrow(round_.slots[-1]) as queue:
                # A queue that was deleted and created again belongs to the next round.
                if queue is not None and queue.key not in self._table.forgotten:
                    if queue.unwritten_size:
                        cost += NEW_FILE_COST if queue.is_at_new_file else 1
                        queue.write()
                    round_.ends.add(queue, below=round_.until)
                    queue.drop_tail()
            round_.slots.pop()
            looks -= 1
        if self._table.is_crowded:
            self._dispatcher.evict()
        return not round_.slots

    def _sync_job(self, round_: _Round) -> QueueSyncJob:
        dispatcher = self._dispatcher
        checkpoint = round_.checkpoint
        files = []
        ends: IndexEnds | None = None
        if dispatcher.index is not None:
            dispatcher.index.write()
            files = dispatcher.index.take_unsynced()
            ends = IndexEnds(self._disk, dispatcher.index)
            full = [file.end_ms for file in files if file.is_full]
            checkpoint = checkpoint._replace(index_ms=max(full, default=checkpoint.index_ms))
        ext_paths, ext_directories = self._table.exts.take_unsynced()
        self._round = None
        self._checkpoint = checkpoint
        self._synced_offset = round_.flushed
        return QueueSyncJob(
            disk=self._disk,
            store=self._paths,
            queues=round_.ends,
            paths=ext_paths,
            files=files,
            names=self._table.files.take_new_names(),
            directories=ext_directories,
            checkpoint=checkpoint,
            record=lambda: self.safe_file.advance(
                round_.until,
                round_.ends.rows(),
                None if ends is None else ends.mark(below=round_.until),
                forgotten=self._table.forgotten,
            ),
        )  # fmt: skip

    def delete_topic(self, topic: str, log_end: int) -> tuple[int, RemoveJob]:
        """Remove the queues of a topic; its records below ``log_end`` are not recovered.

        Returns:
            How many queues there were, and a job (any thread) that makes the removal durable.

        Raises:
            BadCall: the topic cannot be part of a path.
            OSError: the disk refused.
        """
        queues = self._table.take_topic(topic)
        for queue in queues:
            self._table.exts.remove(queue)
            self.safe_file.note_removed(queue.key)
        return len(queues), RemoveJob(
            disk=self._disk,
            moved=[move_away(self._disk, queue.directory) for queue in queues],
            directories=[self._paths.consumequeue / topic],
            log_end=log_end,
            record=lambda end: self.safe_file.forget_topic(topic, end),
        )

    def close(self, flushed_offset: int) -> None:
        """Write and sync everything that is left, and remove the abort file.

        Raises:
            OSError: a write or sync failed; the abort file stays.
        """
        if self._round is not None:
            # This round does not cover everything: entries may have been added since it began.
            self._finish(self._round)
        self._finish(self._begin_round())
        if self._dispatcher.keys_wait:
            raise OSError(errno.ENOSPC, "the index has no space for the last keys")
        if self._dispatcher.incomplete_from is not None:
            record = f"the record at {self._dispatcher.incomplete_from} lacks entries"
            raise OSError(errno.EAGAIN, f"{record}; the next start makes them from the log")
        self._log.drop_unused()
        self._table.close()
        if self._dispatcher.index is not None:
            self._dispatcher.index.close()
        self.safe_file.stop(flushed_offset, Listing(self._disk, self._paths).digest)
        write_checkpoint(self._disk, self._paths, self._checkpoint)
        self._disk.unlink(self._paths.abort)
        self._disk.fsync_dir(self._paths.root)

    def _finish(self, round_: _Round) -> None:
        while not self._go_on(round_, LOOKS_A_STEP):
            pass
        job = self._sync_job(round_)
        job.run()
        if job.error is not None:
            raise job.error

    def release(self) -> None:
        """Close the open files and release the lock."""
        self._table.close()
        if self._dispatcher.index is not None:
            self._dispatcher.index.close()
        self._release()


def _is_due(next_ms: int, now_ms: int, interval_ms: int) -> bool:
    """Tell whether it is time, or whether the clock was set back, which would delay it."""
    return not 0 < next_ms - now_ms <= interval_ms
