"""Reads that must not wait for a disk: how they are asked for, and what they raise.

    with no_wait():  file.pread ── in the page cache ──> bytes
                                └─ not ──> ColdRead ── warm() in a thread ──> asked again
                                              └ then(what was read): what that names, as well

Rule: only reads of a ``RealDisk`` obey; where the file system cannot tell what is cached
(tmpfs), they wait as ever.

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

    It holds a descriptor of its own: ``warm`` or ``drop`` has to be called, once.
    """

    def __init__(self, fd: int, size: int, pos: int) -> None:
        super().__init__(errno.EAGAIN, "not in the page cache")
        self._reads = [(os.dup(fd), [(size, pos)])]
        self.then: Callable[[bytes], None] | None = None
        """Given what was read first, in the thread: reads what that says comes next."""

    def also(self, size: int, pos: int) -> None:
        """Let ``warm`` read more of the same file, whether or not that is cold."""
        self._reads[0][1].append((size, pos))

    def join(self, other: "ColdRead") -> None:
        """Take over what another one has to read."""
        self._reads += other._reads
        other._reads = []

    def warm(self) -> None:
        """Read what was asked for into the page cache; for another thread."""
        reads = [(fd, size, pos) for fd, parts in self._reads for size, pos in parts]
        first: bytes | None = None
        try:
            # The disk is to have all of it before anybody waits for a part.
            for fd, size, pos in reads if len(reads) > 1 else ():
                with contextlib.suppress(OSError):
                    os.posix_fadvise(fd, pos, size, os.POSIX_FADV_WILLNEED)
            for fd, size, pos in reads:
                # The outcome is for the read that comes again, errors as well.
                with contextlib.suppress(OSError):
                    data = os.pread(fd, size, pos)
                    first = data if first is None else first
        finally:
            self.drop()
        if self.then is not None and first:
            self.then(first)

    def drop(self) -> None:
        """Give the descriptors back without a read."""
        for fd, _ in self._reads:
            os.close(fd)
        self._reads = []


class Mode(threading.local):
    """How the reads of this thread are done."""

    no_wait = False


MODE: Final = Mode()


class NoWait:
    """What ``no_wait`` returns; a generator in its place costs a twentieth of a whole pull."""

    __slots__ = ("_known", "_on")

    def __init__(self, on: bool) -> None:
        self._on = on

    def __enter__(self) -> None:
        self._known = MODE.no_wait
        MODE.no_wait = self._known or self._on

    def __exit__(self, *exc: object) -> None:
        MODE.no_wait = self._known


def no_wait(on: bool = True) -> NoWait:
    """Let reads of this thread raise ``ColdRead`` rather than wait for the disk."""
    return NoWait(on)


@contextlib.contextmanager
def may_wait() -> Iterator[None]:
    """Let reads of this thread wait, also within ``no_wait``: for what changes something."""
    known = MODE.no_wait
    MODE.no_wait = False
    try:
        yield
    finally:
        MODE.no_wait = known
