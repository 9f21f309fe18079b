"""The slow work of deletion, for a thread: unlinking files and reading old queue files.

    LookJob        measures how full the disk is
    DeleteLogJob   oldest file first, each durably deleted before the next one
    ScanQueuesJob  reads queue files and finds entries below the first retained byte
    DeleteFilesJob records the removal in dispatch.json, then deletes queue and index files

Rule: a job uses its own open files and no object of the event loop. A crash between two
steps leaves log files without a gap, and never fewer files than dispatch.json names.

Source: store/MappedFileQueue.java#deleteExpiredFileByTime, #deleteExpiredFileByOffset.
"""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from mqserver.store.disk.disk import Disk, DiskFile, DiskUsage
from mqserver.store.disk.job import DiskJob
from mqserver.store.queues.queue import queue_bases
from mqserver.store.queues.queue_rows import QueueRow
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE, FILLER_SIZE
from storefmt.paths import StorePaths, log_file_name

SLICE_SIZE: Final = 32 << 20
"""Bytes freed in one call, during which the file system serves no other process."""
_LOOK_BACK: Final = 512


@dataclass(eq=False, kw_only=True)
class LookJob(DiskJob):
    """Measures how full the disk is."""

    disk: Disk
    path: Path
    now_ms: int
    """The wall clock when the job began."""
    usage: DiskUsage | None = None

    def work(self) -> None:
        """Ask the file system."""
        self.usage = self.disk.usage(self.path)


@dataclass(eq=False, kw_only=True)
class DeleteLogJob(DiskJob):
    """Deletes commit log files."""

    disk: Disk
    left: list[Path]
    """Files of one directory that still exist, the oldest first."""
    interval_s: float
    """Pause between two files."""
    stop: threading.Event
    """Set when the broker stops; the remaining files are kept."""
    slowest_ms: float = 0.0
    """Longest single call, for which others may have had to wait for the file system."""

    def work(self) -> None:
        """Delete one file after another, each durably."""
        while self.left and not self.stop.is_set():
            started = time.perf_counter()
            file = self.disk.open(self.left[0])
            try:
                # Unlinking an open file is quick; its blocks are freed later in slices.
                self.disk.unlink(self.left[0])
                self.disk.fsync_dir(self.left[0].parent)
                self.left.pop(0)
                self._note(started)
                self._free(file)
            finally:
                started = time.perf_counter()
                file.close()
                self._note(started)
            if self.left:
                self.stop.wait(self.interval_s)

    def _free(self, file: DiskFile) -> None:
        """Free the blocks of the unlinked file, unless it is still being read."""
        size = file.size()
        while size and not self.stop.is_set() and file.is_ours_alone():
            started = time.perf_counter()
            size = max(size - SLICE_SIZE, 0)
            file.truncate(size)
            self._note(started)

    def _note(self, started: float) -> None:
        self.slowest_ms = max(self.slowest_ms, (time.perf_counter() - started) * 1000)


class QueueExtent(NamedTuple):
    """A queue as the event loop last saw it, in entries."""

    topic: str
    queue_id: int
    first: int
    minimum: int
    end: int
    """Entry after the last one that is in a file."""

    @property
    def is_expired(self) -> bool:
        """Return whether all of its messages have expired."""
        return self.minimum == self.end > 0


class QueueFinding(NamedTuple):
    """What a scan found in one queue."""

    view: QueueExtent
    expired: list[Path]
    """Files that are there and whose messages have all expired, the oldest first."""
    first: int
    minimum: int


@dataclass(eq=False, kw_only=True)
class ScanQueuesJob(DiskJob):
    """Finds queue entries that point below ``log_min``."""

    disk: Disk
    paths: StorePaths
    rows: Iterable[tuple[str, int, QueueRow]]
    """Every queue, up to its end in its files."""
    log_min: int
    """Log offset of the first retained byte."""
    file_size: int
    """Bytes of a queue file."""
    delete_count: int
    """The table's count of deletions when ``rows`` was made; the caller compares it when the job
    has ended."""
    found: list[QueueFinding] = field(default_factory=list)
    """Queues with something to delete or to correct."""
    empty: list[QueueExtent] = field(default_factory=list)
    """Queues without a message, found by this scan or an earlier one."""

    def work(self) -> None:
        """Look at every queue."""
        for topic, queue_id, row in self.rows:
            view = QueueExtent(topic, queue_id, *row)
            if view.is_expired:
                self.empty.append(view)
            if view.end <= view.first or view.minimum >= view.end:
                continue
            directory = self.paths.queue_dir(topic, queue_id)
            # A queue may be deleted meanwhile.
            with (
                suppress(FileNotFoundError),
                closing(_Entries(self.disk, directory, file_size=self.file_size)) as entries,
            ):
                self._look(view, directory, entries)

    def _look(self, view: QueueExtent, directory: Path, entries: "_Entries") -> None:
        low, end, log_min = view.minimum, view.end, self.log_min
        count = self.file_size // ENTRY_SIZE
        first, minimum, is_expired = view.first, low, False
        while first + count < end and entries.all_below(first, first + count, log_min):
            first += count
        begins_later = entries.at(low)[0] < log_min
        if begins_later:
            minimum = entries.first_from(max(first, low), end, log_min)
            is_expired = minimum == end and entries.all_below(first, end, log_min)
        # All files that are there: a kill before the end of an earlier deletion has left some.
        bases = queue_bases(self.disk, directory)
        expired = [directory / log_file_name(base) for base in bases if base < first * ENTRY_SIZE]
        if begins_later or expired or first > view.first:
            self.found.append(QueueFinding(view, expired, first, minimum))
        if is_expired:
            self.empty.append(view)


@dataclass(eq=False, kw_only=True)
class DeleteFilesJob(DiskJob):
    """Deletes queue and index files after recording their removal."""

    disk: Disk
    left: list[Path]
    """Files that still exist."""
    record: Callable[[], None]
    """Records in ``dispatch.json`` that the files are removed."""
    interval_s: float
    """Pause between two files of one directory."""
    stop: threading.Event
    """Set when the broker stops; the remaining files are then deleted without pauses."""

    def work(self) -> None:
        """Record the removal, delete the files and sync their directories."""
        self.record()
        directories: dict[Path, None] = {}
        while self.left:
            path = self.left[0]
            if path.parent in directories:
                self.stop.wait(self.interval_s)
            with suppress(FileNotFoundError):
                self.disk.unlink(path)
                directories[path.parent] = None
            self.left.pop(0)
        for directory in directories:
            if self.disk.is_dir(directory):
                self.disk.fsync_dir(directory)


class _Entries:
    """Reads entries of one queue from its files, with one file open at a time."""

    def __init__(self, disk: Disk, directory: Path, *, file_size: int) -> None:
        self._disk = disk
        self._directory = directory
        self._file_size = file_size
        self._base = -1
        self._file: DiskFile | None = None

    def _read(self, start: int, count: int) -> list[tuple[int, int, int]]:
        pos = start * ENTRY_SIZE
        base = pos - pos % self._file_size
        if self._file is None or base != self._base:
            self.close()
            self._file = self._disk.open(self._directory / log_file_name(base))
            self._base = base
        data = self._file.pread(count * ENTRY_SIZE, pos - base)
        return list(CQ_ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_SIZE]))

    def at(self, number: int) -> tuple[int, int, int]:
        """Return one entry; zeros if the file is too short."""
        entries = self._read(number, 1)
        return entries[0] if entries else (0, 0, 0)

    def all_below(self, start: int, end: int, log_min: int) -> bool:
        """Return whether the last message from ``start`` to ``end`` is below ``log_min``.

        Fillers are skipped, as they stand for no message; the result is False if too many of
        them come last.
        """
        per_file = self._file_size // ENTRY_SIZE
        low = max(start, end - _LOOK_BACK, (end - 1) - (end - 1) % per_file)
        for log_offset, size, _ in reversed(self._read(low, end - low)):
            if size != FILLER_SIZE:
                return size > 0 and log_offset + size <= log_min
        return False

    def first_from(self, low: int, end: int, log_min: int) -> int:
        """Return the first entry that points at or above ``log_min``, ``end`` for none."""
        high = end
        while low < high:
            middle = probe = (low + high) // 2
            entry = self.at(probe)
            # A filler does not show where to search next; the next message does.
            while entry[1] == FILLER_SIZE and probe + 1 < high:
                probe += 1
                entry = self.at(probe)
            if entry[0] < log_min:
                low = probe + 1
            else:
                high = middle
        return low

    def close(self) -> None:
        """Close the open file."""
        if self._file is not None:
            self._file.close()
            self._file = None
