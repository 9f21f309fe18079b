"""Recovery: scan the log, cut its torn tail, and make queues and index agree with it.

    record … record  LogGap  record … record  LogGap
                     │                     └ no whole record follows: a torn tail, erased
                     └ below a log offset that was synced: damage, kept and reported
                       after a crash, where nothing was synced yet: the tail starts here

If a start may trust the safe point, all of this begins there (see ``trust``).

Rule: a proper shutdown leaves no tail, so in that case only a record that was cut short is
erased. After a crash the log ends before the first gap that may be an unsynced write;
with SYNC_FLUSH the records after it were never acknowledged. Whatever is cut is overwritten
with zeros and synced before the first new record, or it would reappear after a crash.

Source: store/CommitLog.java#recoverNormally, #recoverAbnormally,
store/MappedFileQueue.java#truncateDirtyFiles (which erases nothing).
"""

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import closing
from dataclasses import InitVar, dataclass, field
from operator import itemgetter
from typing import Final

from mqserver.store.commitlog.dispatch_requests import dispatch_entries
from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import ZEROS, LogGap, LogWalk, ScannedRecord
from mqserver.store.disk.disk import Disk
from mqserver.store.disk.zeros import is_blank_to
from mqserver.store.index.index import Index
from mqserver.store.recovery.progress import SAVE_EVERY_SIZE, RecoveryProgress
from mqserver.store.recovery.queue_recovery import QueueRecovery
from mqserver.store.results import DispatchEntry, RecoveryReport
from mqserver.store.store_errors import OUT_OF_SPACE
from storefmt.dispatch.record_entries import DueTimes, is_indexed
from storefmt.paths import StorePaths

_ENTRIES_A_STEP: Final = 512
_log_offset: Final = itemgetter(0)
_KEYS_WAITING_MAX: Final = 200 * _ENTRIES_A_STEP
"""Most records whose keys may wait in memory while the disk is full."""


@dataclass(eq=False, kw_only=True)
class Recovery:
    """One scan of a log whose end, queues or index are not known to be right."""

    disk: Disk
    paths: StorePaths
    log: CommitLog
    start: int
    """Log offset from which the log is scanned."""
    queues: QueueRecovery
    index: Index | None
    """The index so far; None if the store has none."""
    delays_ms: InitVar[Sequence[int]]
    """The delay of each delay level."""
    report: RecoveryReport
    progress: RecoveryProgress
    synced_until: int
    """Log offset below which the log is known to be on the disk."""
    is_ours: bool
    """Our broker wrote the log last and was not shut down properly."""
    recover_from_ms: int
    """Store time of records that the checkpoint of a Java broker covers."""

    last_store_ms: int = 0
    last_log_offset: int = -1
    keys: list[DispatchEntry] = field(default_factory=list)
    """Records whose keys still found no space in the index."""
    no_space: OSError | None = None
    """Why some queue or index entries are only in memory; None if all are in files."""
    _file_number: int = 0
    _index_ended: bool = False
    _zeros_from: int | None = None
    _doubtful_from: int | None = None
    _now_ms: int = 0

    def __post_init__(self, delays_ms: Sequence[int]) -> None:
        self._due = DueTimes(delays_ms)
        self._save_at = self.start + SAVE_EVERY_SIZE

    def recover(self, now_ms: int, *, cut_at: int | None) -> None:
        """Recover the log, queues and index, so that they are ready to serve.

        Args:
            now_ms: the time that names a new index file.
            cut_at: log offset at which a file ended too early; None if none did.

        Raises:
            SafePointWrong: a record after the safe point contradicts it.
            OSError: the disk refused.
        """
        self._now_ms = now_ms
        self._doubtful_from = cut_at
        if not self.report.clean:
            until = self.synced_until
            self._doubtful_from = until if cut_at is None else min(cut_at, until)
        bases = list(self.log.bases)
        if not self.report.clean:
            self._drop_caches(bases)
        # Read-ahead would fill the page cache with zeros of a file that was only reserved.
        # Cached zeros no longer count as a hole, so the scan would have to read all of them.
        for base in bases[-2:]:
            self.log.file_at(base).read_ahead(on=False)
        end = self._walk(bases)
        self._erase_from(end)
        for base in self.log.bases[-2:]:
            self.log.file_at(base).read_ahead(on=True)
        self.log.set_end(end)
        self.queues.finish(end)
        self._finish_index(end)
        self.no_space = self.queues.no_space or (self.no_space if self.keys else None)

    def _drop_caches(self, bases: list[int]) -> None:
        """Drop cached pages after a crash, so that what may be unsynced is read from the disk.

        Pages that a failed sync left behind look written but are not on the disk.
        """
        for base in bases:
            if base + self.log.file_size > self.synced_until:
                self.log.file_at(base).drop_cache()

    def _walk(self, bases: list[int]) -> int:
        """Process every record and return the log offset at which the log ends."""
        last_data = self._last_base_with_data(bases)
        walk = LogWalk(self.log, bases, doubtful_from=self._doubtful_from)
        end = start = self.start
        gaps: list[LogGap] = []
        with closing(walk.items(start)) as items:
            for item in items:
                if isinstance(item, list):
                    if gaps:
                        if self._is_tail(gaps[0], item[0], last_data):
                            return gaps[0].start
                        for gap in gaps:
                            self._report_gap(gap)
                        gaps.clear()
                    self._process_records(item)
                    end = item[-1].log_offset + item[-1].size
                elif isinstance(item, LogGap):
                    gaps.append(item)
                elif not gaps:
                    end = item.end
        return self._end_of_log(end, gaps, last_data)

    def _last_base_with_data(self, bases: list[int]) -> int:
        size = self.log.file_size
        for base in reversed(bases):
            if not is_blank_to(self.log.file_at(base), 0, size):
                return base
        return bases[0] if bases else 0

    def _is_tail(self, gap: LogGap, following: ScannedRecord, last_data: int) -> bool:
        """Return whether the log ends at a gap although whole records follow it.

        A flush makes a beginning of the log durable, so records after a hole that was never
        synced were not synced either. A store of the Java broker does not record how far it was
        synced, so there only the last file can have such holes.
        """
        if self.report.clean:
            return False
        if self.is_ours:
            return gap.start >= self.synced_until
        return (
            gap.start >= max(last_data, self.synced_until)
            and following.store_ms > self.recover_from_ms
        )

    def _end_of_log(self, end: int, gaps: list[LogGap], last_data: int) -> int:
        """Return the log offset at which the log ends if no whole record follows ``gaps``."""
        if gaps and gaps[-1].reason == ZEROS:
            self._zeros_from = gaps[-1].start
        solid = [gap for gap in gaps if gap.reason != ZEROS and gap.reason != "missing file"]
        if not solid:
            return end
        size = self.log.file_size
        tail_from = last_data
        if not self.report.clean:
            tail_from = min(last_data, self.synced_until if self.is_ours else last_data - size)
        if gaps[0].start >= tail_from:
            return end
        # Bytes in later files without any record are not a torn write. They stay where they
        # are, and new records go to a new file after them.
        for gap in solid:
            self._report_gap(gap)
        return last_data + size

    def _report_gap(self, gap: LogGap) -> None:
        self.report.damaged.append((gap.start, gap.end - gap.start))
        self.report.notes.append(
            f"commit log from {gap.start} to {gap.end} is not a record ({gap.reason}); "
            "left as it is; look at it with `mqadmin store verify`"
        )
        self.queues.lost_size += gap.end - gap.start

    def _process_records(self, records: Sequence[ScannedRecord]) -> None:
        """Process adjacent records, and save progress after the first one that is far enough."""
        while records:
            count = bisect_left(records, self._save_at, key=_log_offset) + 1
            self._take_run(records[:count])
            if count > len(records):
                return
            self._save(records[count - 1].log_offset + records[count - 1].size)
            records = records[count:]

    def _take_run(self, records: Sequence[ScannedRecord]) -> None:
        entries = dispatch_entries(records, self._due)
        last = records[-1]
        self.last_store_ms = last.store_ms
        self.last_log_offset = last.log_offset
        self.report.record_count += len(records)
        self.report.scanned_size += last.log_offset + last.size - records[0].log_offset
        self.queues.take_all(entries, records)
        index = self.index
        if index is None:
            return
        before = len(self.keys)
        self.keys += [
            entry
            for entry in entries
            if entry.keys and (self._index_ended or self._index_lacks(index, entry))
        ]
        if before // _ENTRIES_A_STEP < len(self.keys) // _ENTRIES_A_STEP:
            self._put_keys(index)

    def _save(self, until: int) -> None:
        """Save the progress, except after damage, which the next start has to report again."""
        self._save_at = until + SAVE_EVERY_SIZE
        if self.report.damaged or not self.queues.is_settled:
            # A record in doubt has no entry yet, and a save below it would have to take back the
            # entries of all later records. So no save comes until the next record of its queue,
            # or the end of the log, decides. An interrupted recovery then only repeats more.
            return
        if self.index is not None:
            self._put_keys(self.index)
        if self.no_space is None:
            self.progress.save(until, self.queues.rebuilds, self.index)

    def _put_keys(self, index: Index) -> None:
        if not self.keys:
            return
        try:
            index.dispatch_all(self.keys, self._now_ms)
        except OSError as error:
            if error.errno not in OUT_OF_SPACE or len(self.keys) >= _KEYS_WAITING_MAX:
                raise
            self.no_space = error
        else:
            self.keys = []

    def _index_lacks(self, index: Index, entry: DispatchEntry) -> bool:
        """Return whether the index lacks a record with keys; drop the files that skipped it.

        The index then lacks all later records too.
        """
        if not is_indexed(entry.sys_flag):
            return False
        files = index.files
        number = self._file_number
        while number < len(files) and files[number].end_log_offset < entry.log_offset:
            number += 1
        self._file_number = number
        if number < len(files):
            if files[number].begin_log_offset <= entry.log_offset:
                if files[number].end_log_offset > entry.log_offset:
                    return False
                # The end of a file may cut the keys of its last record.
                number += 1
                following = number < len(files) and files[number].begin_log_offset
                if following == entry.log_offset or index.has_all(number, entry.keys):
                    return False
            self.report.rebuilt_index_files += index.drop_from(number)
        self._index_ended = True
        return True

    def _finish_index(self, end: int) -> None:
        """Rebuild index files that have keys of records which are no longer in the log."""
        index = self.index
        if index is None:
            return
        self._put_keys(index)
        number = len(index.files)
        while number and index.files[number - 1].end_log_offset >= max(end, 1):
            number -= 1
        if number == len(index.files):
            return
        self.report.rebuilt_index_files += index.drop_from(number)
        self.keys = []
        start = index.files[-1].end_log_offset if index.files else self.log.min_offset
        for item in LogWalk(self.log, self.log.bases).items(max(start, self.log.min_offset)):
            for record in item if isinstance(item, list) else ():
                if record.log_offset < end:
                    self.keys += dispatch_entries((record,), self._due)
                    if len(self.keys) % _ENTRIES_A_STEP == 0:
                        self._put_keys(index)
        self._put_keys(index)

    def _erase_from(self, end: int) -> None:
        """Overwrite everything after the end of the log with zeros, and sync it."""
        size = self.log.file_size
        for base in self.log.bases[::-1]:
            if base >= end and base > self.log.bases[0]:
                if not is_blank_to(self.log.file_at(base), 0, size):
                    self.report.cut_size += size
                self.log.remove(base)
        for base in self.log.bases[-1:]:
            if end - base < size and self._zeros_from != end:
                self.report.cut_size += self.log.erase_tail(base, max(end - base, 0))
        if not self.report.clean:
            # Bytes that were only in the page cache when the last broker died are synced now.
            for base in self.log.bases:
                if base + size > self.synced_until:
                    self.log.file_at(base).fdatasync()
        if self.disk.is_dir(self.paths.commitlog):
            self.disk.fsync_dir(self.paths.commitlog)


def drop_late_files(log: CommitLog, safe: int, report: RecoveryReport) -> None:
    """End a log of our own broker at the safe point if its first file begins after that.

    The directory entry of a new file may reach the disk before that of the previous file, and
    then neither of them was synced. Retention never leaves such a hole: it deletes only files
    below ``safe``.

    Raises:
        OSError: the disk refused.
    """
    if log.bases and (log.bases[0] <= safe or safe % log.file_size):
        return
    for base in reversed(log.bases):
        report.notes.append(
            f"removed commit log file {base}, because it follows one that was never synced and is "
            "missing"
        )
        report.cut_size += log.file_size
        log.remove(base)
    log.set_end(-(-safe // log.file_size) * log.file_size)
