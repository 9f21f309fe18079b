"""A moving window over the log, for testing many records one after another with few reads.

    record(offset, size)   in the window: a slice        else: the window moves to it

Rule: records are requested in rising order, as a queue has them; the window is larger than a
record only if the record is close after the previous one. The window counts what its tests
cost: the reader stops when the allowance is used up, and continues with the next read.

Source: store/CommitLog.java#getMessage (which returns slices of a mapped file).
"""

from typing import Final, Protocol

from mqserver.store.commitlog.log_files import CommitLog
from storefmt.formats.consumequeue_ext import ExtUnit

WINDOW_SIZE: Final = 64 << 10
WORK_MAX: Final = 10_000
"""Cost that the tests of one read may have, in units of about a microsecond."""


class StoreFilter(Protocol):
    """Message filters that look at more than the tags code."""

    @property
    def by_properties(self) -> object | None:
        """None if the filter accepts every record, so that ``takes_record`` need not be asked."""
        ...

    def takes_unit(self, unit: ExtUnit) -> bool:
        """Return whether the filter may accept a message with this ext unit."""
        ...

    def takes_record(self, record: bytes) -> bool:
        """Return whether the filter accepts a record."""
        ...

    def work_for(self, record: bytes) -> int:
        """Return the cost of ``takes_record`` for a record, in units of about a microsecond."""
        ...


class LogWindow:
    """One moving window over a log."""

    def __init__(self, log: CommitLog, wants: StoreFilter) -> None:
        self.work_left = WORK_MAX
        """Cost that further tests may have; the test that exceeds it is still made."""
        self._log = log
        self._wants = wants
        self._start = 0
        self._data = b""
        self._end = 0

    def holds_wanted(self, log_offset: int, size: int) -> bool:
        """Return whether the filter accepts a record; True for a missing one, which is left out.

        Raises:
            OSError: the disk could not be read.
        """
        record = self.record(log_offset, size)
        if record is None:
            return True
        self.work_left -= self._wants.work_for(record)
        return self._wants.takes_record(record)

    def record(self, log_offset: int, size: int) -> bytes | None:
        """Return the bytes of a record, or None if it is not fully in the log."""
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
