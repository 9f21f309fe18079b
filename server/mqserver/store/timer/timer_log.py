"""The timer log: one unit of 52 bytes for each message that entered the wheel.

    timerlog/00000000000000000000   | unit | unit | … | blank |     files of one size, sparse
             00000000000104857600   | unit | unit | 0 0 0 …
                                           ^ written_end ^ end      the units between are in memory

Rule: units are collected, and the flush of ``timer_files`` writes them in a thread
(``begin_write``). Apart from it only ``cut`` changes a file: at the start it erases what lies
behind a position, because a unit that a recovery left out must not come back. A unit does not
cross the end of a file. The bytes after the last unit are zero.

Source: store/timer/TimerLog.java, store/MappedFileQueue.java (5.4.0).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mqserver.store.disk.disk import Disk, DiskFile
from mqserver.store.disk.file_write import FileWrite
from storefmt.dispatch.queue_entries import file_parts
from storefmt.formats.timer import BLANK, BLANK_MAGIC, BLANK_SIZE, UNIT_SIZE, TimerUnit
from storefmt.paths import log_file_name, parse_log_file_name

WINDOW_SIZE: Final = 1260 * UNIT_SIZE
"""Bytes that a read of one unit fetches, about 64 KiB, because a chain goes to its neighbours."""


class TimerLog:
    """The files of one timer log.

    Args:
        disk: the disk that holds the files.
        directory: the directory of the files, which is created with the first unit.
        file_size: bytes of a new file (mappedFileSizeTimerLog).
    """

    def __init__(self, disk: Disk, directory: Path, file_size: int) -> None:
        self._disk = disk
        self._directory = directory
        # The files that exist, by where they begin; None for one that is not open.
        self._files: dict[int, DiskFile | None] = {}
        self.file_size = file_size
        self.end = 0
        """Position of the next unit, in bytes of the whole log."""
        # What is behind the files, including the zeros that fill up a file.
        self._fresh = bytearray()
        self._unsynced: set[int] = set()
        self._window_pos, self._window = 0, b""

    def load(self) -> str:
        """Open the files that exist; return what is wrong with them, or "".

        Raises:
            OSError: the directory cannot be read.
        """
        bases = [
            (base, entry.size)
            for entry in self._disk.scan(self._directory)
            if (base := parse_log_file_name(entry.name)) is not None
        ]
        if not bases:
            return ""
        size = bases[0][1] or self.file_size
        others = {other for _, other in bases[:-1]} | {max(size, bases[-1][1])}
        if size < UNIT_SIZE + BLANK_SIZE or others != {size}:
            return f"the files of {self._directory} are not of one size"
        for number, (base, _) in enumerate(bases):
            if base != bases[0][0] + number * size:
                return f"{self._directory} lacks the file before {log_file_name(base)}"
        self.file_size = size
        self._files = dict.fromkeys(base for base, _ in bases)
        if bases[-1][1] < size:
            # A power cut came between the creation of the file and that of its size.
            self._file(bases[-1][0]).truncate(size)
        self.end = bases[-1][0]
        return ""

    @property
    def start(self) -> int:
        """Position of the first byte that is retained."""
        return min(self._files, default=self.written_end)

    @property
    def limit(self) -> int:
        """Position after the last file."""
        return max(self._files) + self.file_size if self._files else self.end

    def append(self, unit: TimerUnit) -> int:
        """Add a unit, and return its position."""
        left = self.file_size - self.end % self.file_size
        if left < UNIT_SIZE + BLANK_SIZE:
            self._fresh += BLANK.pack(left, 0, BLANK_MAGIC).ljust(left, b"\0")
            self.end += left
        pos = self.end
        self._fresh += unit.encode()
        self.end += UNIT_SIZE
        return pos

    @property
    def written_end(self) -> int:
        """Position up to which the units are in their files."""
        return self.end - len(self._fresh)

    def begin_write(self) -> list[FileWrite]:
        """Copy the units that are only in memory, for a thread that writes and syncs them.

        A file that only has to be synced is named without any bytes.
        """
        bases, self._unsynced = self._unsynced, set()
        writes = [FileWrite(self._path(base), self.file_size, []) for base in sorted(bases)]
        written = 0
        for base, pos, size in file_parts(
            self.written_end, len(self._fresh), file_size=self.file_size
        ):
            part = pos, bytes(self._fresh[written : written + size])
            writes.append(FileWrite(self._path(base), self.file_size, [part]))
            written += size
        return writes

    def end_write(self, end: int, *, is_done: bool) -> None:
        """Let go of the units before ``end``, which are in their files; if not, keep them."""
        if not is_done:
            self._unsynced.update(self._files)
            return
        pos, size = self.written_end, self.file_size
        for base in range(pos - pos % size, end, size):
            self._files.setdefault(base)
        del self._fresh[: end - pos]

    def read(self, pos: int) -> TimerUnit | None:
        """Return the unit at a position, or None if there is none.

        Raises:
            OSError: the disk could not be read.
        """
        if not self.start <= pos <= self.end - UNIT_SIZE:
            return None
        if pos >= self.written_end:
            start = pos - self.written_end
            return TimerUnit.decode(bytes(self._fresh[start : start + UNIT_SIZE]))
        in_window = pos - self._window_pos
        if not 0 <= in_window <= len(self._window) - UNIT_SIZE:
            self._fetch(pos)
            in_window = pos - self._window_pos
        return TimerUnit.decode(self._window, in_window)

    def _fetch(self, pos: int) -> None:
        """Read bytes around a position, most of them before it, because chains go back."""
        base = pos - pos % self.file_size
        low = max(base, pos + UNIT_SIZE * 256 - WINDOW_SIZE)
        high = min(self.written_end, base + self.file_size, low + WINDOW_SIZE)
        self._window = self._file(base).pread(high - low, low - base)
        self._window_pos = low

    def find_end(self, start: int) -> int:
        """Set ``end`` after the last unit of an unbroken sequence, and return it.

        Args:
            start: where the sequence begins, which is a position from a checkpoint.

        Raises:
            OSError: the disk could not be read.
        """
        pos = start
        while (base := pos - pos % self.file_size) in self._files:
            left = base + self.file_size - pos
            data = self._file(base).pread(min(WINDOW_SIZE, left), pos - base)
            taken = _units_size(data)
            pos += taken
            if taken == 0 or len(data) - taken >= UNIT_SIZE:
                if not _is_blank(data[taken:], left=left - taken):
                    break
                pos = base + self.file_size
        self.end = pos
        return pos

    def cut(self, end: int) -> None:
        """Erase everything from ``end`` on.

        Raises:
            OSError: the disk refused.
        """
        for base in sorted(self._files, reverse=True):
            if base >= end and base > self.start:
                self._forget(base)
                self._unsynced.discard(base)
                self._disk.unlink(self._directory / log_file_name(base))
            elif end < base + self.file_size:
                keep, file = max(0, end - base), self._file(base)
                if file.next_data(keep) is not None:
                    file.truncate(keep)
                    file.truncate(self.file_size)
                    self._unsynced.add(base)
        self.end = end
        self._window = b""

    def drop_before(self, is_gone: Callable[[int], bool]) -> list[str]:
        """Drop the first files as long as their newest unit points at a deleted record.

        Args:
            is_gone: returns whether the commit log no longer has a log offset.

        Returns:
            The paths of these files, which the caller deletes.

        Raises:
            OSError: a file could not be read.
        """
        gone: list[str] = []
        for base in sorted(self._files)[:-1]:
            last = self._last_unit(base)
            if last is None or not is_gone(last.log_offset):
                break
            self._forget(base)
            self._unsynced.discard(base)
            gone.append(self._path(base))
        return gone

    def _last_unit(self, base: int) -> TimerUnit | None:
        count = (self.file_size - BLANK_SIZE) // UNIT_SIZE
        data = self._file(base).pread(UNIT_SIZE, (count - 1) * UNIT_SIZE)
        return TimerUnit.decode(data)

    def close(self) -> None:
        """Close every file."""
        for base in list(self._files):
            self._forget(base)

    def _forget(self, base: int) -> None:
        file = self._files.pop(base)
        if file is not None:
            file.close()

    def _path(self, base: int) -> str:
        return f"{self._directory}/{log_file_name(base)}"

    def _file(self, base: int) -> DiskFile:
        file = self._files[base]
        if file is None:
            file = self._files[base] = self._disk.open(self._path(base))
        return file


def _units_size(data: bytes) -> int:
    """Return how many bytes at the beginning of ``data`` are units."""
    whole = len(data) // UNIT_SIZE * UNIT_SIZE
    for pos in range(0, whole, UNIT_SIZE):
        if TimerUnit.decode(data, pos) is None:
            return pos
    return whole


def _is_blank(data: bytes, *, left: int) -> bool:
    """Return whether ``data`` begins with the blank of the last ``left`` bytes of a file."""
    return len(data) >= BLANK_SIZE and BLANK.unpack_from(data)[::2] == (left, BLANK_MAGIC)
