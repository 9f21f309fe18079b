"""Deletes old data: expired commit log files first, then what queues and index had of them.

    step (loop) ─ every s ────> LookJob ───────────> end: what has expired
         ─ log files ─────────> DeleteLogJob ──────> end: the log begins later
         ─ queues ────────────> ScanQueuesJob ─────> end: min offsets are corrected
         ─ their files, index > DeleteFilesJob ────> end

Rule: one job runs at a time, and only its ``do_work`` is called in another thread. The event loop
makes readers let go of a file before a thread deletes it; a thread that still reads it has it
open and finishes normally. A file is deleted only if it ends below the safe point.

Source: store/DefaultMessageStore.java (CleanCommitLogService, CleanConsumeQueueService,
#cleanExpiredConsumerQueue), store/index/IndexService.java#deleteExpiredFile.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from mqserver.store.cleanup.jobs import (
    DeleteFilesJob,
    DeleteLogJob,
    LookJob,
    QueueExtent,
    QueueFinding,
    ScanQueuesJob,
)
from mqserver.store.cleanup.retention import Retention, RetentionClock
from mqserver.store.commitlog.dispatcher import Dispatcher
from mqserver.store.disk.job import DiskJob
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_rows import QueueRow
from mqserver.store.queues.removal import RemoveJob
from mqserver.store.recovery.opening import OpenedStore
from mqserver.store.recovery.safe_point import SafePoint
from mqserver.store.recovery.safe_point_file import SafePointFile
from mqserver.store.store_config import StoreConfig
from storefmt.names import SCHEDULE_TOPIC

LOG = logging.getLogger(__name__)

QUEUES_A_STEP: Final = 200
"""Expired queues that one step removes, so that the event loop is not held up."""
QUEUES_A_LOOK: Final = 2_000
"""Queues whose minimum offsets one step corrects."""


class Cleaner:
    """The retention of one store; see ``Retention`` for the policy.

    Args:
        config: the settings of the store.
        opened: the parts of the open store.
        safe_file: records removals in ``dispatch.json``.
        store_ms_at: returns the store time (ms) of the record at a log offset, -1 for none.
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
        """Longest time (ms) that deleting one commit log file took in its thread."""
        self._config = config
        self._disk = opened.disk
        self._paths = opened.paths
        self._log = opened.log
        self._table = opened.table
        self._dispatcher: Dispatcher = opened.dispatcher
        self._safe_file = safe_file
        self._store_ms_at = store_ms_at
        self._job: DiskJob | None = None
        self._again: RemoveJob | None = None
        self._gone: list[int] = []
        """Starts of the expired log files that the next job deletes."""
        self.usage = opened.disk.usage(opened.paths.root)
        """Space of the store's disk, as it was a second ago."""
        self._stop = threading.Event()
        self._next_look_ms = opened.now_ms
        self._looked_ms = opened.now_ms
        self._cleaned_min = safe_file.min_of
        self._scanned: ScanQueuesJob | None = None
        self._has_ext = opened.disk.is_dir(opened.paths.consumequeue_ext)
        self._has_ext |= config.enable_consume_queue_ext
        self._findings: list[QueueFinding] = []
        # Queues that begin later, and files to delete, which dispatch.json does not have yet.
        self._rows: list[tuple[str, int, int, int]] = []
        self._paths_gone: list[Path] = []
        # Requests to remove queues without messages: the waiting ones, and those being worked on.
        self._requests: list[Callable[[], None]] = []
        self._requests_now: list[Callable[[], None]] = []
        self._expired: list[QueueExtent] = []

    def delete_by_hand(self) -> None:
        """Delete expired commit log files now and for some minutes, whatever the hour is."""
        self.policy.delete_by_hand()
        self._next_look_ms = 0

    def remove_expired_queues(self, on_removed: Callable[[], None]) -> None:
        """Remove queues that have no message any more; they start again at offset 0.

        Args:
            on_removed: called when they are removed.
        """
        self._requests.append(on_removed)

    def close(self) -> None:
        """Let a running job end soon."""
        self._stop.set()

    def disk_used(self) -> float:
        """Return the used part of the store's disk, 0 to 1."""
        usage = self.usage
        whole = usage.used + usage.usable
        return usage.used / whole if whole else 0.0

    def step(self, now_ms: int) -> DiskJob | None:
        """Return the job that is due, None for nothing; call it about every second."""
        if self._job is not None:
            return None
        self._job = self._next_job(now_ms)
        return self._job

    def _next_job(self, now_ms: int) -> DiskJob | None:
        again, self._again = self._again, None
        if again is not None:
            return again
        if self._gone:
            return self._delete_log_job()
        if self._scanned is not None:
            self._apply(self._scanned)
            if self._findings:
                return None
        if self._rows or self._paths_gone:
            return self._delete_files_job()
        if self._expired:
            return self._remove_job()
        if self._requests or self._cleaned_min != self._log.min_offset:
            return self._scan_job()
        return LookJob(disk=self._disk, path=self._paths.root, now_ms=now_ms)

    def _end_look(self, job: LookJob) -> None:
        """Judge the disk and the age of the files; plan the deletion of those that have expired."""
        log, now_ms = self._log, job.now_ms
        if job.usage is None:
            return
        self.usage = usage = job.usage
        if not log.bases:
            return
        active = log.end - log.end % log.file_size
        self.policy.look(now_ms, bases=log.bases, active=active, usage=usage)
        self._safe_file.note_clock(self.policy.clock_ms, dict(self.policy.sealed_ms))
        # A clock that was set back must not stop these checks.
        if self._looked_ms <= now_ms < self._next_look_ms:
            return
        self._looked_ms = now_ms
        self._next_look_ms = now_ms + self._config.clean_resource_interval_ms
        gone = self.policy.expired(
            now_ms,
            bases=self._bases_at_rest(active),
            usage=usage,
            store_ms_at=lambda base: self._store_ms_at(base + log.file_size),
        )
        self._gone = gone

    def _delete_log_job(self) -> DeleteLogJob:
        gone, self._gone = self._gone, []
        LOG.info("deleting commit log files %s to %s", gone[0], gone[-1])
        return DeleteLogJob(
            disk=self._disk,
            left=self._log.detach(gone),
            interval_s=self._config.delete_commit_log_files_interval_ms / 1000,
            stop=self._stop,
        )

    def _bases_at_rest(self, active: int) -> list[int]:
        """Return the oldest files in a row that are full, synced and used only by readers."""
        rest: list[int] = []
        for base in self._log.bases:
            end = base + self._log.file_size
            is_safe = end <= min(active, self._safe_file.safe_log_offset)
            if not (is_safe and self._log.is_at_rest(base)):
                break
            rest.append(base)
        return rest

    def _scan_job(self) -> ScanQueuesJob:
        self._requests_now, self._requests = self._requests, []
        table = self._table
        return ScanQueuesJob(
            disk=self._disk,
            paths=self._paths,
            rows=table.written_rows(),
            log_min=self._log.min_offset,
            file_size=table.files.file_size,
            delete_count=table.delete_count,
        )

    def _delete_files_job(self) -> DeleteFilesJob:
        rows, self._rows = self._rows, []
        paths, self._paths_gone = self._paths_gone, []
        names = {path.name for path in paths if path.parent == self._paths.index}
        table = self._table

        def change(point: SafePoint) -> None:
            for topic, queue_id, first, minimum in rows:
                row = point.queues.get(topic, queue_id)
                # A queue that was removed and created again keeps its own beginning.
                now = table.row(topic, queue_id)
                is_same = now is not None and now.minimum >= minimum
                if row is not None and is_same and minimum <= row.end:
                    point.queues.put_row(topic, queue_id, QueueRow(first, minimum, row.end))
            if point.index is not None:
                point.index.names = [name for name in point.index.names if name not in names]

        return DeleteFilesJob(
            disk=self._disk,
            left=paths,
            record=lambda: self._safe_file.change(change),
            interval_s=self._config.delete_consume_queue_files_interval_ms / 1000,
            stop=self._stop,
        )

    def end(self, job: DiskJob) -> None:
        """Process the result of a job that ``step`` returned."""
        self._job = None
        if job.error is not None:
            LOG.error("could not delete old data: %s; trying again later", job.error)
        if isinstance(job, LookJob):
            self._end_look(job)
        elif isinstance(job, DeleteLogJob):
            self._log.attach(job.left)
            self.slowest_ms = max(self.slowest_ms, job.slowest_ms)
        elif isinstance(job, ScanQueuesJob):
            self._end_scan(job)
        elif isinstance(job, DeleteFilesJob):
            self._end_delete(job)
        elif isinstance(job, RemoveJob):
            self._end_remove(job)

    def _end_remove(self, job: RemoveJob) -> None:
        if job.error is not None:
            job.error, self._again = None, job
            return
        self._table.end_removal(job)
        if not self._expired:
            self._answer_requests()

    def _end_scan(self, job: ScanQueuesJob) -> None:
        # A queue deleted meanwhile may have started again, so the scan is repeated.
        if job.delete_count == self._table.delete_count:
            self._scanned = job
            self._findings = job.found[::-1]
        else:
            self._requests, self._requests_now = self._requests_now + self._requests, []

    def _apply(self, job: ScanQueuesJob) -> None:
        """Correct some of the queues that were found to begin later."""
        for _ in range(min(QUEUES_A_LOOK, len(self._findings))):
            finding = self._findings.pop()
            self._correct(finding)
        if self._findings:
            return
        self._scanned = None
        index = self._dispatcher.index
        if index is not None:
            self._paths_gone += index.take_expired(job.log_min)
        if self._requests_now:
            self._expired = job.empty[::-1]
            if not self._expired:
                self._answer_requests()
        if job.error is None:
            self._cleaned_min = job.log_min
            if not (self._rows or self._paths_gone):
                self._safe_file.note_min(job.log_min)

    def _correct(self, finding: QueueFinding) -> None:
        view, table = finding.view, self._table
        row = table.row(view.topic, view.queue_id)
        if row is None or row.end < view.end:
            return
        first, minimum = max(row.first, finding.first), max(row.minimum, finding.minimum)
        table.set_begin(view.topic, view.queue_id, first=first, minimum=minimum)
        for path in finding.expired:
            table.files.forget(str(path))
        self._paths_gone += finding.expired
        queue = table.find(view.topic, view.queue_id) if self._has_ext else None
        if queue is not None:
            self._paths_gone += table.exts.expired(queue)
        self._rows.append((view.topic, view.queue_id, first, minimum))

    def _end_delete(self, job: DeleteFilesJob) -> None:
        if job.error is not None:
            self._paths_gone = [*job.left, *self._paths_gone]
        elif not (self._rows or self._paths_gone):
            self._safe_file.note_min(self._cleaned_min)

    def _remove_job(self) -> RemoveJob | None:
        """Remove some of the queues without messages, unless one has received a message."""
        gone: list[ConsumeQueue] = []
        while self._expired and len(gone) < QUEUES_A_STEP:
            view = self._expired.pop()
            queue = self._table.find(view.topic, view.queue_id)
            if queue is None or queue.topic == SCHEDULE_TOPIC or queue.max_offset != view.end:
                continue
            if queue.is_written_out and queue.min_offset == queue.max_offset:
                gone.append(queue)
        if not gone:
            if not self._expired:
                self._answer_requests()
            return None
        for queue in gone:
            self._table.forget(queue)
            self._table.exts.remove(queue)
            self._safe_file.note_removed(queue.key)
            LOG.info("removing queue %d of %s, which has no messages", queue.queue_id, queue.topic)
        return self._table.begin_removal(
            RemoveJob(
                disk=self._disk,
                keys={queue.key for queue in gone},
                left=[queue.directory for queue in gone],
                lock=self._table.removal_lock,
                directories=sorted({queue.directory.parent for queue in gone}),
                record=lambda log_end: self._safe_file.write(),
            )
        )

    def _answer_requests(self) -> None:
        requests, self._requests_now = self._requests_now, []
        for on_removed in requests:
            on_removed()
