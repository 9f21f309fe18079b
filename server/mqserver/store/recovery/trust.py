"""Decides whether a start may trust the safe point, and which queues it need not compare.

    dispatch.json ours, for these log files?      ──no───┐
        └yes─ each queue ends where it says?      ──no───┤
               └yes─ the index as it says?        ──no───┼──> SafePointWrong:
                      └yes─ the tail agrees?      ──no───┘    scan the whole log
                             └yes─> done: only the tail was scanned

Rule: there are two ways to start. Either everything in the safe point is right, and the log is
scanned from there; or something is not, and the whole log is scanned and everything is compared
with it. What is read here does not grow with the number of messages: for each queue the ends of
its files, and the record that its last entry points at. After a proper shutdown the names,
sizes and modification times of all files show that nothing changed them, and no queue is read.

Source: store/ConsumeQueue.java#recover (which examines the last three files only).
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import parse_record
from mqserver.store.disk.disk import Disk
from mqserver.store.queues.queue import ConsumeQueue, QueueFiles
from mqserver.store.queues.queue_rows import QueueRow
from mqserver.store.queues.queue_table import QueueTable
from mqserver.store.recovery.queue_rebuild import RestOfFiles
from mqserver.store.recovery.safe_point import Listing, SafePoint, StoreState
from mqserver.store.results import RecoveryReport
from storefmt.errors import BadCall
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER_SIZE
from storefmt.formats.message import RECORD_SIZE_MIN
from storefmt.formats.properties import INNER_MULTI_DISPATCH, parse_properties
from storefmt.paths import StorePaths, parse_log_file_name

_BLOCK: Final = 4096
_ENTRIES_A_BLOCK: Final = _BLOCK // ENTRY_SIZE
_ZEROS: Final = bytes(_BLOCK)


class SafePointWrong(Exception):
    """The store does not agree with the safe point; the whole log has to be scanned."""


class TrustedQueue(NamedTuple):
    """A queue whose files hold more than the entries of its row."""

    row: QueueRow
    rest: RestOfFiles


def check_point(
    point: SafePoint | None,
    listing: Listing,
    log: CommitLog,
    *,
    clean: bool,
    cut_at: int | None,
    lock_ns: int,
) -> SafePoint:
    """Return the safe point if it describes the existing log files.

    Args:
        point: the safe point that was read, None if there was none.
        listing: the files of the directory.
        log: the commit log.
        clean: whether there was no abort file.
        cut_at: log offset at which a file ended too early; None if none did.
        lock_ns: time of the lock file before this start locked it.

    Raises:
        SafePointWrong: it does not describe them.
    """
    if point is None:
        raise SafePointWrong("dispatch.json is missing or cannot be read")
    if not point.has_counts:
        raise SafePointWrong("dispatch.json has an earlier version")
    if point.lock_ns != lock_ns:
        raise SafePointWrong("another broker has started here since dispatch.json was written")
    if point.state is StoreState.STOPPED and point.files != listing.digest:
        raise SafePointWrong("files have changed since the broker stopped")
    if point.state is StoreState.RUNNING and clean:
        raise SafePointWrong("the file abort is gone although the broker did not stop")
    safe, bases = point.safe_log_offset, log.bases
    row = range(bases[0], safe, log.file_size) if bases else range(0)
    is_there = safe <= (bases[-1] + log.file_size if bases else 0)
    is_there = is_there and bases[: len(row)] == list(row)
    if point.log_file_size != log.file_size or not is_there or (bases and bases[0] > safe):
        raise SafePointWrong(f"commit log files below log offset {safe} are not as they were")
    if cut_at is not None and cut_at < safe:
        raise SafePointWrong(f"a commit log file ends at log offset {cut_at}, below {safe}")
    return point


def trusted_queues(
    disk: Disk,
    paths: StorePaths,
    table: QueueTable,
    log: CommitLog,
    *,
    point: SafePoint,
    listing: Listing,
    report: RecoveryReport,
) -> dict[tuple[str, int], TrustedQueue]:
    """Add the queues that end where the safe point says to ``table``; return the others.

    The files of the others hold something after the end that they should have.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        table: the table that gets the queues.
        log: the commit log.
        point: the safe point.
        listing: the files of the directory.
        report: gets the number of reads.

    Raises:
        SafePointWrong: a queue does not agree with the safe point.
        OSError: the disk could not be read.
    """
    trusted: dict[tuple[str, int], TrustedQueue] = {}
    if point.state is StoreState.STOPPED:
        # The digest shows that no file was changed.
        for topic, queue_id, row in point.queues:
            table.put_row(topic, queue_id, row)
        return trusted
    check = QueueCheck(disk=disk, files=table.files, log=log, safe=point.safe_log_offset)
    for topic, queue_id, row in point.queues:
        try:
            queue = ConsumeQueue(table.files, table.place(topic), queue_id, first=row.first)
        except BadCall as error:
            raise SafePointWrong(f"it names a queue that cannot be one: {error}") from error
        verdict = check.look_at(queue, row, listing.queues.get(topic, queue_id))
        if verdict.rest is RestOfFiles.NOTHING:
            table.put_row(topic, queue_id, verdict.row)
        else:
            trusted[topic, queue_id] = verdict
    if point.names_all_queues:
        for topic, queue_id, seen in listing.queues:
            if seen.first >= 0 and (topic, queue_id) not in point.queues:
                check.check_unnamed(ConsumeQueue(table.files, table.place(topic), queue_id), seen)
    report.checked_reads = check.read_count
    return trusted


@dataclass(eq=False, kw_only=True)
class QueueCheck:
    """Compares queues with their rows in the safe point."""

    disk: Disk
    files: QueueFiles
    """The open queue files."""
    log: CommitLog
    safe: int
    """Log offset below which the safe point covers records."""
    read_count: int = 0
    """Number of reads of queue files and of the log."""

    # The first block of the last file that was read holds every entry of a short queue.
    _place: tuple[str, int, int] = "", -1, -1
    _window: bytes = b""

    def look_at(self, queue: ConsumeQueue, row: QueueRow, seen: QueueRow | None) -> TrustedQueue:
        """Check a queue against its row, and return what its files hold after that.

        Args:
            queue: the queue.
            row: where the queue begins and ends according to the safe point.
            seen: the files of the queue as listed.

        Raises:
            SafePointWrong: the queue does not agree with its row.
            OSError: the disk could not be read.
        """
        size, count = self.files.file_size, queue.file_entry_count
        if row.end <= row.first or row.first % count:
            raise _wrong(queue, f"entries from {row.first} to {row.end} cannot be")
        sizes = self._sizes(queue, seen)
        first, last = row.first * ENTRY_SIZE, (row.end - 1) * ENTRY_SIZE // size * size
        for base in range(first, last + 1, size):
            if sizes.get(base) != size:
                problem = f"has {sizes[base]} bytes" if base in sizes else "is missing"
                raise _wrong(queue, f"file {base} {problem}, expected {size} bytes")
        self._check_order(queue, row)
        self._check_last(queue, row)
        # Some files may still exist that retention recorded as removed.
        if min(sizes) != first or max(sizes) != last:
            return TrustedQueue(row, RestOfFiles.ANYTHING)
        is_end = self._is_end(queue, row.end)
        return TrustedQueue(row, RestOfFiles.NOTHING if is_end else RestOfFiles.ENTRIES)

    def _check_order(self, queue: ConsumeQueue, row: QueueRow) -> None:
        """Check that the first and last entries of all files are in log order."""
        count, previous = queue.file_entry_count, -1
        for low in range(row.first, row.end, count):
            for number in sorted({low, min(row.end, low + count) - 1}):
                log_offset, size, _ = self._entry(queue, number)
                if size <= 0 or log_offset < 0:
                    raise _wrong(queue, f"entry {number} is empty")
                if size == FILLER_SIZE:
                    continue
                if log_offset < previous:
                    raise _wrong(queue, f"entry {number} points before an earlier one")
                previous = log_offset

    def _sizes(self, queue: ConsumeQueue, seen: QueueRow | None) -> dict[int, int]:
        """Return the size of each file of a queue by its start."""
        if seen is not None and seen.first == seen.minimum:
            # There is nearly always one file, and the listing has its size.
            return {seen.first: seen.end}
        sizes: dict[int, int] = {}
        for entry in self.disk.scan(queue.directory):
            base = parse_log_file_name(entry.name)
            if base is not None:
                sizes[base] = entry.size
        return sizes

    def _check_last(self, queue: ConsumeQueue, row: QueueRow) -> None:
        """Check that the last entry points at its record, below the safe point.

        Fillers at the end stand for records that the log has lost; the entry before them is
        checked then.
        """
        number = row.end - 1
        while number >= row.first:
            log_offset, size, _ = self._entry(queue, number)
            if size != FILLER_SIZE:
                reason = self._difference(queue, number, log_offset, size)
                if reason:
                    raise _wrong(queue, f"entry {number} points {reason}")
                return
            number -= 1

    def _difference(self, queue: ConsumeQueue, number: int, log_offset: int, size: int) -> str:
        """Return how an entry differs from its record, "" if it does not."""
        log = self.log
        if 0 <= log_offset < log.min_offset:
            return ""
        base = log_offset - log_offset % log.file_size
        if log_offset + size > self.safe:
            return "past the safe point"
        if base not in log.bases or not RECORD_SIZE_MIN <= size <= log.file_size:
            return "at no record"
        self.read_count += 1
        pos = log_offset - base
        data = log.file_at(base).pread(size, pos)
        record = parse_record(data, 0, log_offset=log_offset, left=log.file_size - pos)
        if isinstance(record, str):
            return f"at no record ({record})"
        names = (record.topic, record.queue_id, record.queue_offset, record.size)
        if names == (queue.topic, queue.queue_id, number, size):
            return ""
        copies = parse_properties(record.properties).get(INNER_MULTI_DISPATCH, "").split(",")
        is_copy = queue.topic in copies and record.size == size
        return "" if is_copy else "at another record"

    def _is_end(self, queue: ConsumeQueue, end: int) -> bool:
        """Return whether the last file holds only zeros from entry ``end`` on."""
        size = self.files.file_size
        start = end * ENTRY_SIZE % size
        if start == 0:
            return True
        base = end * ENTRY_SIZE - start
        block_end = min(start - start % _BLOCK + _BLOCK, size)
        data = self._read(queue, base, start, block_end - start)
        if data != _ZEROS[: len(data)]:
            return False
        following = self.files.get(queue.path_at(base)).next_data(block_end)
        return following is None or following >= size

    def check_unnamed(self, queue: ConsumeQueue, seen: QueueRow) -> None:
        """Check that a queue that the safe point does not name has no record below it.

        Raises:
            SafePointWrong: the queue has such a record.
            OSError: the disk could not be read.
        """
        data = self._read(queue, seen.first, 0, _ENTRIES_A_BLOCK * ENTRY_SIZE)
        whole_size = len(data) - len(data) % ENTRY_SIZE
        for log_offset, size, _ in CQ_ENTRY.iter_unpack(data[:whole_size]):
            if size != FILLER_SIZE:
                if size > 0 and self.log.min_offset <= log_offset < self.safe:
                    raise _wrong(queue, "it is not named and has entries of earlier records")
                return

    def _entry(self, queue: ConsumeQueue, number: int) -> tuple[int, int, int]:
        pos = number * ENTRY_SIZE
        start = pos % self.files.file_size
        data = self._read(queue, pos - start, start, ENTRY_SIZE)
        log_offset, size, tags_code = CQ_ENTRY.unpack(data.ljust(ENTRY_SIZE, b"\0"))
        return log_offset, size, tags_code

    def _read(self, queue: ConsumeQueue, base: int, start: int, size: int) -> bytes:
        """Return bytes of a queue file, from the last block that was read if it holds them."""
        place = queue.topic, queue.queue_id, base
        if place != self._place:
            self._place, self._window = place, b""
        if start + size <= len(self._window):
            return self._window[start : start + size]
        file = self.files.get(queue.path_at(base))
        self.read_count += 1
        if start + size > _BLOCK:
            return file.pread(size, start)
        self._window = file.pread(_BLOCK, 0)
        return self._window[start : start + size]


def _wrong(queue: ConsumeQueue, reason: str) -> SafePointWrong:
    return SafePointWrong(f"queue {queue.queue_id} of {queue.topic}: {reason}")
