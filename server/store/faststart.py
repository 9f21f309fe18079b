"""Whether a start after a crash may begin at the safe point, and where each part goes on.

    dispatch.json ours, complete, about these files? ─no──> the whole log
        └yes── each queue as it was? ──yes──> its next entry, from the safe point on
                                     └─no───> that queue alone, from where it is right
               index as it was?      ──yes──> rewound to the safe point
                                     └─no───> from its last good file on

Rule: what is read does not grow with the log. The log itself is walked from the smallest
of these offsets; a record is taken only by a part that does not have it.
"""

from typing import NamedTuple

from server.store.calls import RecoveryReport
from server.store.disk import Disk
from server.store.logfile import CommitLog
from server.store.queue import ConsumeQueue
from server.store.queuecheck import QueueCheck, Resume
from server.store.queuerows import QueueRow
from server.store.queuetable import QueueTable
from server.store.safepoint import Listing, SafePoint, Writer
from storefmt.consumequeue import ENTRY_SIZE
from storefmt.errors import BadCall
from storefmt.paths import StorePaths


class Plan(NamedTuple):
    """Where a recovery begins; log offsets."""

    safe: int
    start: int
    """First record that anybody needs."""
    index_from: int
    """First record whose keys the index may lack."""
    queues: dict[tuple[str, int], Resume]

    @property
    def is_tail_only(self) -> bool:
        """Tell whether nothing but what came after the safe point is to be looked at."""
        return self.start >= self.safe


def can_start_fast(
    point: SafePoint, log: CommitLog, *, clean: bool, cut_at: int | None, lock_ns: int
) -> bool:
    """Tell whether the safe point speaks of the log files that are there.

    Args:
        clean: there was no abort file.
        cut_at: log offset at which a file ended too early.
        lock_ns: when the lock file was written, looked at before this start locked it.
    """
    if point.writer is Writer.STOPPED or point.log_file_size != log.file_size:
        return False
    if point.lock_ns != lock_ns or (clean and point.writer is Writer.RUNNING):
        return False
    safe, bases = point.safe_log_offset, log.bases
    if not bases or not bases[0] <= safe <= bases[-1] + log.file_size:
        return False
    if cut_at is not None and cut_at < safe:
        return False
    row = list(range(bases[0], safe, log.file_size))
    return bases[: len(row)] == row


def plan_queues(
    disk: Disk,
    paths: StorePaths,
    table: QueueTable,
    log: CommitLog,
    *,
    point: SafePoint,
    listing: Listing,
    report: RecoveryReport,
) -> dict[tuple[str, int], Resume]:
    """Return where each queue goes on that is not as the safe point says.

    The others, nearly all where there are many, fall asleep in ``table``: they are woken by
    a record of the tail, if one comes.

    Args:
        listing: the files that there are.

    Raises:
        OSError: the disk cannot be read.
    """
    check = QueueCheck(disk, table.files, log, safe=point.safe_log_offset)
    resumes: dict[tuple[str, int], Resume] = {}
    seen, touched = listing.queues, listing.touched
    file_size = table.files.file_size
    for topic, queue_id, row in point.queues:
        key = topic, queue_id
        is_still = touched is not None and key not in touched and key not in point.behind
        is_still = is_still and row.end > row.first
        if is_still and seen.get(topic, queue_id) == _files_of(row, file_size):
            table.put_row(topic, queue_id, row)
            continue
        try:
            queue = ConsumeQueue(table.files, table.place(topic), queue_id)
        except BadCall as error:
            # Not of our writing, and no record of the log can be in it.
            report.notes.append(f"dispatch.json names a queue that cannot be one: {error}")
            continue
        resume = check.resume(
            queue,
            first=row.first,
            end=row.end,
            until=point.behind.get((topic, queue_id)),
            seen=seen.get(topic, queue_id),
        )
        if resume.is_whole and resume.take_from >= point.safe_log_offset:
            table.put_row(topic, queue_id, row)
            continue
        resumes[topic, queue_id] = resume
        if resume.doubt:
            report.notes.append(
                f"queue {queue_id} of {topic}: {resume.doubt}; it is built again from "
                f"log offset {resume.take_from}"
            )
    report.checked_reads = check.read_count
    return resumes


def _files_of(row: QueueRow, file_size: int) -> QueueRow:
    """Return what ``Listing`` says of a queue that is whole: first and last file, all bytes."""
    first = row.first * ENTRY_SIZE
    last = (row.end * ENTRY_SIZE - 1) // file_size * file_size
    return QueueRow(first, last, last + file_size - first)
