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
from operator import itemgetter
from typing import Final

from server.store.commitlog.dispatch_requests import dispatch_entries
from server.store.commitlog.log_files import CommitLog
from server.store.commitlog.log_scan import ZEROS, LogGap, LogWalk, ScannedRecord
from server.store.disk.disk import OUT_OF_SPACE, Disk
from server.store.disk.zeros import is_blank_to
from server.store.index.index import Index
from server.store.recovery.progress import SAVE_EVERY_SIZE, RecoveryProgress
from server.store.recovery.queue_recovery import QueueRecovery
from server.store.results import DispatchEntry, RecoveryReport
from storefmt.dispatch.record_entries import DueTimes, is_indexed
from storefmt.paths import StorePaths

_ENTRIES_A_STEP: Final = 512
_log_offset: Final = itemgetter(0)
_KEYS_WAITING_MAX: Final = 200 * _ENTRIES_A_STEP
"""Most records whose keys may wait in memory while the disk is full."""


class Recovery:
    """One scan of a log whose end, queues or index are not known to be right.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        log: the commit log.
        start: log offset from which it is scanned.
        queues: the recovery of the consume queues.
        index: the index so far; None if the store has none.
        delays_ms: the delay of each delay level.
        report: gets the findings.
        progress: saves how far the recovery has come.
        synced_until: log offset below which the log is known to be on the disk.
        is_ours: whether our broker wrote the log last and was not shut down properly.
        recover_from_ms: store time of records that the checkpoint of a Java broker covers.
    """

    def __init__(
        self,
        disk: Disk,
        paths: StorePaths,
        *,
        log: CommitLog,
        start: int,
        queues: QueueRecovery,
        index: Index | None,
        delays_ms: Sequence[int],
        report: RecoveryReport,
        progress: RecoveryProgress,
        synced_until: int,
        is_ours: bool,
        recover_from_ms: int,
    ) -> None:
        self.last_store_ms = 0
        self.last_log_offset = -1
        self.index = index
        self.progress = progress
        self._disk = disk
        self._paths = paths
        self._log = log
        self._due = DueTimes(delays_ms)
        self._report = report
        self._recover_from_ms = recover_from_ms
        self._synced_until = synced_until
        self._ours = is_ours
        self._queues = queues
        self._start = start
        self._save_at = start + SAVE_EVERY_SIZE
        self._file_number = 0
        self._index_ended = False
        self.keys: list[DispatchEntry] = []
        """Records whose keys still found no space in the index."""
        self.no_space: OSError | None = None
        """Why some queue or index entries are only in memory; None if all are in files."""
        self._zeros_from: int | None = None
        self._doubtful_from: int | None = None
        self._now_ms = 0

    def run(self, now_ms: int, *, cut_at: int | None) -> None:
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
        if not self._report.clean:
            until = self._synced_until
            self._doubtful_from = until if cut_at is None else min(cut_at, until)
        bases = list(self._log.bases)
        if not self._report.clean:
            self._drop_caches(bases)
        # Read-ahead would fill the page cache with zeros of a file that was only reserved.
        # Cached zeros no longer count as a hole, so the scan would have to read all of them.
        for base in bases[-2:]:
            self._log.file_at(base).read_ahead(on=False)
        end = self._walk(bases)
        self._erase_from(end)
        for base in self._log.bases[-2:]:
            self._log.file_at(base).read_ahead(on=True)
        self._log.set_end(end)
        self._queues.finish(end)
        self._finish_index(end)
        self.no_space = self._queues.no_space or (self.no_space if self.keys else None)

    def _drop_caches(self, bases: list[int]) -> None:
        """Drop cached pages after a crash, so that what may be unsynced is read from the disk.

        Pages that a failed sync left behind look written but are not on the disk.
        """
        for base in bases:
            if base + self._log.file_size > self._synced_until:
                self._log.file_at(base).drop_cache()

    def _walk(self, bases: list[int]) -> int:
        """Process every record and return the log offset at which the log ends."""
        last_data = self._last_base_with_data(bases)
        walk = LogWalk(self._log, bases, doubtful_from=self._doubtful_from)
        end = start = self._start
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
                    self._take(item)
                    end = item[-1].log_offset + item[-1].size
                elif isinstance(item, LogGap):
                    gaps.append(item)
                elif not gaps:
                    end = item.end
        return self._end_of_log(end, gaps, last_data)

    def _last_base_with_data(self, bases: list[int]) -> int:
        size = self._log.file_size
        for base in reversed(bases):
            if not is_blank_to(self._log.file_at(base), 0, size):
                return base
        return bases[0] if bases else 0

    def _is_tail(self, gap: LogGap, following: ScannedRecord, last_data: int) -> bool:
        """Tell whether the log ends at a gap although whole records follow it.

        A flush makes a beginning of the log durable, so records after a hole that was never
        synced were not synced either. A store of the Java broker does not record how far it was
        synced, so there only the last file can have such holes.
        """
        if self._report.clean:
            return False
        if self._ours:
            return gap.start >= self._synced_until
        return (
            gap.start >= max(last_data, self._synced_until)
            and following.store_ms > self._recover_from_ms
        )

    def _end_of_log(self, end: int, gaps: list[LogGap], last_data: int) -> int:
        """Return the log offset at which the log ends if no whole record follows ``gaps``."""
        if gaps and gaps[-1].reason == ZEROS:
            self._zeros_from = gaps[-1].start
        solid = [gap for gap in gaps if gap.reason != ZEROS and gap.reason != "missing file"]
        if not solid:
            return end
        size = self._log.file_size
        tail_from = last_data
        if not self._report.clean:
            tail_from = min(last_data, self._synced_until if self._ours else last_data - size)
        if gaps[0].start >= tail_from:
            return end
        # Bytes in later files without any record are not a torn write. They stay where they
        # are, and new records go to a new file after them.
        for gap in solid:
            self._report_gap(gap)
        return last_data + size

    def _report_gap(self, gap: LogGap) -> None:
        self._report.damaged.append((gap.start, gap.end - gap.start))
        self._report.notes.append(
            f"commit log from {gap.start} to {gap.end} is no record ({gap.reason}); "
            "it is left as it is, look at it with `mqadmin store verify`"
        )
        self._queues.lost_size += gap.end - gap.start

    def _take(self, records: Sequence[ScannedRecord]) -> None:
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
        self._report.record_count += len(records)
        self._report.scanned_size += last.log_offset + last.size - records[0].log_offset
        self._queues.take_all(entries, records)
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
        if self._report.damaged or not self._queues.is_settled:
            # A record in doubt has no entry yet, and a save below it would have to take back the
            # entries of all later records. So no save comes until the next record of its queue,
            # or the end of the log, decides. An interrupted recovery then only repeats more.
            return
        if self.index is not None:
            self._put_keys(self.index)
        if self.no_space is None:
            self.progress.save(until, self._queues.rebuilds, self.index)

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
        """Tell whether the index lacks a record with keys; drop the files that skipped it.

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
            self._report.rebuilt_index_files += index.drop_from(number)
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
        self._report.rebuilt_index_files += index.drop_from(number)
        self.keys = []
        start = index.files[-1].end_log_offset if index.files else self._log.min_offset
        for item in LogWalk(self._log, self._log.bases).items(max(start, self._log.min_offset)):
            for found in item if isinstance(item, list) else ():
                if found.log_offset < end:
                    self.keys += dispatch_entries((found,), self._due)
                    if len(self.keys) % _ENTRIES_A_STEP == 0:
                        self._put_keys(index)
        self._put_keys(index)

    def _erase_from(self, end: int) -> None:
        """Overwrite everything after the end of the log with zeros, and sync it."""
        size = self._log.file_size
        for base in self._log.bases[::-1]:
            if base >= end and base > self._log.bases[0]:
                if not is_blank_to(self._log.file_at(base), 0, size):
                    self._report.cut_size += size
                self._log.remove(base)
        for base in self._log.bases[-1:]:
            if end - base < size and self._zeros_from != end:
                self._report.cut_size += self._log.erase_tail(base, max(end - base, 0))
        if not self._report.clean:
            # Bytes that were only in the page cache when the last broker died are synced now.
            for base in self._log.bases:
                if base + size > self._synced_until:
                    self._log.file_at(base).fdatasync()
        if self._disk.is_dir(self._paths.commitlog):
            self._disk.fsync_dir(self._paths.commitlog)


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
            f"commit log file {base} follows one that was never synced and is gone; it goes, too"
        )
        report.cut_size += log.file_size
        log.remove(base)
    log.set_end(-(-safe // log.file_size) * log.file_size)
