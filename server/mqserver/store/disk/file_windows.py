"""Reading a file from front to back in parts, with the next part read ahead by a thread.

    main    | part 1    | bridge | part 2     | bridge | …
    thread  | reads part 2       | reads part 3        | …

Rule: parts follow one another without a gap. A record that begins in one part and ends in the
next is read from a bridge, which joins the end of the one and the beginning of the other. A
part is read ahead only if the reader moved on from one part to the next, and only where the
file is not a hole: once read, a page of reserved space counts as data (see ``zeros``).
"""

import contextlib
from collections.abc import Callable
from typing import Final

from mqserver.store.disk.disk import DiskFile

WINDOW_SIZE: Final = 4 << 20
BRIDGE_SIZE: Final = 64 << 10
"""Bytes of a bridge, unless a record is larger."""


class FileWindows:
    """Windows over one file.

    Args:
        file: the file to read.
        pos: where the first window begins.
        file_size: end of the file, after which nothing is read ahead.
    """

    def __init__(self, file: DiskFile, pos: int, *, file_size: int) -> None:
        self.file = file
        self.data = b""
        """The current window: bytes of the file."""
        self.start = pos
        """Position in the file at which the window begins."""
        self._file_size = file_size
        self._part = b""
        self._part_start = pos
        self._next: Callable[[], bytes] | None = None
        self._next_size = 0

    def move(self, pos: int, size: int) -> int:
        """Move the window to hold ``size`` bytes from ``pos`` on; fewer only at the file's end.

        Returns:
            The position of these bytes in the window.

        Raises:
            OSError: the disk could not read them.
        """
        window_pos = pos - self.start
        if window_pos < 0 or window_pos + size > len(self.data):
            self.data, self.start = self._window(pos, size)
            window_pos = pos - self.start
        return window_pos

    def _window(self, pos: int, size: int) -> tuple[bytes, int]:
        start, end = self._part_start, self._part_start + len(self._part)
        goes_on = start <= pos <= end
        if goes_on and (pos + size <= end or end >= self._file_size):
            return self._part, start
        if goes_on and self._next is not None and pos + size <= end + self._next_size:
            left = self._part[pos - start :]
            self._part, self._part_start = self._next(), end
            self._read_ahead()
            if not left:
                return self._part, end
            return left + self._part[: max(size, BRIDGE_SIZE) - len(left)], pos
        self.close()
        self._part, self._part_start = self.file.pread(max(size, WINDOW_SIZE), pos), pos
        if goes_on:
            self._read_ahead()
        return self._part, pos

    def _read_ahead(self) -> None:
        pos = self._part_start + len(self._part)
        self._next = None
        self._next_size = min(WINDOW_SIZE, self._file_size - pos)
        if self._next_size > 0 and self.file.next_data(pos) == pos:
            self._next = self.file.begin_read(self._next_size, pos)

    def close(self) -> None:
        """Wait until no thread reads the file any more."""
        if self._next is not None:
            # This part was not used; a disk error will be raised where it is read.
            with contextlib.suppress(OSError):
                self._next()
            self._next = None
