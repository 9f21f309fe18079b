"""One turn of the loop: every frame that was read, then one write, then the answers.

    frame, frame, … ── put (buffered) ── remember the answer
                                              │ end of the turn
        store.write ── ASYNC_FLUSH ───────────┴── answers leave
             │
             └─ SYNC_FLUSH ── begin_flush ── fdatasync in a thread ── end_flush ── answers leave
                              puts go on meanwhile and wait for the next flush: group commit

Rule: an answer is formatted when its message is put and leaves only when the message is as
safe as the configuration promises. When write or flush fails, nothing of that batch is
acknowledged: a failed write is answered 14, a failed flush 10 (stored, durability unknown).

Source: store/CommitLog.java#handleDiskFlush; performance notes of this project.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from remoting.aio.server import ServerConn
from remoting.codes import ResponseCode
from server.broker.answers import SendAnswers, with_code
from server.runtime.clock import Clock
from server.store.errors import StoreFailed
from server.store.flush import FlushJob
from server.store.store import MessageStore

LOG = logging.getLogger(__name__)

Ack = tuple[ServerConn, bytes, int, int]
"""Connection, the answer's frame, opaque, serialisation."""
Done = Callable[[ResponseCode], None]
"""Told SUCCESS once a message is safe, or the code of what went wrong."""

STORE_REFUSES = (
    "service not available now. It may be caused by one of the following reasons: the broker's "
    "disk is full, messages are put to the slave, message store has been shut down, etc."
)


class Loop(Protocol):
    """What a turn needs of the event loop."""

    def call_soon(self, callback: Callable[[], None]) -> object:
        """Run ``callback`` when all that was read is handled."""
        ...


class Turn:
    """Collects what one turn of the loop puts into the store, and releases the answers.

    Args:
        after_write: called with ``now_ms`` when messages became visible (wakes held pulls).
        send_now: writes what is queued for the connections, so that answers do not wait
            for one more turn.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        clock: Clock,
        answers: SendAnswers,
        sync_flush: bool,
        after_write: Callable[[int], None],
        send_now: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._answers = answers
        self._sync_flush = sync_flush
        self._after_write = after_write
        self._send_now = send_now
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flusher: ThreadPoolExecutor | None = None
        self._scheduled = False
        self._acks: list[Ack] = []
        self._done: list[Done] = []
        self._hasty_acks: list[Ack] = []
        # Written, waiting for the disk; only with SYNC_FLUSH.
        self._unsafe_acks: list[Ack] = []
        self._unsafe_done: list[Done] = []
        self._flushing: asyncio.Future[None] | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work on this loop from now on."""
        self._loop = loop
        if self._sync_flush:
            self._flusher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="flush")

    def ack(
        self, conn: ServerConn, answer: bytes, *, opaque: int, serialize: int, waits: bool = True
    ) -> None:
        """Let ``answer`` leave when what was put up to now is safe.

        Args:
            waits: False lets it leave when it is written, also with SYNC_FLUSH.
        """
        if waits or not self._sync_flush:
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

    def commit(self) -> None:
        """Write what was put and release, or hand on, the answers."""
        self._scheduled = False
        acks, self._acks = self._acks, []
        done, self._done = self._done, []
        now_ms = self._clock.now_ms()
        try:
            self._store.write(now_ms)
        except StoreFailed as error:
            LOG.error("messages of one turn were not stored: %s", error)
            self._refuse(self._hasty_acks + acks, done, f"{STORE_REFUSES} ({error})")
            self._hasty_acks = []
            return
        if not self._sync_flush:
            self._release(acks, done)
            self._after_write(now_ms)
            self._send_now()
            return
        if self._hasty_acks:
            self._release(self._hasty_acks, [])
            self._hasty_acks = []
            self._send_now()
        self._unsafe_acks += acks
        self._unsafe_done += done
        self._begin_flush()

    async def close(self) -> None:
        """Commit what is left and wait for the flush that runs."""
        self.commit()
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
            await asyncio.sleep(0)
        if self._flusher is not None:
            self._flusher.shutdown()

    def _begin_flush(self) -> None:
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
            self._send_now()
            return
        self._flushing = self._loop.run_in_executor(self._flusher, job.run)
        self._flushing.add_done_callback(lambda future: self._flushed(job, future, acks, done))

    def _flushed(
        self, job: FlushJob, future: asyncio.Future[None], acks: list[Ack], done: list[Done]
    ) -> None:
        self._flushing = None
        try:
            future.result()
            self._store.end_flush(job)
        except (StoreFailed, OSError) as error:
            LOG.error("messages are written and not known to be on disk: %s", error)
            self._doubt(acks, done)
            self._refuse(self._unsafe_acks, self._unsafe_done, f"{STORE_REFUSES} ({error})")
            self._unsafe_acks, self._unsafe_done = [], []
            return
        self._release(acks, done)
        self._after_write(self._clock.now_ms())
        self._send_now()
        if self._unsafe_acks or self._unsafe_done:
            self._begin_flush()

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
