"""Whether the files of one queue are still as the safe point says.

    first            n                 end
    | file | … | file with n-1 | free |      entries below n point at records below safe
                        └─> the record it points at says: topic, queue id, offset n-1

Rule: a queue is believed when every file is there with its size, when the ends of each
file are entries in order, and when the last entry before the safe point and its record
agree. Anything else is a doubt, and costs a walk of the log for this queue alone, from
the last file that can still be believed. What is read does not grow with the messages.

Source: store/ConsumeQueue.java#recover (which looks at the last three files only).
"""

from typing import Final, NamedTuple

from server.store.disk import Disk, DiskFile
from server.store.logfile import CommitLog
from server.store.queue import ConsumeQueue, QueueFiles
from server.store.queuerows import QueueRow
from server.store.walk import parse_record
from storefmt.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER_SIZE
from storefmt.message import RECORD_SIZE_MIN
from storefmt.paths import parse_log_file_name
from storefmt.properties import INNER_MULTI_DISPATCH, parse_properties

_STEP: Final = 512
_BLOCK: Final = 4096
_ZEROS: Final = bytes(_BLOCK)


class Resume(NamedTuple):
    """Where the recovery of one queue goes on."""

    next: int | None
    """Entry that is written next; None starts with the first record that is met."""
    take_from: int
    """Log offset of the first record that is not in the queue yet."""
    doubt: str = ""
    """What was wrong with it; empty when all is well."""
    is_whole: bool = False
    """Nothing is behind ``next``: the files are as the safe point says."""
    first: int | None = None
    """First entry, when the files are just those of the entries from there to ``next``."""


class QueueCheck:
    """Looks at the queues of one store after a crash.

    Args:
        safe: log offset up to which log and queues were synced.
    """

    def __init__(self, disk: Disk, files: QueueFiles, log: CommitLog, *, safe: int) -> None:
        self.read_count = 0
        """Reads of queue files and of the log."""
        self._place: tuple[int, str, int] | None = None
        self._file: DiskFile | None = None
        self._window = b""
        self._window_pos = 0
        self._look_size = 0
        self._disk = disk
        self._files = files
        self._log = log
        self._safe = safe

    def resume(
        self, queue: ConsumeQueue, *, first: int, end: int, until: int | None, seen: QueueRow | None
    ) -> Resume:
        """Return where a queue goes on that had the entries from ``first`` to ``end``.

        Args:
            until: log offset up to which it has every record, None for the safe point.
            seen: its files as listed.

        Raises:
            OSError: the disk cannot be read.
        """
        safe = self._safe if until is None else until
        if end <= first:
            return Resume(None, safe)
        believed = Resume(None, self._log.min_offset)
        size = self._files.file_size
        # In a short queue one look sees all of it.
        self._look_size = _BLOCK if end - first <= size // ENTRY_SIZE else 0
        # One file, as nearly always, was seen by the listing.
        known = {seen.first: seen.end} if seen is not None and seen.first == seen.minimum else None
        if known is None:
            known = self._sizes(queue)
        previous = -1
        for base in range(first * ENTRY_SIZE, end * ENTRY_SIZE, size):
            if known.get(base) != size:
                found = f"it has {known[base]} bytes" if base in known else "there is none"
                doubt = f"file {base}: {found}, expected {size} bytes"
                return self._below_safe(queue, first, believed, safe)._replace(doubt=doubt)
            last = min(end, (base + size) // ENTRY_SIZE) - 1
            low, high = self._entry(queue, base // ENTRY_SIZE), self._entry(queue, last)
            if low[1] <= 0 or high[1] <= 0 or not previous < low[0] + low[1] <= high[0] + high[1]:
                if FILLER_SIZE not in (low[1], high[1]) or 0 in (low[1], high[1]):
                    doubt = f"file {base}: entries out of order"
                    return self._below_safe(queue, first, believed, safe)._replace(doubt=doubt)
            elif high[1] != FILLER_SIZE:
                previous = high[0]
                if last + 1 < end:
                    believed = Resume(last + 1, high[0] + high[1])
        doubt, number = self._end_below(queue, first, end, safe)
        if doubt:
            return self._below_safe(queue, first, believed, safe)._replace(doubt=doubt)
        is_row = min(known) == first * ENTRY_SIZE and max(known) < end * ENTRY_SIZE
        if number < end or not is_row:
            return Resume(number, safe)
        return Resume(number, safe, is_whole=self._is_end(queue, end), first=first)

    def _below_safe(self, queue: ConsumeQueue, first: int, believed: Resume, safe: int) -> Resume:
        """Return ``believed``, or what of it is behind the safe point.

        Queues may be synced further than the log, and their last records lost with it.
        """
        if believed.next is None or believed.take_from <= safe:
            return believed
        doubt, number = self._end_below(queue, first, believed.next, safe)
        return Resume(None, self._log.min_offset) if doubt else Resume(number, safe)

    def _sizes(self, queue: ConsumeQueue) -> dict[int, int]:
        """Return the size of each file of a queue by its start."""
        found: dict[int, int] = {}
        for entry in self._disk.scan(queue.directory):
            base = parse_log_file_name(entry.name)
            if base is not None:
                found[base] = entry.size
        return found

    def _is_end(self, queue: ConsumeQueue, end: int) -> bool:
        """Tell whether the file holds nothing from entry ``end`` on."""
        size = self._files.file_size
        start = end * ENTRY_SIZE % size
        if start == 0:
            return True
        block_end = min(start - start % _BLOCK + _BLOCK, size)
        data = self._bytes(queue, end * ENTRY_SIZE, block_end - start)
        if data != _ZEROS[: len(data)]:
            return False
        assert self._file is not None
        following = self._file.next_data(block_end) if block_end < size else None
        return following is None or following >= size

    def _entry(self, queue: ConsumeQueue, number: int) -> tuple[int, int, int]:
        log_offset, size, tags_code = CQ_ENTRY.unpack(self._read(queue, number, 1))
        return log_offset, size, tags_code

    def _read(self, queue: ConsumeQueue, start: int, count: int) -> bytes:
        return self._bytes(queue, start * ENTRY_SIZE, count * ENTRY_SIZE)

    def _bytes(self, queue: ConsumeQueue, pos: int, size: int) -> bytes:
        """Return bytes of one file of a queue, out of the window where it has them."""
        in_file = pos % self._files.file_size
        base = pos - in_file
        place = queue.queue_id, queue.topic, base
        low = in_file - self._window_pos
        if place == self._place and low >= 0 and low + size <= len(self._window):
            return self._window[low : low + size]
        if place != self._place or self._file is None:
            self._file = self._files.get(queue.path_at(base))
            self._place = place
        self.read_count += 1
        self._window = self._file.pread(max(size, self._look_size), in_file)
        self._window_pos = in_file
        return self._window[:size]

    def _end_below(self, queue: ConsumeQueue, first: int, end: int, safe: int) -> tuple[str, int]:
        """Return what is wrong, and the entry after the last one that points below ``safe``."""
        # Nearly always the last entry tells.
        per_file, step = queue.file_entry_count, 1
        while end > first:
            start = max(first, end - step, (end - 1) - (end - 1) % per_file)
            entries = list(CQ_ENTRY.iter_unpack(self._read(queue, start, end - start)))
            for number in range(end - 1, start - 1, -1):
                log_offset, size, _ = entries[number - start]
                if size == FILLER_SIZE:
                    continue
                if size <= 0:
                    return f"entry {number} is empty", 0
                if log_offset < safe:
                    # Fillers behind it stand for records that the log lost before.
                    tail = [entry[1] == FILLER_SIZE for entry in entries[number - start + 1 :]]
                    fillers = tail.index(False) if False in tail else len(tail)
                    return self._doubt(queue, number, log_offset, size), number + 1 + fillers
            # A filler at the end: those before it tell, and it counts with them.
            end, step = (end, _STEP) if step == 1 and start > first else (start, _STEP)
        return "", first

    def _doubt(self, queue: ConsumeQueue, number: int, log_offset: int, size: int) -> str:
        """Return how entry ``number`` differs from its record, "" when it does not."""
        log = self._log
        if log_offset < log.min_offset:
            return ""
        base = log_offset - log_offset % log.file_size
        if base not in log.bases or not RECORD_SIZE_MIN <= size <= log.file_size:
            return f"entry {number} points at no record"
        self.read_count += 1
        pos = log_offset - base
        found = parse_record(
            log.file_at(base).pread(size, pos),
            0,
            log_offset=log_offset,
            left=log.file_size - pos,
        )
        if isinstance(found, str):
            return f"entry {number} points at no record ({found})"
        names = (found.topic, found.queue_id, found.queue_offset, found.size)
        if names == (queue.topic, queue.queue_id, number, size):
            return ""
        copies = parse_properties(found.properties).get(INNER_MULTI_DISPATCH, "").split(",")
        if queue.topic in copies and found.size == size:
            return ""
        return f"entry {number} points at another record"
