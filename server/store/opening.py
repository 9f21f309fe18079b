"""Opening a store directory: lock, look, recover, say what was found.

    lock ─> how did the last broker stop? ─in order, untouched since──> load
                                          ├ ours, not in order ────────> walk from the safe point
                                          └ anything else ─────────────> walk the log

Rule: a directory is served only when log, queues and index agree. ``abort`` is there
from before the first message until a stop in order, so that a crash is always known.

Source: store/DefaultMessageStore.java#load, #start; store/CommitLog.java#recoverNormally,
#recoverAbnormally.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server.store.calls import DispatchEntry, RecoveryReport
from server.store.config import StoreConfig
from server.store.disk import Disk, read_file
from server.store.dispatch import Dispatcher
from server.store.errors import StoreFailed
from server.store.faststart import Plan, can_start_fast, plan_queues
from server.store.flush import OUT_OF_SPACE
from server.store.geometry import log_file_size, queue_file_size_of
from server.store.index import Index
from server.store.indexfiles import load_index
from server.store.indexrewind import has_marked_files, load_marked_index
from server.store.logfile import CommitLog
from server.store.moment import UNKNOWN
from server.store.progress import Progress, new_point
from server.store.queuetable import QueueTable
from server.store.rebuild import min_offset_of
from server.store.recover import Recovery, drop_late_files
from server.store.removal import SUFFIX, remove_tree
from server.store.safepoint import (
    IndexMark,
    Listing,
    SafePoint,
    Writer,
    lock_time,
    read_safe_point,
    write_safe_point,
)
from server.store.walk import parse_record
from server.store.zeros import is_blank_to
from storefmt.checkpoint import Checkpoint
from storefmt.errors import RecordDamaged
from storefmt.paths import StorePaths, log_file_name, parse_log_file_name

SHORT_TAIL_SIZE: Final = 64 << 20
"""Bytes of log that the next start may walk again rather than this one wait for syncs."""


@dataclass(slots=True, kw_only=True)
class OpenedStore:
    """The parts of a store that is ready to serve."""

    disk: Disk
    paths: StorePaths
    log: CommitLog
    table: QueueTable
    dispatcher: Dispatcher
    checkpoint: Checkpoint
    point: SafePoint
    """What ``dispatch.json`` says now."""
    report: RecoveryReport
    release: Callable[[], None]
    now_ms: int
    last_store_ms: int


def open_directory(config: StoreConfig, disk: Disk, now_ms: int) -> OpenedStore:
    """Return a store that is ready to serve; the directory is made when it is absent.

    Raises:
        StoreLocked: another broker serves it.
        StoreFailed: the disk refused something.
    """
    paths = StorePaths(Path(config.store_path_root_dir))
    try:
        disk.mkdir(paths.root)
        lock_ns = lock_time(disk, paths)
        release = disk.lock(paths.lock)
        try:
            return _Opening(config, disk, paths, lock_ns=lock_ns).run(release, now_ms)
        except BaseException:
            release()
            raise
    except OSError as error:
        raise StoreFailed(
            f"store {paths.root} cannot be opened: {error}; look at the disk and its rights"
        ) from error


class _Opening:
    def __init__(self, config: StoreConfig, disk: Disk, paths: StorePaths, *, lock_ns: int) -> None:
        self._config = config
        self._disk = disk
        self._paths = paths
        self._report = RecoveryReport(clean=disk.stat(paths.abort) is None)
        self._lock_ns = lock_ns
        self._point = point = read_safe_point(disk, paths)
        self._is_ours = point is not None and point.writer is Writer.RUNNING
        self._is_ours = self._is_ours and point is not None and point.lock_ns == lock_ns
        self._checkpoint = self._read_checkpoint()
        self._cut_at: int | None = None
        """Log offset at which a file ended too early."""
        since = UNKNOWN if point is None else point.moment
        self._listing = Listing(disk, paths, since=since)
        for path in self._listing.strangers:
            if path.name.endswith(SUFFIX):
                remove_tree(disk, path)

    def run(self, release: Callable[[], None], now_ms: int) -> OpenedStore:
        log, end_known = self._open_log()
        queue_file_size, note = queue_file_size_of(
            self._listing.queue_file_sizes, self._config, self._point
        )
        self._report.notes += note
        table = self._table(queue_file_size)
        last_store_ms = self._checkpoint.physic_ms
        index: Index | None = None
        keys: list[DispatchEntry] = []
        progress = self._progress(log, table)
        if end_known:
            index = self._open_index()
            end_known = not self._report.rebuilt_index_files
            if index is not None and not end_known:
                index.close()
        if end_known:
            assert self._point is not None or not len(self._listing.queues)
            if self._point is not None:
                # Nothing has touched them since they were right.
                table.put_rows(self._point.queues)
            progress.claim(log_end=log.end, index=index)
            is_min_known = self._point is None or self._is_min_known(log)
        else:
            recovered = self._recover(log, table, now_ms, fast=True)
            if recovered is None:
                table = self._table(queue_file_size)
                recovered = self._recover(log, table, now_ms, fast=False)
            assert recovered is not None
            progress, index, recovery = recovered
            keys = recovery.keys
            is_min_known = self._is_min_known(log) or (
                progress.is_claimed and len(table.queues) == len(table)
            )
            last_store_ms = recovery.last_store_ms or last_store_ms
        if not is_min_known:
            self._correct_min(table, log)
        progress.point.min_of = log.min_offset if is_min_known else -1
        self._report.log_end = log.end
        table.rest_after_start()
        dispatcher = Dispatcher(index, table)
        if self._config.enable_consume_queue_ext:
            dispatcher.exts = table.exts
        dispatcher.resume(keys)
        dispatcher.dispatched_offset = log.end
        dispatcher.last_store_ms = last_store_ms
        return OpenedStore(
            disk=self._disk,
            paths=self._paths,
            log=log,
            table=table,
            dispatcher=dispatcher,
            checkpoint=self._checkpoint._replace(physic_ms=last_store_ms),
            point=self._mark_running(log, table, progress.point),
            report=self._report,
            release=release,
            now_ms=now_ms,
            last_store_ms=last_store_ms,
        )

    def _is_min_known(self, log: CommitLog) -> bool:
        """Tell whether what the safe point says of expired entries is still so."""
        return self._point is not None and self._point.min_of == log.min_offset

    @staticmethod
    def _correct_min(table: QueueTable, log: CommitLog) -> None:
        """Find the first kept entries again: log files went, and then the broker."""
        for slot in table.slots():
            queue = table.at(slot)
            if queue is not None:
                queue.min_offset = min_offset_of(queue, log.min_offset)
            table.rest_after_start()

    def _progress(
        self, log: CommitLog, table: QueueTable, *, point: SafePoint | None = None
    ) -> Progress:
        return Progress(
            self._disk,
            self._paths,
            log=log,
            table=table,
            point=point or new_point(log, self._point, writer=Writer.RECOVERING),
            sync_log=not self._report.clean,
        )

    def _recover(
        self, log: CommitLog, table: QueueTable, now_ms: int, *, fast: bool
    ) -> tuple[Progress, Index | None, Recovery] | None:
        """Make log, queues and index agree; None when it has to be done from the beginning.

        Returns:
            What to say of it, the index, and what was done.

        Raises:
            OSError: the disk refused, or has no space for what the tail alone does not give.
        """
        point, is_ours = self._point, self._is_ours
        if point is not None and is_ours:
            drop_late_files(log, point.safe_log_offset, self._report)
        can_start = fast and point is not None
        if point is not None and can_start:
            can_start = can_start_fast(
                point, log,
                clean=self._report.clean, cut_at=self._cut_at, lock_ns=self._lock_ns,
            )  # fmt: skip
        plan: Plan | None = None
        progress = self._progress(log, table, point=point if can_start else None)
        if point is not None and can_start:
            index, index_from = self._rewound_index(log, point)
            queues = plan_queues(
                self._disk, self._paths, table, log,
                point=point, listing=self._listing, report=self._report,
            )  # fmt: skip
            starts = [index_from, *(resume.take_from for resume in queues.values())]
            safe = point.safe_log_offset
            plan = Plan(safe, min(safe, *starts), index_from, queues)
            progress.behind = {key for key, one in queues.items() if one.take_from < safe}
        else:
            index = self._open_index()
        recovery = Recovery(
            self._disk, self._paths, self._config,
            log=log, table=table, index=index, point=point, checkpoint=self._checkpoint,
            report=self._report, plan=plan, progress=progress, seen=self._listing.queues,
            is_ours=is_ours,
        )  # fmt: skip
        if not recovery.run(now_ms, cut_at=self._cut_at):
            return None
        is_tail = plan is not None and plan.is_tail_only and is_ours
        is_tail = is_tail and point is not None and has_marked_files(index, point.index)
        is_short = is_tail and log.end - progress.point.safe_log_offset <= SHORT_TAIL_SIZE
        if recovery.no_space is not None:
            if not is_tail:
                raise recovery.no_space
            self._note_no_space("queues and index", recovery.no_space)
        elif not is_short:
            # A short tail is synced with the first upkeep: a start waits for no sync then.
            progress.claim(log_end=log.end, index=index)
        return progress, index, recovery

    def _note_no_space(self, what: str, error: OSError) -> None:
        self._report.notes.append(f"no space for {what}: {error}; written when there is some")

    def _rewound_index(self, log: CommitLog, point: SafePoint) -> tuple[Index | None, int]:
        if not self._config.message_index_enable:
            return None, point.safe_log_offset

        def store_ms_at(log_offset: int) -> int:
            base = log_offset - log_offset % log.file_size
            data = log.file_at(base).pread(log.file_size - (log_offset - base), log_offset - base)
            found = parse_record(data, 0, log_offset=log_offset, left=len(data))
            return 0 if isinstance(found, str) else found.store_ms

        return load_marked_index(
            self._disk,
            self._paths,
            self._config,
            mark=point.index or IndexMark(),
            safe=point.safe_log_offset,
            store_ms_at=store_ms_at,
            report=self._report,
        )

    def _mark_running(self, log: CommitLog, table: QueueTable, point: SafePoint) -> SafePoint:
        """Leave the trace of a broker that did not stop in order, before the first message."""
        # A log file is on the disk only when its directory's name is, too.
        self._disk.mkdir(self._paths.commitlog)
        self._disk.open(self._paths.abort, create=True).close()
        point.writer = Writer.RUNNING
        point.queue_file_size = table.files.file_size
        point.lock_ns = lock_time(self._disk, self._paths)
        point.files = ""
        point.deleted_topics = {
            topic: end for topic, end in point.deleted_topics.items() if end > log.min_offset
        }
        try:
            write_safe_point(self._disk, self._paths, point)
        except OSError as error:
            # What it says since before is still true, if it says that our broker runs.
            if error.errno not in OUT_OF_SPACE or not self._is_ours:
                raise
            self._note_no_space("dispatch.json", error)
            self._disk.fsync_dir(self._paths.root)
        return point

    def _read_checkpoint(self) -> Checkpoint:
        data = read_file(self._disk, self._paths.checkpoint)
        if data is None:
            return Checkpoint()
        try:
            found = Checkpoint.decode(data)
        except RecordDamaged as error:
            self._report.notes.append(f"checkpoint: {error}")
            return Checkpoint()
        if min(found) < 0:
            self._report.notes.append("checkpoint has a negative time; it is not used")
            return Checkpoint()
        return found

    def _table(self, file_size: int) -> QueueTable:
        ext_file_size = self._config.mapped_file_size_consume_queue_ext
        return QueueTable(self._disk, self._paths, file_size=file_size, ext_file_size=ext_file_size)

    def _open_log(self) -> tuple[CommitLog, bool]:
        """Return the log, and whether its end and all that is derived from it are known."""
        directory = self._paths.commitlog
        sizes: dict[int, int] = {}
        for entry in self._listing.logs:
            base = parse_log_file_name(entry.name)
            if base is None:
                self._report.notes.append(
                    f"commitlog/{entry.name} is no commit log file; it is ignored"
                )
            else:
                sizes[base] = entry.size
        file_size = log_file_size(sizes, self._config, self._point)
        if sizes and file_size != self._config.mapped_file_size_commit_log:
            self._report.notes.append(
                f"commit log files have {file_size} bytes, "
                f"not {self._config.mapped_file_size_commit_log} as configured; "
                "the files win"
            )
        point = self._point
        known = not sizes or (
            self._report.clean
            and point is not None
            and point.clean
            and point.log_file_size == file_size
            and point.files == self._listing.digest
        )
        end = point.safe_log_offset if known and point is not None and sizes else 0
        if not known:
            self._fix_lengths(sizes, file_size)
        elif not sizes and len(self._listing.queues):
            known = False
        log = CommitLog(self._disk, directory, file_size=file_size, bases=list(sizes), end=end)
        log.warm_size = self._config.warm_size
        return log, known

    def _fix_lengths(self, sizes: dict[int, int], file_size: int) -> None:
        """Give every commit log file its full length; what was cut off comes back as zeros.

        Bytes beyond the length belong to no position in the log; they go unless they say
        something.
        """
        for base, size in sizes.items():
            if size == file_size:
                continue
            if size < file_size:
                self._cut_at = min(self._cut_at or base + size, base + size)
            name = log_file_name(base)
            file = self._disk.open(self._paths.commitlog / name)
            try:
                if size < file_size:
                    file.allocate(file_size)
                elif is_blank_to(file, file_size, size):
                    file.truncate(file_size)
                file.fdatasync()
            finally:
                file.close()
            self._report.notes.append(
                f"commitlog/{name} had {size} bytes, expected {file_size}; it is "
                + ("full length again" if size < file_size else "read up to there")
            )

    def _open_index(self) -> Index | None:
        if not self._config.message_index_enable:
            return None
        sealed_until_ms = None if self._report.clean else self._checkpoint.index_ms
        point = self._point
        if self._report.clean and self._listing.is_index_changed(point, self._lock_ns):
            # No header tells of a wrong entry. The log is walked anyway, and gives all keys.
            sealed_until_ms = -1
            self._report.notes.append("index files changed since the stop; they are built again")
        return load_index(
            self._disk,
            self._paths,
            self._config,
            sealed_until_ms=sealed_until_ms,
            report=self._report,
        )
