"""One turn of the loop: every frame that was read, then one write, then the answers.

    frame, frame, … ── put (buffered) ── remember the answer
                                              │ end of the turn
        store.write ── ASYNC_FLUSH ───────────┴── answers leave
             │
             └─ SYNC_FLUSH ── begin_flush ── fdatasync in a thread ── end_flush ── answers leave
                              puts go on meanwhile and wait for the next flush: group commit

Rule: an answer is formatted when its message is put and leaves only when the message is as
safe as the configuration promises: with SYNC_MASTER a slave has to have it, too (``hold``).
When write or flush fails, nothing of that batch is acknowledged: a failed write is answered
14, a failed flush 10 (stored, durability unknown), and so is one that takes longer than
syncFlushTimeout. A flush that found no descriptor left in the process is answered 10, too, and
tried again. How much may wait is ``overload``'s.

Source: store/CommitLog.java#handleDiskFlush; performance notes of this project.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from remoting.codes import ResponseCode
from server.broker.serving.answers import SendAnswers, with_code
from server.broker.serving.overload import STALE_FOR_S, Overload
from server.broker.serving.refusal import store_refuses
from server.broker.stats.counters import PutTimes
from server.runtime.clock import Clock
from server.store.commitlog.flush import FlushJob
from server.store.errors import StoreFailed, StoreFull
from server.store.store import MessageStore

LOG = logging.getLogger(__name__)

FLUSH_AGAIN_S: Final = 0.2
"""How long a flush waits that found no descriptor left in the process."""


class Sink(Protocol):
    """Where an answer goes: a connection, or who holds it back for a slave."""

    def send(self, frame: bytes) -> None:
        """Queue one frame."""
        ...


Ack = tuple[Sink, bytes, int, int]
"""Where it goes, the answer's frame, opaque, serialisation."""
Hold = Callable[[list[Ack], int, int, int], list[Ack]]
"""Lets answers wait for a slave, too: given the end of the log before this turn and after it,
and ``now_ms``."""
Done = Callable[[ResponseCode], None]
"""Told SUCCESS once a message is safe, or the code of what went wrong."""


class Sends(Protocol):
    """What a turn needs of the connections, all of them."""

    def hold(self) -> None:
        """Leave what is sent from now on to ``flush``."""

    def flush(self) -> None:
        """Write what is queued now."""


class NoSends:
    """Connections that write by themselves."""

    def hold(self) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""


class Turn:
    """Collects what one turn of the loop puts into the store, and releases the answers.

    Args:
        overload: told how long the disk takes.
        times: told how long messages took to be stored.
        after_write: called with ``now_ms`` when messages became visible (wakes held pulls).
        sends: the connections' answers, which do not wait for one more turn.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        clock: Clock,
        answers: SendAnswers,
        sync_flush: bool,
        overload: Overload,
        times: PutTimes,
        after_write: Callable[[int], None],
        sends: Sends | None = None,
    ) -> None:
        self.overload = overload
        self.hold: Hold | None = None
        """Who lets answers wait for a slave; with SYNC_MASTER."""
        self.on_written: Callable[[], None] = lambda: None
        """Called when the log has grown."""
        self._times = times
        self._store = store
        self._clock = clock
        self._answers = answers
        self._sync_flush = sync_flush
        self._after_write = after_write
        self._sends = sends or NoSends()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flusher: ThreadPoolExecutor | None = None
        self._scheduled = False
        self._acks: list[Ack] = []
        self._done: list[Done] = []
        self._hasty_acks: list[Ack] = []
        # Written, waiting for the disk; only with SYNC_FLUSH.
        self._unsafe_acks: list[Ack] = []
        self._unsafe_done: list[Done] = []
        self._unsafe_since_ms = 0
        # The disk is at them just now.
        self._flushing: asyncio.Future[None] | None = None
        self._flushing_acks: list[Ack] = []
        self._flushing_done: list[Done] = []
        self._flush_began_ms = 0
        self._later: asyncio.TimerHandle | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work on this loop from now on."""
        self._loop = loop
        if self._sync_flush:
            self._flusher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="flush")

    def ack(
        self, conn: Sink, answer: bytes, *, opaque: int, serialize: int, waits: bool = True
    ) -> None:
        """Let ``answer`` leave when what was put up to now is safe.

        Args:
            waits: False lets it leave when it is written, also with SYNC_FLUSH or SYNC_MASTER.
        """
        if waits or (self.hold is None and not self._sync_flush):
            self._acks.append((conn, answer, opaque, serialize))
        else:
            self._hasty_acks.append((conn, answer, opaque, serialize))
        if not self._scheduled:
            self.schedule()

    def when_safe(self, done: Done) -> None:
        """Call ``done`` when what was put up to now is safe, or failed."""
        self._done.append(done)
        if not self._scheduled:
            self.schedule()

    def schedule(self) -> None:
        """Commit at the end of this turn; for a put that nobody waits for."""
        if not self._scheduled and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self.commit)

    @property
    def is_due(self) -> bool:
        """True while something was put that is not written yet."""
        return self._scheduled

    def commit(self) -> None:
        """Write what was put and release, or hand on, the answers."""
        self._scheduled = False
        acks, self._acks = self._acks, []
        done, self._done = self._done, []
        now_ms, begin = self._clock.now_ms(), self._store.written_offset
        try:
            self._store.write(now_ms)
        except StoreFailed as error:
            LOG.error("messages of one turn were not stored: %s", error)
            self._refuse(self._hasty_acks + acks, done, store_refuses(self._store, str(error)))
            self._hasty_acks = []
            return
        elapsed_ms = self._clock.now_ms() - now_ms
        if elapsed_ms > 0 and self.overload.written(elapsed_ms, count=len(acks) + len(done)):
            self._end_stale_soon()
        self.on_written()
        if self.hold is not None and acks:
            acks = self.hold(acks, begin, self._store.written_offset, now_ms)
        if self._hasty_acks:
            self._release(self._hasty_acks, [])
            self._hasty_acks = []
        if not self._sync_flush:
            self._times.add(elapsed_ms, count=len(acks))
            self._release_now(acks, done, now_ms)
            return
        self._sends.flush()
        if not self._unsafe_acks:
            self._unsafe_since_ms = now_ms
        self._unsafe_acks += acks
        self._unsafe_done += done
        self._begin_flush(now_ms)
        self._judge(now_ms)

    def expire(self, now_ms: int, *, timeout_ms: int) -> None:
        """Answer 10 to whoever waits too long for the disk; call it now and then."""
        if self._flushing is not None and now_ms - self._flush_began_ms >= timeout_ms:
            acks, self._flushing_acks = self._flushing_acks, []
            if self._unsafe_acks and now_ms - self._unsafe_since_ms >= timeout_ms:
                acks += self._unsafe_acks
                self._unsafe_acks = []
            if acks:
                LOG.warning("the disk did not sync %d messages in %d ms", len(acks), timeout_ms)
                self._doubt(acks, [])
                self._sends.flush()

    def _judge(self, now_ms: int) -> None:
        store = self._store
        self.overload.judge(
            waiting_count=store.waiting_count,
            waiting_size=store.written_offset - store.flushed_offset,
            sync_ms=self.sync_ms(now_ms),
        )

    def sync_ms(self, now_ms: int) -> int:
        """Return how long the disk has been at a sync that sends wait for; 0 without one."""
        return 0 if self._flushing is None else max(0, now_ms - self._flush_began_ms)

    def clock_set(self, step_ms: int) -> None:
        """Let the disk seem as slow as it is, though the clock was set by ``step_ms``."""
        self._flush_began_ms += step_ms
        self._unsafe_since_ms += step_ms

    def _end_stale_soon(self) -> None:
        if self._loop is not None:
            now_ms = self._clock.now_ms
            self._loop.call_later(STALE_FOR_S, lambda: self._judge(now_ms()))

    async def close(self) -> None:
        """Commit what is left and wait for the flush that runs."""
        self.commit()
        if self._later is not None:
            self._later.cancel()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
            await asyncio.sleep(0)
        if self._flusher is not None:
            self._flusher.shutdown()

    def _begin_flush(self, now_ms: int) -> None:
        if self._flushing is not None or self._loop is None or self._flusher is None:
            return
        acks, self._unsafe_acks = self._unsafe_acks, []
        done, self._unsafe_done = self._unsafe_done, []
        job = self._store.begin_flush()
        if job is None:
            if self._store.is_read_only:
                self._doubt(acks, done)
            else:
                self._release(acks, done)
            self._sends.flush()
            return
        self._flushing_acks, self._flushing_done = acks, done
        self._flush_began_ms = now_ms
        self._flushing = self._loop.run_in_executor(self._flusher, job.run)
        self._flushing.add_done_callback(lambda future: self._flushed(job, future))

    def _flushed(self, job: FlushJob, future: asyncio.Future[None]) -> None:
        self._flushing = None
        acks, self._flushing_acks = self._flushing_acks, []
        done, self._flushing_done = self._flushing_done, []
        try:
            future.result()
            self._store.end_flush(job)
        except (StoreFailed, OSError) as error:
            LOG.error("messages are written and not known to be on disk: %s", error)
            self._doubt(acks, done)
            unsafe_acks, self._unsafe_acks = self._unsafe_acks, []
            unsafe_done, self._unsafe_done = self._unsafe_done, []
            if isinstance(error, StoreFull):
                self._doubt(unsafe_acks, unsafe_done)
                self._flush_later()
            else:
                remark = store_refuses(self._store, str(error))
                self._refuse(unsafe_acks, unsafe_done, remark)
            self._sends.flush()
            return
        now_ms = self._clock.now_ms()
        self._times.add(now_ms - self._flush_began_ms, count=len(acks))
        self._release_now(acks, done, now_ms)
        if self._unsafe_acks or self._unsafe_done:
            self._begin_flush(now_ms)
        self._judge(now_ms)

    def _flush_later(self) -> None:
        """Sync again what is written, after the process had no descriptor for it."""
        if self._loop is not None:
            now_ms = self._clock.now_ms
            self._later = self._loop.call_later(FLUSH_AGAIN_S, lambda: self._begin_flush(now_ms()))

    def _release_now(self, acks: list[Ack], done: list[Done], now_ms: int) -> None:
        # Without this, the first answer would have the loop turn once more to send nothing.
        self._sends.hold()
        try:
            self._release(acks, done)
            self._after_write(now_ms)
        finally:
            self._sends.flush()

    @staticmethod
    def _release(acks: list[Ack], done: list[Done]) -> None:
        for conn, answer, _, _ in acks:
            conn.send(answer)
        for call in done:
            call(ResponseCode.SUCCESS)

    @staticmethod
    def _doubt(acks: list[Ack], done: list[Done]) -> None:
        """Answer that messages are written and perhaps not on disk."""
        code = ResponseCode.FLUSH_DISK_TIMEOUT
        for conn, answer, _, _ in acks:
            conn.send(with_code(answer, code))
        for call in done:
            call(code)

    def _refuse(self, acks: list[Ack], done: list[Done], remark: str) -> None:
        code = ResponseCode.SERVICE_NOT_AVAILABLE
        for conn, _, opaque, serialize in acks:
            conn.send(self._answers.refused(serialize, opaque, code=code, remark=remark))
        for call in done:
            call(code)
