"""Let threads read bytes that are not in the page cache, so that the loop does not block.

    with_disk(attempt) ─ in the page cache ────────────────────────> done at once
                       └ not (ColdRead) ─ a thread reads it ─ loop ─> attempted again, from memory

Requests (pulls, pops, handlers) run in ``with_disk``. The broker's own periodic work (delayed
messages, timers, the revive log) asks a ``WarmUp`` instead, because it looks again by itself.

Rule: a thread only brings bytes into the page cache. The loop decides what a request is answered,
and decides it again at each attempt, as if the request had just come. So an attempt changes nothing
before its last read. After ``tries_max`` reads of a thread the loop itself waits for the disk,
because with so little memory the attempt might never succeed. If the file system does not show
what is cached (tmpfs), every read counts as cached. A large pull from memory is read in slices
while sockets or sends wait for the loop (``ReadSlices``). Other long work does one slice and asks
to be called again with ``soon``.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from mqserver.broker.serving.group_commit import GroupCommit
from mqserver.runtime.clock import Clock
from mqserver.runtime.program.event_loop import waits_of
from mqserver.store.commitlog.log_read import OthersWait, PausedRead, ReadSlices
from mqserver.store.disk.nowait import ColdRead
from remoting.aio.server import ServerConn

LOG = logging.getLogger(__name__)

TRIES_MAX: Final = 40
"""This is enough for one pull, which reads a queue file and at most 32 places of the log."""
THREADS: Final = 4
DESCRIPTORS_MAX: Final = 128
"""When reads that threads do, or wait to do, hold so many descriptors, further reads wait."""

Again = Callable[[int], object]
"""Called on the loop with ``now_ms`` when the work can go on."""
Attempt = Callable[[int, bool], None]
"""Work that reads: gets ``now_ms``, and whether it may wait for the disk. It raises ColdRead or
OthersWait, and has changed nothing then."""


def fault_of(error: Exception) -> str:
    """Return the remark for a request whose read failed, and log what is not the disk's fault."""
    if isinstance(error, OSError):
        return f"cannot read the messages: {error}"
    LOG.error("a request that waited failed; others are not affected", exc_info=error)
    return f"the broker has an error: {error}"


class ColdReads:
    """The threads of one broker that read what is not in the page cache."""

    def __init__(self, clock: Clock) -> None:
        self.count = 0
        """Reads that a thread has done, or is doing."""
        self.slices = ReadSlices(lambda: False)
        """Splits large reads of the loop into slices."""
        self.tries_max = 0
        """Reads of a thread before the loop waits itself; 0 while there are no threads."""
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workers: ThreadPoolExecutor | None = None
        self._descriptor_count = 0
        self._postponed: deque[Again] = deque()

    def open(self, loop: asyncio.AbstractEventLoop, group_commit: GroupCommit) -> None:
        """Start the threads; ``again`` is called on this loop from now on."""
        self._loop = loop
        is_waited_for = waits_of(loop)
        self.slices.is_waited_for = lambda: group_commit.is_due or is_waited_for()
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="cold-read")
        self.tries_max = TRIES_MAX

    def with_disk(
        self,
        attempt: Attempt,
        now_ms: int,
        *,
        peer: ServerConn,
        size: int,
        failed: Callable[[Exception], object],
        needs_peer: bool = True,
        tries: int = 0,
    ) -> None:
        """Run ``attempt`` now, and again whenever a thread has read what was not in memory.

        Args:
            attempt: the work; errors of the first attempt reach the caller.
            now_ms: when it runs.
            peer: the connection that the work is for.
            size: bytes that count as in flight for the peer while the work waits.
            failed: called with an error of a later attempt.
            needs_peer: whether the work is dropped when the connection closes meanwhile.
            tries: how often a thread has read for it.
        """
        try:
            attempt(now_ms, tries >= self.tries_max)
        except ColdRead as cold:
            peer.count_held(size)
            again = partial(self._attempt_again, attempt, peer, size, failed, needs_peer, tries + 1)
            self.warm(cold, again)
        except OthersWait as others:
            peer.count_held(size)
            again = partial(self._attempt_again, attempt, peer, size, failed, needs_peer, tries)
            self.go_on(others.begun, again)

    def _attempt_again(
        self,
        attempt: Attempt,
        peer: ServerConn,
        size: int,
        failed: Callable[[Exception], object],
        needs_peer: bool,
        tries: int,
        now_ms: int,
    ) -> None:
        peer.count_held(-size)
        if needs_peer and peer.is_closing:
            return
        try:
            self.with_disk(
                attempt, now_ms, peer=peer, size=size, failed=failed, needs_peer=needs_peer,
                tries=tries,
            )  # fmt: skip
        except Exception as error:
            failed(error)

    def warm(self, cold: ColdRead, again: Again) -> None:
        """Let a thread read what is not in the page cache, then call ``again``.

        If too many reads are under way, ``again`` is called when one of them has ended, and
        checks again what is not in the page cache.
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
            self._run_in_thread(cold.warm, partial(self._warmed, again, held))

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

    def run_in_thread(self, work: Callable[[], None], then: Again) -> None:
        """Let a thread do work that waits for a disk, then call ``then``.

        If there are no threads, both are done at once.
        """
        if self._workers is None or self._loop is None:
            work()
            then(self._clock.now_ms())
        else:
            self._run_in_thread(work, then)

    def _run_in_thread(self, work: Callable[[], None], then: Again) -> None:
        if self._workers is not None and self._loop is not None:
            future = self._loop.run_in_executor(self._workers, work)
            future.add_done_callback(lambda finished: self._ended(then))

    def _ended(self, then: Again) -> None:
        # Do nothing if the broker has stopped meanwhile.
        if self._workers is not None:
            then(self._clock.now_ms())

    def close(self) -> None:
        """Wait for the threads to end; nothing is called back from now on."""
        workers, self._workers = self._workers, None
        self.tries_max = 0
        self._postponed.clear()
        if workers is not None:
            workers.shutdown()


class WarmUp:
    """The reads that a thread does for one piece of periodic work.

    Args:
        cold: the threads.
        warmed: called with ``now_ms`` when one has read, so that the work goes on.
    """

    def __init__(self, cold: ColdReads, warmed: Again) -> None:
        self.is_running = False
        """Whether a thread reads, or is about to."""
        self._cold = cold
        self._warmed = warmed
        self._tries = 0

    @property
    def may_wait(self) -> bool:
        """Whether the work may wait for the disk, because reads by threads did not help."""
        return self._tries >= self._cold.tries_max

    def begin(self, missing: ColdRead) -> None:
        """Let a thread read what the work did not find in the page cache."""
        self._tries += 1
        self.is_running = True
        self._cold.warm(missing, self._ended)

    def _ended(self, now_ms: int) -> None:
        self.is_running = False
        self._warmed(now_ms)

    def succeeded(self) -> None:
        """Note that the work found in memory what it needed."""
        self._tries = 0
