"""Reads that must not wait for a disk: how to request them, and what they raise.

    with no_wait():  file.pread ── in the page cache ──> bytes
                                └─ not cached ──> ColdRead ── warm() in a thread ──> read again
                                                     └ then(bytes): reads what they refer to

Rule: only reads of a ``RealDisk`` obey. If the file system cannot tell what is cached (tmpfs),
reads wait as usual.

Source: preadv2(2), RWF_NOWAIT.
"""

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final


class ColdRead(BlockingIOError):
    """A read under ``no_wait`` that would have waited for the disk.

    It holds its own descriptor, so either ``warm`` or ``drop`` must be called once.
    """

    def __init__(self, fd: int, size: int, pos: int) -> None:
        super().__init__(errno.EAGAIN, "not in the page cache")
        self._reads = [(os.dup(fd), [(size, pos)])]
        self.then: Callable[[bytes], None] | None = None
        """Called in the thread with the first bytes read, to read what they refer to."""

    @property
    def descriptor_count(self) -> int:
        """The descriptors that it holds."""
        return len(self._reads)

    def also(self, size: int, pos: int) -> None:
        """Let ``warm`` also read another range of the same file, cached or not."""
        self._reads[0][1].append((size, pos))

    def join(self, other: "ColdRead") -> None:
        """Take over the reads and descriptors of another one."""
        self._reads += other._reads
        other._reads = []

    def warm(self) -> None:
        """Read the requested ranges into the page cache; to be called in another thread."""
        reads = [(fd, size, pos) for fd, parts in self._reads for size, pos in parts]
        first: bytes | None = None
        try:
            # Announce all ranges to the kernel before waiting for the first one.
            for fd, size, pos in reads if len(reads) > 1 else ():
                with contextlib.suppress(OSError):
                    os.posix_fadvise(fd, pos, size, os.POSIX_FADV_WILLNEED)
            for fd, size, pos in reads:
                # The caller reads again and then gets the data or the error.
                with contextlib.suppress(OSError):
                    data = os.pread(fd, size, pos)
                    first = data if first is None else first
        finally:
            self.drop()
        if self.then is not None and first:
            self.then(first)

    def drop(self) -> None:
        """Close the descriptors without reading."""
        for fd, _ in self._reads:
            os.close(fd)
        self._reads = []


class ReadMode(threading.local):
    """How the current thread reads."""

    no_wait = False


MODE: Final = ReadMode()


class NoWait:
    """The context manager of ``no_wait``; a generator would cost a twentieth of a whole pull."""

    __slots__ = ("_known", "_on")

    def __init__(self, on: bool) -> None:
        self._on = on

    def __enter__(self) -> None:
        self._known = MODE.no_wait
        MODE.no_wait = self._known or self._on

    def __exit__(self, *exc: object) -> None:
        MODE.no_wait = self._known


def no_wait(on: bool = True) -> NoWait:
    """Let reads of this thread raise ``ColdRead`` instead of waiting for the disk."""
    return NoWait(on)


@contextlib.contextmanager
def may_wait() -> Iterator[None]:
    """Let reads of this thread wait even within ``no_wait``, for calls that change state."""
    no_wait = MODE.no_wait
    MODE.no_wait = False
    try:
        yield
    finally:
        MODE.no_wait = no_wait
