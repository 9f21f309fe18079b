"""Let threads read bytes that are not in the page cache, so that the loop does not block.

    pull ─ in the page cache ──────────────────────────> answered at once
         └ not (ColdRead) ─ a thread reads it ─ loop ──> tried again, now from memory

Rule: a thread only brings bytes into the page cache. The loop decides what a pull is answered,
and decides it anew at each try, as if the pull had just come. After ``tries_max`` tries the loop
itself waits for the disk, because with so little memory the pull might never succeed. Where the
file system cannot tell what is cached (tmpfs), every read counts as cached. A large pull from
memory is read in slices while sockets or sends wait for the loop (``ReadSlices``). Other long work
does one slice and asks to be called again with ``soon``.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from mqserver.broker.serving.group_commit import GroupCommit
from mqserver.runtime.clock import Clock
from mqserver.runtime.program.event_loop import waits_of
from mqserver.store.commitlog.log_read import PausedRead, ReadSlices
from mqserver.store.disk.nowait import ColdRead

TRIES_MAX: Final = 40
"""This is enough for one pull, which reads a queue file and at most 32 places of the log."""
THREADS: Final = 4
DESCRIPTORS_MAX: Final = 128
"""When reads that threads do, or wait to do, hold so many descriptors, further reads wait."""

Again = Callable[[int], object]
"""Called on the loop with ``now_ms`` when the work can go on."""


class ColdReads:
    """The threads of one broker that read what is not in the page cache."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        """Reads that a thread has done, or is doing."""
        self.slices = ReadSlices(lambda: False)
        """Splits large reads of the loop into slices."""
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._descriptor_count = 0
        self._postponed: deque[Again] = deque()

    @property
    def tries_max(self) -> int:
        """How often a pull is tried before the loop waits itself; 0 while there are no threads."""
        return TRIES_MAX if self._workers is not None else 0

    def open(self, loop: asyncio.AbstractEventLoop, group_commit: GroupCommit) -> None:
        """Start the threads; ``again`` is called on this loop from now on."""
        self._loop = loop
        is_waited_for = waits_of(loop)
        self.slices.is_waited_for = lambda: group_commit.is_due or is_waited_for()
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="cold-read")

    def warm(self, cold: ColdRead, again: Again) -> None:
        """Let a thread read what is not in the page cache, then call ``again``.

        If too many reads are under way, ``again`` is called when one of them has ended, and
        finds out anew what is not in the page cache.
        """
        if self._workers is None or self._loop is None:
            cold.drop()
        elif self._descriptor_count >= DESCRIPTORS_MAX:
            cold.drop()
            self._postponed.append(again)
        else:
            self.count += 1
            held = cold.descriptor_count
            self._descriptor_count += held
            self._run(cold.warm, partial(self._warmed, again, held))

    def _warmed(self, again: Again, held: int, now_ms: int) -> None:
        self._descriptor_count -= held
        if self._postponed:
            self.soon(self._try_postponed)
        again(now_ms)

    def _try_postponed(self, now_ms: int) -> None:
        """Try one postponed read, and the next one soon: it may not need a thread any more."""
        if self._postponed and self._descriptor_count < DESCRIPTORS_MAX:
            again = self._postponed.popleft()
            if self._postponed:
                self.soon(self._try_postponed)
            again(now_ms)

    def soon(self, again: Again) -> None:
        """Call ``again`` on the next pass of the loop, after what is ready now."""
        if self._loop is not None:
            # The loop handles timers after sockets.
            self._loop.call_later(0, self._ended, again)

    def go_on(self, begun: PausedRead, again: Again) -> None:
        """Call ``again`` when other work has run and the split read ``begun`` may go on."""
        if self._loop is not None:
            # The loop handles timers after sockets.
            self._loop.call_later(0, self._go_on, begun, again)

    def _go_on(self, begun: PausedRead, again: Again) -> None:
        if self.slices.may_go_on(begun):
            self._ended(again)
        else:
            self.go_on(begun, again)

    def run(self, work: Callable[[], None], then: Again) -> None:
        """Let a thread do work that waits for a disk, then call ``then``.

        If there are no threads, both are done at once.
        """
        if self._workers is None or self._loop is None:
            work()
            then(self._clock.now_ms())
        else:
            self._run(work, then)

    def _run(self, work: Callable[[], None], then: Again) -> None:
        if self._workers is not None and self._loop is not None:
            future = self._loop.run_in_executor(self._workers, work)
            future.add_done_callback(lambda done: self._ended(then))

    def _ended(self, then: Again) -> None:
        # Do nothing if the broker has stopped meanwhile.
        if self._workers is not None:
            then(self._clock.now_ms())

    def close(self) -> None:
        """Wait for the threads to end; nothing is called back from now on."""
        workers, self._workers = self._workers, None
        self._postponed.clear()
        if workers is not None:
            workers.shutdown()
