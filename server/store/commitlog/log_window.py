"""Records of the log read one after another, many with one read, to see which are wanted.

    record(offset, size)   in the window: a slice        else: the window moves there

Rule: offsets are asked in rising order, as a queue has them; the window is larger than a
record only when the record lies near the one before. The window counts what its tests cost:
whoever reads stops when nothing is left, and goes on with the next read.

Source: store/CommitLog.java#getMessage (which slices a mapped file).
"""

from typing import Final, Protocol, Self

from server.store.commitlog.log_files import CommitLog
from storefmt.formats.consumequeue_ext import ExtUnit

WINDOW_SIZE: Final = 64 << 10
WORK_MAX: Final = 10_000
"""What one read may cost to find out which records are wanted, in units of some microsecond."""


class Wants(Protocol):
    """Tests of a message that look at more than its tag."""

    @property
    def by_properties(self) -> object | None:
        """Something where ``takes_record`` has to be asked, None where it takes all."""
        ...

    def takes_unit(self, unit: ExtUnit) -> bool:
        """Tell by its ext unit whether a message may be wanted."""
        ...

    def takes_record(self, record: bytes) -> bool:
        """Tell by its bytes whether a record is wanted."""
        ...

    def work_for(self, record: bytes) -> int:
        """Return what ``takes_record`` costs for a record, in units of some microsecond."""
        ...


class LogWindow:
    """One moving window over a log."""

    def __init__(self, log: CommitLog, wants: Wants) -> None:
        self.work_left = WORK_MAX
        """What further tests may cost; the one that passes it is still made."""
        self._log = log
        self._wants = wants
        self._start = 0
        self._data = b""
        self._end = 0

    @classmethod
    def of(cls, log: CommitLog, wants: Wants) -> Self | None:
        """Return a window, None where no record has to be looked at."""
        return None if wants.by_properties is None else cls(log, wants)

    def holds_wanted(self, log_offset: int, size: int) -> bool:
        """Tell whether a record is wanted; one that is not there is, and is missed later.

        Raises:
            OSError: the disk cannot be read there.
        """
        record = self.record(log_offset, size)
        if record is None:
            return True
        self.work_left -= self._wants.work_for(record)
        return self._wants.takes_record(record)

    def record(self, log_offset: int, size: int) -> bytes | None:
        """Return the bytes of a record, None where the log ends before it does."""
        pos = log_offset - self._start
        if not 0 <= pos <= len(self._data) - size:
            near = 0 <= log_offset - self._end <= WINDOW_SIZE
            self._fill(log_offset, max(size, WINDOW_SIZE) if near else size)
            pos = 0
        self._end = log_offset + size
        return self._data[pos : pos + size] if len(self._data) - pos >= size else None

    def _fill(self, start: int, size: int) -> None:
        file_size = self._log.file_size
        file_end = start - start % file_size + file_size
        left = max(0, self._log.written_offset - start)
        self._start = start
        self._data = self._log.read(start, min(size, file_end - start, left)) or b""
