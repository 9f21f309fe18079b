"""A file from front to back, in parts; the next one is on its way while one is looked at.

    main    | part 1    | bridge | part 2     | bridge | …
    thread  | reads part 2       | reads part 3        | …

Rule: parts follow one another without a gap. A record that begins in one and ends in the next
lies in a bridge: the rest of the one and the beginning of the other. What follows is read
ahead only where a reader went on from part to part, and where the file is no hole: a page of
reserved space that was read counts as data from then on (see ``zeros``).
"""

import contextlib
from collections.abc import Callable
from typing import Final

from server.store.disk.disk import DiskFile

WINDOW_SIZE: Final = 4 << 20
BRIDGE_SIZE: Final = 64 << 10
"""Bytes of a bridge, or a record if that is larger."""


class Windows:
    """Gives windows over one file.

    Args:
        pos: where the first one is to begin.
        file_size: nothing is read ahead from there on.
    """

    def __init__(self, file: DiskFile, pos: int, *, file_size: int) -> None:
        self.file = file
        self.data = b""
        """The window: bytes of the file."""
        self.start = pos
        """Where in the file they begin."""
        self._file_size = file_size
        self._part = b""
        self._part_start = pos
        self._next: Callable[[], bytes] | None = None
        self._next_size = 0

    def move(self, pos: int, size: int) -> int:
        """Let the window hold ``size`` bytes from ``pos`` on; fewer only at the end of the file.

        Returns:
            Where in the window they are.

        Raises:
            OSError: the disk cannot read them.
        """
        at = pos - self.start
        if at < 0 or at + size > len(self.data):
            self.data, self.start = self._window(pos, size)
            at = pos - self.start
        return at

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
        """Return when no thread reads the file any more."""
        if self._next is not None:
            # Nobody came that far: what the disk said of it is for who does.
            with contextlib.suppress(OSError):
                self._next()
            self._next = None
