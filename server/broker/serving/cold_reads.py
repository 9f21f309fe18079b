"""Reads that would wait for a disk, done by threads so that the loop never does.

    pull ─ in the page cache ──────────────────────────> answered at once
         └ not (ColdRead) ─ thread reads it ─ loop ────> asked again, now from memory

Rule: a thread only brings bytes into the page cache; what a pull is answered is decided on
the loop, each time anew, as if the pull had come then. After a number of tries the loop
waits itself: memory that is so short would never let the pull through. Where the file
system cannot tell what is cached (tmpfs), nothing is ever cold. Of a pull of much that is in
memory the loop reads a piece at a time, as long as sockets or sends wait for it. Whoever has
much to do for other reasons does a slice of it and asks to be called ``soon``.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from server.broker.serving.group_commit import Turn
from server.runtime.clock import Clock
from server.runtime.event_loop import ServerLoop
from server.store.commitlog.log_read import Begun, Pieces
from server.store.disk.nowait import ColdRead

TRIES_MAX: Final = 40
"""A pull reads a queue file and at most 32 places of the log."""
THREADS: Final = 4

Again = Callable[[int], object]
"""Called on the loop with ``now_ms`` when the bytes are in memory."""


class ColdReads:
    """The threads of one broker that wait for cold reads."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        """Reads that were left to a thread."""
        self.pieces = Pieces(lambda: False)
        """How the loop reads much."""
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: ThreadPoolExecutor | None = None

    @property
    def tries_max(self) -> int:
        """How often a pull comes again before the loop waits; 0 while there are no threads."""
        return TRIES_MAX if self._workers is not None else 0

    def open(self, loop: asyncio.AbstractEventLoop, turn: Turn) -> None:
        """Work for this loop from now on."""
        self._loop = loop
        if isinstance(loop, ServerLoop):
            is_waited_for = loop.is_waited_for
            self.pieces.is_waited_for = lambda: turn.is_due or is_waited_for()
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="cold-read")

    def warm(self, cold: ColdRead, again: Again) -> None:
        """Let a thread read what was not in memory, then call ``again``."""
        if self._workers is None or self._loop is None:
            cold.drop()
            return
        self.count += 1
        self._run(cold.warm, again)

    def soon(self, again: Again) -> None:
        """Call ``again`` when those who wait for the loop now have had their turn."""
        if self._loop is not None:
            # A timer's turn comes behind that of the sockets.
            self._loop.call_later(0, self._ended, again)

    def go_on(self, begun: Begun, again: Again) -> None:
        """Call ``again`` when those who wait for the loop have had their turn."""
        if self._loop is not None:
            # A timer's turn comes behind that of the sockets.
            self._loop.call_later(0, self._go_on, begun, again)

    def _go_on(self, begun: Begun, again: Again) -> None:
        if self.pieces.may_go_on(begun):
            self._ended(again)
        else:
            self.go_on(begun, again)

    def run(self, work: Callable[[], None], then: Again) -> None:
        """Let a thread do what waits for a disk, then call ``then``.

        Where there are no threads both are done at once.
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
        # Whoever asked is gone when the broker stops.
        if self._workers is not None:
            then(self._clock.now_ms())

    def close(self) -> None:
        """Wait for the threads; nobody is called any more."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.shutdown()
