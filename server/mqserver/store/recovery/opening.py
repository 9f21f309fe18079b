"""Opens a store directory: lock it, examine it, recover it and report what was found.

    lock ─> does the store agree with the safe point? ─yes─> scan the log from there
                                                      └no──> scan the whole log

Rule: a directory is served only when log, queues and index agree. There is one way to start
every store that our broker left, shut down properly or not, and one for all others (see
``trust``). ``abort`` exists from before the first message until a proper shutdown, so that a
crash is always noticed.

File sizes are determined first. No file contains its own size, and the Java broker refuses
files of another size than the configured one, so a size on disk overrides a configured one.
A size is never taken from files that were cut short; then ``dispatch.json`` has it.

Source: store/DefaultMessageStore.java#load, #start; store/CommitLog.java#recoverNormally,
#recoverAbnormally.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from mqserver.store.commitlog.dispatcher import Dispatcher
from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import parse_record
from mqserver.store.disk.disk import Disk, read_file
from mqserver.store.disk.zeros import is_blank_to
from mqserver.store.index.index import Index
from mqserver.store.index.usable_files import load_index
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.queues.removal import SUFFIX, remove_tree
from mqserver.store.recovery.index_rewind import load_marked_index
from mqserver.store.recovery.lost_log import SETTING, first_foreign, lost_log
from mqserver.store.recovery.progress import RecoveryProgress, new_point
from mqserver.store.recovery.queue_rebuild import min_offset_of
from mqserver.store.recovery.queue_recovery import QueueRecovery
from mqserver.store.recovery.recover import Recovery, drop_late_files
from mqserver.store.recovery.safe_point import (
    Listing,
    SafePoint,
    StoreState,
    lock_time,
    read_safe_point,
    retract_safe_point,
    write_safe_point,
)
from mqserver.store.recovery.trust import (
    SafePointWrong,
    TrustedQueue,
    check_point,
    trusted_queues,
)
from mqserver.store.results import RecoveryReport
from mqserver.store.store_config import StoreConfig
from mqserver.store.store_errors import OUT_OF_SPACE, StoreFailed
from storefmt.errors import RecordDamaged
from storefmt.formats.checkpoint import Checkpoint
from storefmt.paths import StorePaths, log_file_name, parse_log_file_name


def log_file_size(sizes: dict[int, int], config: StoreConfig, point: SafePoint | None) -> int:
    """Return the size of the existing commit log files.

    Args:
        sizes: length of each file by its start.
        config: the store's settings.
        point: the safe point of the last start, which has the size it used.

    A size is accepted if a file has it and every file starts at a multiple of it. The configured
    size is tried first, then the recorded one, then multiples of 512, the most frequent first. If
    a size is recorded, a single file of another size was cut short. If no size is accepted or
    recorded, the distance between files is the size.
    """
    configured = config.mapped_file_size_commit_log
    noted = point.log_file_size if point is not None else 0
    frequent = [
        size
        for size, count in Counter(sizes.values()).most_common()
        if size % 512 == 0 and (count > 1 or not noted)
    ]
    for size in (configured, noted, *frequent):
        if size > 0 and size in sizes.values() and all(base % size == 0 for base in sizes):
            return size
    if noted > 0:
        return noted
    steps = [later - base for base, later in pairwise(sorted(sizes))]
    return min(steps, default=configured)


def queue_file_size_of(
    sizes: Counter[int], config: StoreConfig, point: SafePoint | None
) -> tuple[int, list[str]]:
    """Return the size of consume queue files, and notes for the report.

    The size is the configured one unless no file has it; then the recorded one, else the most
    frequent one.

    Args:
        sizes: number of files by size.
        config: the store's settings.
        point: the safe point of the last start, which has the size it used.
    """
    configured = config.consume_queue_file_size
    noted = 0 if point is None else point.queue_file_size
    if not sizes or sizes[configured] or noted == configured or not max(sizes.values()):
        return configured, []
    file_size = noted or sizes.most_common(1)[0][0]
    return file_size, [
        f"consume queue files have {file_size} bytes, not {configured} as configured; "
        "using their size"
    ]


SHORT_TAIL_SIZE: Final = 64 << 20
"""Bytes of log that the next start may have to scan again, so that this one need not sync."""


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
    """The current content of ``dispatch.json``."""
    report: RecoveryReport
    release: Callable[[], None]
    now_ms: int
    last_store_ms: int


def open_directory(
    config: StoreConfig, disk: Disk, now_ms: int, *, is_cut: bool = False
) -> OpenedStore:
    """Return a store that is ready to serve; the directory is created if it is absent.

    Args:
        is_cut: whether the log was cut on purpose, so that queues point past its end.

    Raises:
        StoreLocked: another broker serves the directory.
        StoreFailed: the disk refused an operation.
    """
    paths = StorePaths(Path(config.store_path_root_dir))
    try:
        disk.mkdir(paths.root)
        lock_ns = lock_time(disk, paths)
        release = disk.lock(paths.lock)
        try:
            return _Opening(config, disk, paths, lock_ns=lock_ns).run(
                release, now_ms, is_cut=is_cut
            )
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
        is_last = point is not None and point.lock_ns == lock_ns
        self._is_ours = point is not None and is_last and point.state is StoreState.RUNNING
        self._knows_deletions = point is not None and is_last and point.names_all_queues
        self._checkpoint = self._read_checkpoint()
        self._cut_at: int | None = None
        """Log offset at which a file ended too early."""
        self._listing = Listing(disk, paths)
        for path in self._listing.strangers:
            if path.name.endswith(SUFFIX):
                remove_tree(disk, path)

    def run(self, release: Callable[[], None], now_ms: int, *, is_cut: bool) -> OpenedStore:
        log = self._open_log()
        if not is_cut:
            self._refuse_lost_log(log)
        file_size, notes = queue_file_size_of(
            self._listing.queue_file_sizes, self._config, self._point
        )
        self._report.notes += notes
        table = self._table(file_size)
        try:
            point = check_point(
                self._point, self._listing, log,
                clean=self._report.clean, cut_at=self._cut_at, lock_ns=self._lock_ns,
            )  # fmt: skip
            recovery = self._recover_tail(log, table, now_ms, point=point)
        except SafePointWrong as error:
            if self._point is not None:
                self._report.notes.append(f"scanning the whole log: {error}")
            table = self._table(file_size)
            recovery = self._recover_all(log, table, now_ms)
        progress = recovery.progress
        last_store_ms = recovery.last_store_ms or self._checkpoint.physic_ms
        is_min_known = self._is_min_known(log) or (
            progress.is_claimed and len(table.queues) == len(table)
        )
        if not is_min_known:
            self._correct_min(table, log)
        progress.point.min_of = log.min_offset if is_min_known else -1
        self._report.log_end = log.end
        table.evict_after_start()
        dispatcher = Dispatcher(recovery.index, table)
        if self._config.enable_consume_queue_ext:
            dispatcher.exts = table.exts
        dispatcher.resume(recovery.keys)
        dispatcher.dispatched_offset = log.end
        dispatcher.last_store_ms = last_store_ms
        dispatcher.last_log_offset = recovery.last_log_offset
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

    def _refuse_lost_log(self, log: CommitLog) -> None:
        """Stop before anything changes if this start would empty the queues.

        Raises:
            StoreFailed: the log is not the one that the queues were made of.
        """
        why = lost_log(
            self._disk,
            self._paths,
            listing=self._listing,
            log=log,
            # A file that was cut is damage, whatever is left of it.
            was_flushed=self._checkpoint.physic_ms > 0 and self._cut_at is None,
        )
        if why and not self._config.start_with_lost_commit_log:
            raise StoreFailed(
                f"store {self._paths.root}: {why}; a start would empty the queues. Nothing was "
                f"changed. Mount the disk of {self._paths.commitlog}, or put its files back; if "
                f"the log is lost for good, start once with {SETTING}=true"
            )
        if why:
            self._report.notes.append(f"{why}; {SETTING}=true, so the queues are emptied")

    def _is_min_known(self, log: CommitLog) -> bool:
        """Return whether the first retained entries in the safe point are still right."""
        return self._point is not None and self._point.min_of == log.min_offset

    @staticmethod
    def _correct_min(table: QueueTable, log: CommitLog) -> None:
        """Determine first retained entries again, since log files were deleted before the start."""
        for slot in table.slots():
            queue = table.at(slot)
            if queue is not None:
                queue.min_offset = min_offset_of(queue, log.min_offset)
            table.evict_after_start()

    def _recover_tail(
        self, log: CommitLog, table: QueueTable, now_ms: int, *, point: SafePoint
    ) -> Recovery:
        """Scan the records after the safe point.

        Raises:
            SafePointWrong: the store does not agree with the safe point.
            OSError: the disk refused.
        """
        if self._is_ours:
            drop_late_files(log, point.safe_log_offset, self._report)
        trusted = trusted_queues(
            self._disk, self._paths, table, log,
            point=point, listing=self._listing, report=self._report,
        )  # fmt: skip
        index = self._trusted_index(log, point)
        recovery = self._recover(log, table, now_ms, index=index, point=point, trusted=trusted)
        is_short = log.end - point.safe_log_offset <= SHORT_TAIL_SIZE
        if not point.names_all_queues:
            self._claim(recovery, log)
        elif recovery.no_space is not None:
            self._note_no_space("queues and index", recovery.no_space)
        elif not is_short:
            # The first upkeep syncs a short tail, so that the start waits for no sync.
            self._claim(recovery, log)
        return recovery

    def _recover_all(self, log: CommitLog, table: QueueTable, now_ms: int) -> Recovery:
        """Scan the whole log and compare everything with it.

        Raises:
            OSError: the disk refused.
        """
        safe_point = self._point
        point = new_point(log, safe_point)
        if safe_point is not None:
            if self._is_ours:
                drop_late_files(log, safe_point.safe_log_offset, self._report)
            # The old safe point becomes wrong as soon as the scan changes something.
            retract_safe_point(self._disk, self._paths, point)
        index = self._open_index()
        if index is not None:
            self._report.rebuilt_index_files += index.drop_from(first_foreign(index, log))
        recovery = self._recover(log, table, now_ms, index=index, point=point, trusted=None)
        self._claim(recovery, log)
        return recovery

    def _recover(
        self,
        log: CommitLog,
        table: QueueTable,
        now_ms: int,
        *,
        index: Index | None,
        point: SafePoint,
        trusted: Mapping[tuple[str, int], TrustedQueue] | None,
    ) -> Recovery:
        """Scan the log from the safe point on, or all of it if nothing is trusted."""
        safe_point = self._point
        fits = safe_point is not None and safe_point.log_file_size == log.file_size
        queues = QueueRecovery(
            disk=self._disk, paths=self._paths, config=self._config,
            log=log, table=table, is_of_java=safe_point is None, deleted=point.deleted_topics,
            knows_deletions=self._knows_deletions, seen=self._listing.queues,
            report=self._report, trusted=trusted or {}, is_complete=point.names_all_queues,
        )  # fmt: skip
        progress = RecoveryProgress(
            disk=self._disk, paths=self._paths,
            log=log, table=table, point=point, sync_log=not self._report.clean,
        )  # fmt: skip
        recovery = Recovery(
            disk=self._disk, paths=self._paths,
            log=log, start=log.min_offset if trusted is None else point.safe_log_offset,
            queues=queues, index=index, delays_ms=self._config.delays_ms(), report=self._report,
            progress=progress, is_ours=fits and self._is_ours,
            synced_until=safe_point.safe_log_offset if safe_point is not None and fits else 0,
            recover_from_ms=self._checkpoint.recover_from_ms,
        )  # fmt: skip
        recovery.recover(now_ms, cut_at=self._cut_at)
        return recovery

    def _claim(self, recovery: Recovery, log: CommitLog) -> None:
        """Make the safe point cover the whole store.

        Raises:
            OSError: the disk refused, or has no space for all of it.
        """
        if recovery.no_space is not None:
            raise recovery.no_space
        recovery.progress.claim(log_end=log.end, index=recovery.index)

    def _note_no_space(self, what: str, error: OSError) -> None:
        self._report.notes.append(f"no space for {what}: {error}; writing them when there is space")

    def _trusted_index(self, log: CommitLog, point: SafePoint) -> Index | None:
        """Return the index in the state of the safe point; it lacks the keys of later records.

        Raises:
            SafePointWrong: the index files do not agree with the safe point.
            OSError: the disk refused.
        """
        if not self._config.message_index_enable:
            return None
        if point.index is None:
            raise SafePointWrong("no index was kept when dispatch.json was written")
        if point.state is StoreState.STOPPED:
            index = self._open_index()
            if self._report.rebuilt_index_files:
                raise SafePointWrong("an index file cannot be used")
            return index

        def store_ms_at(log_offset: int) -> int:
            pos = log_offset % log.file_size
            if log_offset - pos not in log.bases:
                return 0
            file, left = log.file_at(log_offset - pos), log.file_size - pos
            size = min(int.from_bytes(file.pread(4, pos), "big"), left)
            record = parse_record(file.pread(size, pos), 0, log_offset=log_offset, left=left)
            return 0 if isinstance(record, str) else record.store_ms

        return load_marked_index(
            self._disk,
            self._paths,
            self._config,
            mark=point.index,
            store_ms_at=store_ms_at,
        )

    def _mark_running(self, log: CommitLog, table: QueueTable, point: SafePoint) -> SafePoint:
        """Create ``abort`` and record that a broker runs, before the first message is stored."""
        # A log file is durable only if the name of its directory is as well.
        self._disk.mkdir(self._paths.commitlog)
        self._disk.open(self._paths.abort, create=True).close()
        point.state = StoreState.RUNNING
        point.queue_file_size = table.files.file_size
        point.lock_ns = lock_time(self._disk, self._paths)
        point.files = ""
        # A power cut may have taken the end of the log. What is stored there from now on belongs
        # to the topics that are made again.
        point.deleted_topics = {
            topic: min(end, log.end)
            for topic, end in point.deleted_topics.items()
            if end > log.min_offset
        }
        try:
            write_safe_point(self._disk, self._paths, point)
        except OSError as error:
            # The previous content is still true if it says that our broker runs.
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
            checkpoint = Checkpoint.decode(data)
        except RecordDamaged as error:
            self._report.notes.append(f"checkpoint: {error}")
            return Checkpoint()
        if min(checkpoint) < 0:
            self._report.notes.append("ignored the checkpoint, which has a negative time")
            return Checkpoint()
        return checkpoint

    def _table(self, file_size: int) -> QueueTable:
        ext_file_size = self._config.mapped_file_size_consume_queue_ext
        return QueueTable(self._disk, self._paths, file_size=file_size, ext_file_size=ext_file_size)

    def _open_log(self) -> CommitLog:
        directory = self._paths.commitlog
        sizes: dict[int, int] = {}
        for entry in self._listing.logs:
            base = parse_log_file_name(entry.name)
            if base is None:
                self._report.notes.append(
                    f"commitlog/{entry.name} is not a commit log file; ignored it"
                )
            else:
                sizes[base] = entry.size
        file_size = log_file_size(sizes, self._config, self._point)
        if sizes and file_size != self._config.mapped_file_size_commit_log:
            self._report.notes.append(
                f"commit log files have {file_size} bytes, "
                f"not {self._config.mapped_file_size_commit_log} as configured; "
                "using their size"
            )
        point = self._point
        is_untouched = (
            point is not None
            and point.state is StoreState.STOPPED
            and point.files == self._listing.digest
        )
        if not is_untouched:
            self._fix_lengths(sizes, file_size)
        end = point.safe_log_offset if is_untouched and point is not None and sizes else 0
        log = CommitLog(self._disk, directory, file_size=file_size, bases=list(sizes), end=end)
        log.warm_size = self._config.warm_size
        return log

    def _fix_lengths(self, sizes: dict[int, int], file_size: int) -> None:
        """Extend or shorten every commit log file to its full length, with zeros at the end.

        Bytes beyond that length have no log offset. They are cut off if they are all zero.
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
                f"commitlog/{name} had {size} bytes, expected {file_size}; "
                + ("restored to full length" if size < file_size else "read up to there")
            )

    def _open_index(self) -> Index | None:
        if not self._config.message_index_enable:
            return None
        sealed_until_ms = None if self._report.clean else self._checkpoint.index_ms
        point = self._point
        if self._report.clean and self._listing.is_index_changed(point, self._lock_ns):
            # Headers do not show wrong entries. The log is scanned anyway and gives all keys.
            sealed_until_ms = -1
            self._report.notes.append("index files changed since the shutdown; rebuilding them")
        return load_index(
            self._disk,
            self._paths,
            self._config,
            sealed_until_ms=sealed_until_ms,
            report=self._report,
        )
