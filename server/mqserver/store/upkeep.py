"""Periodic work of a store: write queues and index, sync them, and record the safe point.

    every 1 s    a sweep: queue tails and index entries go to the page cache, in small jobs
    every 60 s   a round begins: everything unsynced at that moment is written, in small jobs,
                 and synced by one more; then checkpoint and dispatch.json name the log offset
                 up to which this is so. A round also begins when a new log file was begun.
    on shutdown  everything at once, and the abort file is removed

Rule: the disk is only touched by jobs, of which one runs at a time. A job writes a few hundred
queues, however many there are. The checkpoint has the same
meaning as in Java and covers only what was synced: physic_ms is the store time of the last
record that a flush covered, logics_ms of the last record in synced queues, and index_ms the
end of the last synced file that is full.

Source: store/DefaultMessageStore.java (FlushConsumeQueueService, #shutdown),
store/StoreCheckpoint.java, store/index/IndexService.java#flush.
"""

import errno
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mqserver.store.commitlog.flush import FlushJob, QueueSyncJob, write_checkpoint
from mqserver.store.commitlog.write_groups import Group
from mqserver.store.disk.disk import FilePath
from mqserver.store.entry_writes import EntryWrite
from mqserver.store.index.index import PAGES_A_STEP
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_ends import QueueEnds
from mqserver.store.queues.removal import RemoveJob
from mqserver.store.recovery.index_rewind import IndexEnds
from mqserver.store.recovery.opening import OpenedStore
from mqserver.store.recovery.safe_point import Listing
from mqserver.store.recovery.safe_point_file import SafePointFile
from mqserver.store.store_config import StoreConfig
from storefmt.formats.checkpoint import Checkpoint

QUEUES_A_STEP: Final = 250
"""Most queues whose entries one step copies, so that the event loop is not held up."""
LOOKS_A_STEP: Final = 4 * QUEUES_A_STEP
"""Queues whose ends one step records for the next sync; also how many one step copies while the
backlog of entries is full."""
NEW_MAX: Final = 1 << 16
"""Number of new entries that are written without waiting for the interval."""


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
    index_ends: IndexEnds | None = None
    """The end of the index when it was last copied to be written, behind all keys of ``until``."""
    is_index_written: bool = False


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
        self._job: EntryWrite | QueueSyncJob | None = None
        self._to_write: Iterator[int] | None = None
        """Slots of the queues that are left of a sweep; None between two."""
        self._is_behind = False
        """The last write was refused, and is tried again."""
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

    def step(self, now_ms: int) -> EntryWrite | QueueSyncJob | None:
        """Return the next job that is due; pass it to ``job_ended`` afterwards.

        Raises:
            OSError: the end of a queue could not be read.
        """
        if self._job is None:
            self._job = self._continue_round(now_ms) or self._sweep(now_ms)
            return self._job
        return None

    @property
    def is_settled(self) -> bool:
        """Return whether ``step`` has finished what it began."""
        is_busy = self._round is not None or self._job is not None
        return not (is_busy or self._to_write is not None or self._is_behind)

    def _sweep(self, now_ms: int) -> EntryWrite | None:
        """Return a job that writes some of the queues that were unwritten when the sweep began."""
        dispatcher, job = self._dispatcher, EntryWrite(self._table)
        is_due = _is_due(self._next_write_ms, now_ms, self._interval_ms)
        if is_due or self._is_behind or dispatcher.new_count >= NEW_MAX:
            if self._to_write is None:
                self._to_write = self._table.unwritten()
                dispatcher.new_count = 0
            self._is_behind = False
            self._next_write_ms = now_ms + self._interval_ms
            dispatcher.put_keys(now_ms)
            if dispatcher.index is not None:
                job.add_index(dispatcher.index, pages_max=PAGES_A_STEP)
        # A round writes the queues it needs itself.
        if self._round is None and self._to_write is not None:
            cost_max = QUEUES_A_STEP if self._table.has_room else LOOKS_A_STEP
            for slot in self._to_write:
                job.add_queue(slot)
                if job.cost >= cost_max:
                    break
            else:
                self._to_write = None
        return job or None

    def _continue_round(self, now_ms: int) -> EntryWrite | QueueSyncJob | None:
        """Return the next job of the round, of a new one if it is due."""
        if self._round is None:
            self._table.evict_idle()
            is_due = _is_due(self._next_sync_ms, now_ms, self._thorough_interval_ms)
            # A new queue of an old name is written only when the old files are moved away.
            if self._table.removals or not (is_due or self._has_rolled()):
                return None
            self._next_sync_ms = now_ms + self._thorough_interval_ms
            if self._log.flushed_offset <= self._synced_offset:
                return None
            self._round = self._begin_round()
        return self._job_of(self._round, QUEUES_A_STEP)

    def _has_rolled(self) -> bool:
        """Return whether the flushed part of the log reached a new file since the last round."""
        size = self._log.file_size
        return self._log.flushed_offset // size > self._synced_offset // size

    def job_ended(self, job: EntryWrite | QueueSyncJob) -> OSError | None:
        """Process the result of a job; return why some entries are not written, or None.

        A sync that failed is for the caller to judge.
        """
        if job is self._job:
            self._job = None
        return self._write_ended(job) if isinstance(job, EntryWrite) else None

    def _write_ended(self, job: EntryWrite) -> OSError | None:
        round_, error = self._round, job.error
        unread: list[int] = []

        def record_end(queue: ConsumeQueue) -> None:
            nonlocal error
            if round_ is not None:
                try:
                    self._record_end(round_, queue)
                except OSError as reason:
                    error = error or reason
                    unread.append(queue.slot)

        refused = job.end(record_end)
        if round_ is not None:
            round_.slots.extend(refused + unread)
            round_.is_index_written = round_.index_ends is not None and job.error is None
        self._is_behind = error is not None
        return error

    def _begin_round(self) -> _Round:
        dispatcher = self._dispatcher
        dispatcher.put_keys(dispatcher.last_store_ms)
        until = min(self._log.flushed_offset, dispatcher.dispatched_offset)
        if dispatcher.keys_wait or dispatcher.incomplete_from is not None:
            # Keys that found no space are not in any index file yet; and a record that lacks
            # entries gets them from a recovery.
            until = self.safe_file.safe_log_offset
        self._to_write = None
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

    def _job_of(self, round_: _Round, count_max: int) -> EntryWrite | QueueSyncJob | None:
        """Return the next job of a round; None if it goes on with the next step.

        Raises:
            OSError: the end of a queue could not be read; the round continues with it later.
        """
        job, looks = EntryWrite(self._table), count_max * LOOKS_A_STEP // QUEUES_A_STEP
        while round_.slots and job.cost < count_max and looks:
            slot = round_.slots[-1]
            try:
                with self._table.borrow(slot) as queue:
                    is_unwritten = queue is not None and queue.unwritten_size > 0
                    if queue is not None and not is_unwritten:
                        self._record_end(round_, queue)
            except OSError:
                # What was copied so far has to be written; then this queue is tried again.
                if not job:
                    raise
                break
            if is_unwritten:
                job.add_queue(slot)
            round_.slots.pop()
            looks -= 1
        if self._table.is_crowded:
            self._table.evict()
        if not round_.slots and not round_.is_index_written:
            index = self._dispatcher.index
            round_.index_ends = None if index is None else IndexEnds(self._disk, index)
            round_.is_index_written = index is None
            if index is not None:
                job.add_index(index, pages_max=None)
        if job or round_.slots:
            return job or None
        return self._sync_job(round_)

    def _record_end(self, round_: _Round, queue: ConsumeQueue) -> None:
        """Record the end of a queue of which everything below ``until`` is written."""
        # A queue that was deleted and created again belongs to the next round.
        if queue.key not in self._table.forgotten:
            round_.ends.add(queue, below=round_.until)
            queue.drop_tail()

    def _sync_job(self, round_: _Round) -> QueueSyncJob:
        index, ends, checkpoint = self._dispatcher.index, round_.index_ends, round_.checkpoint
        paths: list[FilePath] = []
        if index is not None:
            files = index.take_unsynced()
            paths += [file.path for file in files]
            full = [file.end_ms for file in files if file.is_done]
            checkpoint = checkpoint._replace(index_ms=max(full, default=checkpoint.index_ms))
        ext_paths, ext_directories = self._table.exts.take_unsynced()
        self._round = None
        self._checkpoint = checkpoint
        self._synced_offset = round_.flushed
        return QueueSyncJob(
            disk=self._disk,
            store=self._paths,
            queues=round_.ends,
            paths=[*paths, *ext_paths],
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
        job = RemoveJob(
            disk=self._disk,
            keys={queue.key for queue in queues},
            left=[queue.directory for queue in queues],
            lock=self._table.removal_lock,
            directories=[self._paths.consumequeue / topic],
            log_end=log_end,
            record=lambda end: self.safe_file.forget_topic(topic, end),
        )
        return len(queues), self._table.begin_removal(job)

    def close(self, flushed_offset: int) -> None:
        """Write and sync everything that is left, and remove the abort file.

        Raises:
            OSError: a write or sync failed; the abort file stays.
        """
        for removal in self._table.removals[:]:
            removal.do_work()
            if removal.error is not None:
                raise removal.error
            self._table.end_removal(removal)
        if self._round is not None:
            # This round does not cover everything: entries may have been added since it began.
            self._finish(self._round)
        self._round = self._begin_round()
        self._finish(self._round)
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
        is_synced = False
        while not is_synced:
            job = self._job_of(round_, LOOKS_A_STEP)
            if job is not None:
                job.do_work()
                error = self._write_ended(job) if isinstance(job, EntryWrite) else job.error
                if error is not None:
                    raise error
                is_synced = isinstance(job, QueueSyncJob)

    def release(self) -> None:
        """Close the open files and release the lock."""
        self._table.close()
        if self._dispatcher.index is not None:
            self._dispatcher.index.close()
        self._release()


def _is_due(next_ms: int, now_ms: int, interval_ms: int) -> bool:
    """Return whether it is time, or whether the clock was set back, which would delay it."""
    return not 0 < next_ms - now_ms <= interval_ms
