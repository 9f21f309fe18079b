"""Deleting old data: what the policy names goes from the log, then from queues and index.

    step (loop) ─ log files ──> DeleteLogJob ──────> end: the log begins later
         ─ queues ────────────> ScanQueuesJob ─────> end: min offsets corrected
         ─ their files, index > DeleteFilesJob ────> end

Rule: one job at a time, and only ``run`` of a job in another thread. A file is let go by
all readers on the loop before a thread deletes it; who reads it in a thread has it open
and ends well. A file is deleted only when the safe point is behind it.

Source: store/DefaultMessageStore.java (CleanCommitLogService, CleanConsumeQueueService,
#cleanExpiredConsumerQueue), store/index/IndexService.java#deleteExpiredFile.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from server.store.cleanjobs import (
    CleanJob,
    DeleteFilesJob,
    DeleteLogJob,
    QueueFinding,
    QueueView,
    ScanQueuesJob,
)
from server.store.config import StoreConfig
from server.store.dispatch import Dispatcher
from server.store.opening import OpenedStore
from server.store.queue import ConsumeQueue
from server.store.retention import Retention, RetentionClock
from server.store.safefile import SafePointFile
from server.store.safepoint import SafePoint

LOG = logging.getLogger(__name__)

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
QUEUES_A_STEP: Final = 200
"""Expired queues that one step removes, so that no turn is long."""


class Cleaner:
    """The retention of one store.

    Args:
        store_ms_at: gives the store time (ms) of the record at a log offset, -1 for none.
    """

    def __init__(
        self,
        config: StoreConfig,
        opened: OpenedStore,
        *,
        safe_file: SafePointFile,
        store_ms_at: Callable[[int], int],
    ) -> None:
        clock = RetentionClock(
            known_ms=safe_file.clock_ms, newest_ms=opened.last_store_ms, now_ms=opened.now_ms
        )
        self.policy = Retention(config, clock, safe_file.sealed_ms)
        self.slowest_ms = 0.0
        """Longest time that deleting one commit log file took, in its thread."""
        self._config = config
        self._disk = opened.disk
        self._root = opened.paths.root
        self._log = opened.log
        self._table = opened.table
        self._dispatcher: Dispatcher = opened.dispatcher
        self._safe_file = safe_file
        self._store_ms_at = store_ms_at
        self._job: CleanJob | None = None
        self._stop = threading.Event()
        self._next_look_ms = opened.now_ms
        self._looked_ms = opened.now_ms
        self._cleaned_min = -1
        self._index_paths: list[Path] = []
        self._ext_paths: list[Path] = []
        self._findings: list[QueueFinding] = []
        self._asked: list[Callable[[], None]] = []
        self._asked_now: list[Callable[[], None]] = []
        self._expired: list[QueueFinding] = []

    def delete_by_hand(self) -> None:
        """Delete expired commit log files now and for some minutes, whatever the hour."""
        self.policy.delete_by_hand()
        self._next_look_ms = 0

    def remove_expired_queues(self, done: Callable[[], None]) -> None:
        """Remove queues that have no message any more; they begin at 0 again.

        Args:
            done: called once it is done.
        """
        self._asked.append(done)

    def close(self) -> None:
        """Let a job that runs end soon."""
        self._stop.set()

    def disk_used(self) -> float:
        """Return the part of the store's disk that is in use, 0 to 1, as it is now."""
        usage = self._disk.usage(self._root)
        whole = usage.used + usage.usable
        return usage.used / whole if whole else 0.0

    def step(self, now_ms: int) -> CleanJob | None:
        """Return what is to be done now, None for nothing; call it about every second.

        Raises:
            OSError: the disk cannot be looked at.
        """
        if self._job is not None:
            return None
        self._job = self._next_job(now_ms)
        return self._job

    def _next_job(self, now_ms: int) -> CleanJob | None:
        if self._findings or self._index_paths or self._ext_paths:
            return self._delete_files_job()
        if self._expired:
            self._remove_queues()
            return None
        if self._asked or self._cleaned_min != self._log.min_offset:
            return self._scan_job()
        log, usage = self._log, self._disk.usage(self._root)
        if not log.bases:
            return None
        active = log.end - log.end % log.file_size
        self.policy.look(now_ms, bases=log.bases, active=active, usage=usage)
        self._safe_file.note_clock(self.policy.clock_ms, dict(self.policy.sealed_ms))
        # A clock that was set back must not stop the looking.
        if self._looked_ms <= now_ms < self._next_look_ms:
            return None
        self._looked_ms = now_ms
        self._next_look_ms = now_ms + self._config.clean_resource_interval_ms
        gone = self.policy.expired(
            now_ms,
            bases=self._bases_at_rest(active),
            usage=usage,
            store_ms_at=lambda base: self._store_ms_at(base + log.file_size),
        )
        if not gone:
            return None
        LOG.info("commit log files %s to %s are deleted", gone[0], gone[-1])
        interval_s = self._config.delete_commit_log_files_interval_ms / 1000
        return DeleteLogJob(self._disk, log.let_go(gone), interval_s=interval_s, stop=self._stop)

    def _bases_at_rest(self, active: int) -> list[int]:
        """Return the oldest files in a row that nobody needs but readers."""
        rest: list[int] = []
        for base in self._log.bases:
            end = base + self._log.file_size
            is_safe = end <= min(active, self._safe_file.safe_log_offset)
            if not (is_safe and self._log.is_at_rest(base)):
                break
            rest.append(base)
        return rest

    def _scan_job(self) -> ScanQueuesJob:
        self._asked_now, self._asked = self._asked, []
        views = [
            QueueView(queue, queue.first, queue.min_offset, queue.written_count)
            for queue in self._table.queues.values()
        ]
        return ScanQueuesJob(
            self._disk,
            views,
            log_min=self._log.min_offset,
            file_size=self._table.files.file_size,
        )

    def _delete_files_job(self) -> DeleteFilesJob:
        findings, self._findings = self._findings, []
        index_paths, self._index_paths = self._index_paths, []
        ext_paths, self._ext_paths = self._ext_paths, []
        names = {path.name for path in index_paths}

        def say(point: SafePoint) -> None:
            for view, _, first, _, _ in findings:
                ids = point.queues.get(view.queue.topic, {})
                if view.queue.queue_id in ids and not view.queue.deleted:
                    ids[view.queue.queue_id] = (first, *ids[view.queue.queue_id][1:])
            if point.index is not None:
                point.index.names = [name for name in point.index.names if name not in names]

        return DeleteFilesJob(
            self._disk,
            [path for finding in findings for path in finding.expired] + ext_paths + index_paths,
            say=lambda: self._safe_file.change(say),
            interval_s=self._config.delete_consume_queue_files_interval_ms / 1000,
            stop=self._stop,
        )

    def end(self, job: CleanJob) -> None:
        """Take the outcome of a job of ``step``."""
        self._job = None
        if job.error is not None:
            LOG.error("old data not deleted: %s; it is tried again", job.error)
        if isinstance(job, DeleteLogJob):
            self._log.take_back(job.left)
            self.slowest_ms = max(self.slowest_ms, job.slowest_ms)
        elif isinstance(job, ScanQueuesJob):
            self._end_scan(job)

    def _end_scan(self, job: ScanQueuesJob) -> None:
        for finding in job.found:
            queue = finding.view.queue
            if self._is_gone(queue):
                continue
            queue.min_offset = max(queue.min_offset, finding.min_offset)
            if finding.expired:
                self._table.files.forget(queue.directory)
                queue.first = max(queue.first, finding.first)
                self._findings.append(finding)
            self._ext_paths += self._table.exts.expired(queue)
        index = self._dispatcher.index
        if index is not None:
            self._index_paths = index.take_expired(job.log_min)
        if self._asked_now:
            self._expired = self._expired_queues(job)
            if not self._expired:
                self._tell()
        if job.error is None:
            self._cleaned_min = job.log_min

    def _expired_queues(self, job: ScanQueuesJob) -> list[QueueFinding]:
        """Return the queues without a message, also those that an earlier scan emptied."""
        found = {id(finding.view.queue): finding for finding in job.found if finding.is_expired}
        for queue in self._table.queues.values():
            if queue.min_offset == queue.max_offset > 0 and id(queue) not in found:
                view = QueueView(queue, queue.first, queue.min_offset, queue.max_offset)
                found[id(queue)] = QueueFinding(view, [], queue.first, queue.max_offset, True)
        return list(found.values())

    def _remove_queues(self) -> None:
        """Remove some of the queues that have no message, unless one came meanwhile."""
        batch, self._expired = self._expired[:QUEUES_A_STEP], self._expired[QUEUES_A_STEP:]
        gone: list[ConsumeQueue] = []
        for finding in batch:
            queue, end = finding.view.queue, finding.view.end
            is_idle = queue.next_offset == queue.max_offset == queue.written_count == end
            if queue.topic != SCHEDULE_TOPIC and is_idle and not self._is_gone(queue):
                gone.append(queue)

        def say(point: SafePoint) -> None:
            for queue in gone:
                point.queues.get(queue.topic, {}).pop(queue.queue_id, None)

        try:
            if gone:
                self._safe_file.change(say)
            for queue in gone:
                self._table.remove(queue)
                del self._table.queues[queue.topic, queue.queue_id]
                self._dispatcher.dirty.pop(queue, None)
                LOG.info(
                    "queue %d of %s has no message and is removed", queue.queue_id, queue.topic
                )
        except OSError as error:
            LOG.error("expired queues not removed: %s; ask again", error)
            self._expired = []
        if not self._expired:
            self._tell()

    def _is_gone(self, queue: ConsumeQueue) -> bool:
        known = self._table.queues.get((queue.topic, queue.queue_id))
        return queue.deleted or known is not queue

    def _tell(self) -> None:
        asked, self._asked_now = self._asked_now, []
        for done in asked:
            done()
