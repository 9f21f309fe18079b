"""What a store does now and then: write queues and index, sync them, say so.

    every 1 s    queue tails and index entries go to the page cache, in small steps
    every 60 s   they are synced (a job); checkpoint and dispatch.json tell up to where;
                 also when the log has gone on to its next file
    on stop      all of it at once, and the abort file goes away

Rule: the checkpoint holds what Java means by it, and only what was synced: physic_ms is
the store time of the last record a flush covered, logics_ms of the last one in synced
queues, index_ms the end of the last synced file that is full.

Source: store/DefaultMessageStore.java (FlushConsumeQueueService, #shutdown),
store/StoreCheckpoint.java, store/index/IndexService.java#flush.
"""

import errno
from pathlib import Path
from typing import Final

from server.store.config import StoreConfig
from server.store.flush import FlushJob, QueueSyncJob, write_checkpoint
from server.store.index import PAGES_A_STEP
from server.store.opening import OpenedStore
from server.store.progress import mark_of
from server.store.safefile import QueueEnd, SafePointFile
from server.store.safepoint import IndexMark, fingerprints
from storefmt.checkpoint import Checkpoint

QUEUES_A_STEP: Final = 500
"""Queues that one step writes, at most, so that no turn is long."""


class Upkeep:
    """The slow work of one store."""

    def __init__(self, config: StoreConfig, opened: OpenedStore) -> None:
        self.flushed_ms = opened.checkpoint.physic_ms
        """Store time of the last record that is known to be on the disk."""
        self._disk = opened.disk
        self._paths = opened.paths
        self._log = opened.log
        self._table = opened.table
        self._dispatcher = opened.dispatcher
        self._checkpoint = opened.checkpoint
        self.safe_file = SafePointFile(opened.disk, opened.paths, opened.point)
        """The one writer of ``dispatch.json``."""
        self._release = opened.release
        self._interval_ms = config.flush_interval_consume_queue_ms
        self._thorough_interval_ms = config.flush_consume_queue_thorough_interval_ms
        self._next_write_ms = opened.now_ms + self._interval_ms
        self._next_sync_ms = opened.now_ms + self._thorough_interval_ms
        self._job_running = False
        self._synced_offset = self.safe_file.safe_log_offset

    def flush_job(self, *, entry_count: int, store_ms: int) -> FlushJob:
        """Return a job that makes the written part of the log durable."""
        directories = [self._paths.commitlog] if self._log.directory_unsynced else []
        self._log.directory_unsynced = False
        return FlushJob(
            self._disk,
            files=self._log.take_unsynced(),
            directories=directories,
            until=self._log.written_offset,
            entry_count=entry_count,
            store_ms=store_ms,
        )

    def step(self, now_ms: int) -> QueueSyncJob | None:
        """Do what is due; returns a job when it is time to sync.

        Raises:
            OSError: the disk did not take something; nothing is lost from memory.
        """
        if now_ms >= self._next_write_ms or self._dispatcher.paused is not None:
            self._dispatcher.write_queues(count_max=QUEUES_A_STEP)
            self._dispatcher.put_keys(now_ms)
            if self._dispatcher.index is not None:
                self._dispatcher.index.write(pages_max=PAGES_A_STEP)
            self._next_write_ms = now_ms + self._interval_ms
        self._log.allocate_ahead()
        if self._job_running or not (now_ms >= self._next_sync_ms or self._has_rolled()):
            return None
        self._next_sync_ms = now_ms + self._thorough_interval_ms
        if self._log.flushed_offset <= self._synced_offset:
            return None
        self._job_running = True
        return self._sync_job()

    def _has_rolled(self) -> bool:
        """Tell whether a flush went into a new file: all files before it are then safe."""
        size = self._log.file_size
        return self._log.flushed_offset // size > self._synced_offset // size

    def job_ended(self) -> None:
        """Allow the next sync job."""
        self._job_running = False

    def _sync_job(self) -> QueueSyncJob:
        dispatcher = self._dispatcher
        dispatcher.put_keys(dispatcher.last_store_ms)
        dispatcher.write_queues()
        paths: list[Path] = []
        ends: list[QueueEnd] = []
        for queue in dispatcher.dirty:
            if not queue.deleted:
                paths += queue.take_unsynced()
                ends.append(QueueEnd(queue, queue.first, queue.max_offset))
                queue.drop_tail()
        dispatcher.dirty.clear()
        ext_paths, ext_directories = self._table.exts.take_unsynced()
        index_ms = self._checkpoint.index_ms
        files = []
        mark: IndexMark | None = None
        if dispatcher.index is not None:
            dispatcher.index.write()
            files = dispatcher.index.take_unsynced()
            mark = mark_of(dispatcher.index)
            full = [file.end_ms for file in files if file.is_full]
            index_ms = max(full, default=index_ms)
        self._checkpoint = Checkpoint(self.flushed_ms, dispatcher.last_store_ms, index_ms)
        self._synced_offset = self._log.flushed_offset
        # Keys for which there was no space are in no file yet.
        until = min(self._log.flushed_offset, dispatcher.dispatched_offset)
        if dispatcher.keys_wait:
            until = 0
        return QueueSyncJob(
            self._disk,
            self._paths,
            paths=ext_paths + paths,
            files=files,
            directories=[*ext_directories, *self._new_directories()],
            checkpoint=self._checkpoint,
            say=lambda: self.safe_file.advance(until, ends, mark),
        )

    def _new_directories(self) -> list[Path]:
        """Return every directory with names that may not be on the disk."""
        queues, self._table.files.new_directories = self._table.files.new_directories, set()
        topics = {queue.parent for queue in queues}
        roots = [self._paths.consumequeue, self._paths.index, self._paths.root]
        return [*sorted(queues), *sorted(topics), *roots]

    def delete_topic(self, topic: str, log_end: int) -> int:
        """Remove the queues of a topic; its records up to ``log_end`` never come back.

        Raises:
            OSError: the disk refused.
        """
        for queue in self._table.queues.values():
            if queue.topic == topic:
                queue.deleted = True
        self.safe_file.forget_topic(topic, log_end)
        return self._table.delete_topic(topic)

    def close(self, flushed_offset: int) -> None:
        """Write and sync the rest and take the abort file away.

        Raises:
            OSError: the disk did not take it; the abort file stays.
        """
        job = self._sync_job()
        job.run()
        if job.error is not None:
            raise job.error
        if self._dispatcher.keys_wait:
            raise OSError(errno.ENOSPC, "the index has no space for the last keys")
        self._log.drop_unused()
        self._table.close()
        if self._dispatcher.index is not None:
            self._dispatcher.index.close()
        files = fingerprints(self._disk, self._paths)
        self.safe_file.stop(flushed_offset, files)
        write_checkpoint(self._disk, self._paths, self._checkpoint)
        self._disk.unlink(self._paths.abort)
        self._disk.fsync_dir(self._paths.root)

    def release(self) -> None:
        """Close what is open and give the lock back."""
        self._table.close()
        if self._dispatcher.index is not None:
            self._dispatcher.index.close()
        self._release()
