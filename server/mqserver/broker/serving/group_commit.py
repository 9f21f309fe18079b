"""Group commit: one write and one sync for all messages of a turn, then their answers.

    frame, frame, … ── put (buffered) ── answer formatted and kept
                                              │ end of the turn
        begin_write ── pwrite in a thread ── end_write ── ASYNC_FLUSH ── answers leave
              puts go on meanwhile                │
              and wait for the next write         └─ SYNC_FLUSH ── begin_flush ── fdatasync in
                                                     another thread ── end_flush ── answers leave

A turn is one pass of the event loop, in which many frames may be read. What is put in it is written
by a thread. The loop waits up to ``WRITE_WAIT_MS`` for a small write, because a change of tasks
would cost more than the write; then it serves other requests, and parses and puts the next group.
``store.commitlog.groups`` has the states of a group.

Rule: an answer is formatted when its message is put. It leaves only when the message is as safe
as the configuration promises; with SYNC_MASTER a slave must also have it (``await_slaves``). When a
write fails, all messages of its group and those that were put after it are answered 14. When a
flush fails or takes longer than syncFlushTimeout, its messages are answered 10 (stored, but not
known to be on disk). A flush that finds no free file descriptor in the process is answered 10 as
well, and is tried again. ``overload`` limits how many messages may wait. An error at one answer,
one callback or one observer is logged, and the others of the turn go on (``_apart``).

Source: store/CommitLog.java#handleDiskFlush; performance notes of this project.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, ParamSpec, Protocol

from mqserver.broker.serving.answers import SendAnswers, with_code
from mqserver.broker.serving.flusher import Flusher
from mqserver.broker.serving.overload import Overload, store_refusal
from mqserver.broker.stats.counters import PutTimes
from mqserver.runtime.clock import Clock
from mqserver.runtime.observers import Observers
from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.commitlog.log_write import LogWrite
from mqserver.store.store import MessageStore
from mqserver.store.store_errors import StoreFailed, StoreFull
from remoting.aio.link import Outbox
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)
P = ParamSpec("P")

WRITE_WAIT_MS: Final = 1
"""How long the loop waits for a small write before it serves other requests."""
WAITED_SIZE_MAX: Final = 32 << 10
"""Bytes of a write for which the loop waits; while larger ones run, it parses the next reads."""
FLUSH_AGAIN_S: Final = 0.2
"""Seconds until a flush that found no free file descriptor is tried again."""


class Sink(Protocol):
    """Where an answer goes: a connection, or an object that first waits for something else."""

    def send(self, frame: bytes) -> None:
        """Queue one frame."""
        ...


Ack = tuple[Sink, bytes, Sequence[int], int]
"""Where the answers go, their frames one after another, their opaques, and their serialization."""
AwaitSlaves = Callable[[list[Ack], int, int, int], list[Ack]]
"""Makes answers also wait for a slave. It takes the answers, the log offsets at which the turn's
messages begin and end, and ``now_ms``."""
Done = Callable[[ResponseCode], None]
"""Called with SUCCESS when a message is safe, or with the code of the failure."""
HoldDone = Callable[[list[Done], int, int, int], list[Done]]
"""Makes callbacks also wait for replicas; it takes what ``AwaitSlaves`` takes."""


@dataclass(slots=True)
class _Waiting:
    """Who waits for the messages of one group."""

    acks: list[Ack] = field(default_factory=list)
    hasty_acks: list[Ack] = field(default_factory=list)
    """Answers that leave after the write, whatever else is promised."""
    done: list[Done] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Return how many messages are waited for."""
        return _count(self.acks) + _count(self.hasty_acks) + len(self.done)


class GroupCommit:
    """Commits the messages that are put in one turn, and sends the answers.

    Args:
        store: has the messages that were put.
        clock: measures writes and syncs.
        answers: formats refusals.
        sync_flush: whether answers wait for the disk (SYNC_FLUSH).
        overload: gets the times that the disk takes.
        times: gets the times that messages took to be stored.
        after_write: called with ``now_ms`` when messages became visible (wakes held pulls).
        sends: writes answers to the sockets at once, not on the next pass of the loop.
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
        sends: Outbox,
    ) -> None:
        self.overload = overload
        self.await_slaves: AwaitSlaves | None = None
        """Makes answers wait for a slave; set only with SYNC_MASTER."""
        self.hold_done: HoldDone | None = None
        """Makes callbacks wait for the replicas as well; set only in a group."""
        self.synced = Observers[[]]()
        """Called when more of the log is on the disk, with SYNC_FLUSH."""
        self.written = Observers[[]]()
        """Called when the log has grown."""
        self._times = times
        self._store = store
        self._clock = clock
        self._answers = answers
        self._sync_flush = sync_flush
        self._after_write = after_write
        self._sends = sends
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writer: Flusher[LogWrite] | None = None
        self._flusher: Flusher[FlushJob] | None = None
        self._scheduled = False
        # These wait for the next write.
        self._waiting = _Waiting()
        # These wait for the write that is running.
        self._writing: _Waiting | None = None
        self._write_began_ms = 0
        # With SYNC_FLUSH: these are written and wait for the next sync.
        self._unsafe_acks: list[Ack] = []
        self._unsafe_done: list[Done] = []
        self._unsafe_since_ms = 0
        # With SYNC_FLUSH: these wait for the sync that is running.
        self._flushing: FlushJob | None = None
        self._job_ended = asyncio.Event()
        self._flushing_acks: list[Ack] = []
        self._flushing_done: list[Done] = []
        self._flush_began_ms = 0
        self._later: asyncio.TimerHandle | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run commits on this loop from now on."""
        self._loop = loop
        self._writer = Flusher(loop, self._written_late)
        if self._sync_flush:
            self._flusher = Flusher(loop, self._flushed)

    def ack(
        self,
        conn: Sink,
        answers: bytes,
        *,
        opaques: Sequence[int],
        serialize: int,
        waits: bool = True,
    ) -> None:
        """Send ``answers`` when everything that was put up to now is safe.

        Args:
            conn: where the answers go.
            answers: the frames of one or more answers.
            opaques: numbers of the requests, for the answers that are sent if the write fails.
            serialize: serialization code of the requests, for the same answers.
            waits: False sends it after the write, even with SYNC_FLUSH or SYNC_MASTER.
        """
        if waits or (self.await_slaves is None and not self._sync_flush):
            self._waiting.acks.append((conn, answers, opaques, serialize))
        else:
            self._waiting.hasty_acks.append((conn, answers, opaques, serialize))
        if not self._scheduled:
            self.schedule()

    def when_safe(self, done: Done) -> None:
        """Call ``done`` when everything that was put up to now is safe, or has failed."""
        self._waiting.done.append(done)
        if not self._scheduled:
            self.schedule()

    def schedule(self) -> None:
        """Commit at the end of this turn; needed after a put without ``ack`` or ``when_safe``."""
        if not self._scheduled and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self.commit)

    @property
    def is_due(self) -> bool:
        """Return whether a commit is scheduled, because something that was put is not written."""
        return self._scheduled

    @property
    def is_writing(self) -> bool:
        """Return whether a write runs, which may fail and undo what was put."""
        return self._writing is not None

    def commit(self) -> None:
        """Write what was put, unless a write is running; its end begins the next one.

        The answers leave when disk and slave have their messages.
        """
        self._scheduled = False
        now_ms = self._clock.now_ms()
        if self._writing is None:
            job = self._begin_write(now_ms)
            if job is not None and self._has_ended(job):
                self._written_now(job)
        else:
            self._judge(now_ms)

    def _begin_write(self, now_ms: int) -> LogWrite | None:
        """Begin to write what was put; return the job, or None if there is nothing to write."""
        waiting, self._waiting = self._waiting, _Waiting()
        try:
            job = self._store.begin_write(now_ms)
        except StoreFailed as error:
            self._not_stored(waiting, error)
            return None
        except Exception:
            self._in_doubt(waiting)
            return None
        if job is None:
            offset = self._store.written_offset
            self._stored(waiting, now_ms, begin=offset, end=offset, elapsed_ms=0)
            return None
        self._writing, self._write_began_ms = waiting, now_ms
        return job

    def _has_ended(self, job: LogWrite) -> bool:
        """Let a thread write; return whether it has ended, for which a small write is waited."""
        if self._writer is None:
            job.do_work()
            return True
        wait_ms_max = WRITE_WAIT_MS if job.size <= WAITED_SIZE_MAX else 0
        return self._writer.begin(job, wait_ms_max=wait_ms_max)

    def _written_late(self, job: LogWrite) -> None:
        """End a write for whose end the loop did not wait."""
        self._written_now(job)
        self._judge(self._clock.now_ms())
        self._job_ended.set()

    def _written_now(self, job: LogWrite) -> None:
        """End a write, begin the next one if there is something to write, and send answers."""
        waiting, self._writing = self._writing or _Waiting(), None
        began_ms, now_ms = self._write_began_ms, self._clock.now_ms()
        try:
            self._store.end_write(job)
            # The next write runs while this group is dispatched and answered.
            self._begin_next(now_ms)
            self._store.show_written(now_ms)
        except StoreFailed as error:
            self._not_stored(waiting, error)
            return
        except Exception:
            self._in_doubt(waiting)
            return
        elapsed_ms = max(0, now_ms - began_ms)
        self._stored(waiting, now_ms, begin=job.begin, end=job.end, elapsed_ms=elapsed_ms)
        if self._waiting.count:
            # They may wait only for what was put before the write that has ended.
            self.schedule()

    def _begin_next(self, now_ms: int) -> None:
        """Begin to write what was put while a write was running."""
        if self._writer is None or not self._store.is_put:
            return
        job = self._begin_write(now_ms)
        if job is not None and self._writer.begin(job):
            raise RuntimeError("an unexpected write of the log has ended")

    def _not_stored(self, waiting: _Waiting, error: StoreFailed) -> None:
        """Refuse the messages of a group, and those that were put after it and undone as well."""
        LOG.error("could not store the messages of one turn: %s", error)
        behind, self._waiting = self._waiting, _Waiting()
        remark = store_refusal(self._store, str(error))
        for group in (waiting, behind):
            self._refuse(group.hasty_acks + group.acks, group.done, remark)

    def _in_doubt(self, waiting: _Waiting) -> None:
        """Refuse the messages of a group after an unexpected error."""
        LOG.exception("it is not known whether the messages of one turn were stored")
        remark = "the broker has an error; see its log"
        self._refuse(waiting.hasty_acks + waiting.acks, waiting.done, remark)

    def _stored(
        self, waiting: _Waiting, now_ms: int, *, begin: int, end: int, elapsed_ms: int
    ) -> None:
        """Send the answers of a group that is written, or keep them for the sync or a slave."""
        acks, done = waiting.acks, waiting.done
        _apart(self.written)
        if self.await_slaves is not None and acks:
            acks = self._held(acks, begin, end, now_ms)
        if self.hold_done is not None and done:
            done = self._held_done(done, begin, end, now_ms)
        if waiting.hasty_acks:
            self._release(waiting.hasty_acks, [])
        if not self._sync_flush:
            self._times.add(elapsed_ms, count=_count(acks))
            self._release_now(acks, done, now_ms)
            return
        self._sends.flush()
        if not self._unsafe_acks:
            self._unsafe_since_ms = now_ms
        self._unsafe_acks += acks
        self._unsafe_done += done
        self._begin_flush(now_ms)
        self._judge(now_ms)

    def _held(self, acks: list[Ack], begin: int, end: int, now_ms: int) -> list[Ack]:
        """Return the answers that need not wait for a slave."""
        assert self.await_slaves is not None
        try:
            return self.await_slaves(acks, begin, end, now_ms)
        except Exception:
            LOG.exception("it is not known whether a slave has the messages of one turn")
            for conn, answers, _, _ in acks:
                _apart(conn.send, with_code(answers, ResponseCode.FLUSH_SLAVE_TIMEOUT))
            return []

    def _held_done(self, done: list[Done], begin: int, end: int, now_ms: int) -> list[Done]:
        """Return the callbacks that need not wait for a replica; see ``_held``."""
        assert self.hold_done is not None
        try:
            return self.hold_done(done, begin, end, now_ms)
        except Exception:
            LOG.exception("it is not known whether a replica has the messages of one turn")
            for call in done:
                _apart(call, ResponseCode.FLUSH_SLAVE_TIMEOUT)
            return []

    def expire(self, now_ms: int, *, timeout_ms: int) -> None:
        """Answer 10 to sends that wait too long for a sync; call it periodically.

        Args:
            timeout_ms: how long a send may wait (syncFlushTimeout).
        """
        if self._flushing is not None and now_ms - self._flush_began_ms >= timeout_ms:
            acks, self._flushing_acks = self._flushing_acks, []
            if self._unsafe_acks and now_ms - self._unsafe_since_ms >= timeout_ms:
                acks += self._unsafe_acks
                self._unsafe_acks = []
            if acks:
                LOG.warning("the disk did not sync %d messages in %d ms", _count(acks), timeout_ms)
                self._answer_timeout(acks, [])
                self._sends.flush()

    def _judge(self, now_ms: int) -> None:
        store = self._store
        self.overload.judge(
            waiting_count=store.waiting_count,
            waiting_size=store.waiting_size,
            sync_ms=self.sync_ms(now_ms),
            write_ms=self._write_ms(now_ms),
        )

    def _write_ms(self, now_ms: int) -> int:
        """Return how long the running write has taken so far, in ms; 0 when none runs."""
        return 0 if self._writing is None else max(0, now_ms - self._write_began_ms)

    def sync_ms(self, now_ms: int) -> int:
        """Return how long the running sync has taken so far, in ms; 0 when none runs."""
        return 0 if self._flushing is None else max(0, now_ms - self._flush_began_ms)

    def clock_set(self, step_ms: int) -> None:
        """Shift the start times of syncs by ``step_ms``, by which the clock was changed."""
        self._flush_began_ms += step_ms
        self._write_began_ms += step_ms
        self._unsafe_since_ms += step_ms

    async def close(self) -> None:
        """Commit what is left and wait for the running write and flush."""
        if self._later is not None:
            self._later.cancel()
        self.commit()
        while self._writing is not None or self._flushing is not None:
            self._job_ended.clear()
            await self._job_ended.wait()
            if self._waiting.count:
                self.commit()
        for threads in (self._writer, self._flusher):
            if threads is not None:
                threads.close()

    def _begin_flush(self, now_ms: int) -> None:
        if self._flushing is not None or self._flusher is None:
            return
        acks, self._unsafe_acks = self._unsafe_acks, []
        done, self._unsafe_done = self._unsafe_done, []
        job = self._store.begin_flush()
        if job is None:
            if self._store.is_read_only:
                self._answer_timeout(acks, done)
            else:
                self._release(acks, done)
            self._sends.flush()
            return
        self._flushing_acks, self._flushing_done = acks, done
        self._flush_began_ms = now_ms
        self._flushing = job
        self._flusher.begin(job)

    def _flushed(self, job: FlushJob) -> None:
        self._flushing = None
        self._job_ended.set()
        acks, self._flushing_acks = self._flushing_acks, []
        done, self._flushing_done = self._flushing_done, []
        try:
            self._store.end_flush(job)
        except Exception as error:
            expected = isinstance(error, (StoreFailed, OSError))
            LOG.error(
                "messages are written, but perhaps not on disk: %s", error, exc_info=not expected
            )
            self._answer_timeout(acks, done)
            unsafe_acks, self._unsafe_acks = self._unsafe_acks, []
            unsafe_done, self._unsafe_done = self._unsafe_done, []
            if isinstance(error, StoreFull):
                self._answer_timeout(unsafe_acks, unsafe_done)
                self._flush_later()
            else:
                remark = store_refusal(self._store, str(error))
                self._refuse(unsafe_acks, unsafe_done, remark)
            self._sends.flush()
            return
        _apart(self.synced)
        now_ms = self._clock.now_ms()
        self._times.add(now_ms - self._flush_began_ms, count=_count(acks))
        # Before the answers leave, so that the disk does not wait for them.
        if self._unsafe_acks or self._unsafe_done:
            self._begin_flush(now_ms)
        self._release_now(acks, done, now_ms)
        self._judge(now_ms)

    def _flush_later(self) -> None:
        """Try a sync again, after the process had no free file descriptor for it."""
        if self._loop is not None:
            now_ms = self._clock.now_ms
            self._later = self._loop.call_later(FLUSH_AGAIN_S, lambda: self._begin_flush(now_ms()))

    def _release_now(self, acks: list[Ack], done: list[Done], now_ms: int) -> None:
        # Without ``defer_writes`` the first answer would schedule a pass of the loop that has
        # nothing left to send after ``flush``.
        self._sends.defer_writes()
        try:
            self._release(acks, done)
            _apart(self._after_write, now_ms)
        finally:
            self._sends.flush()

    @staticmethod
    def _release(acks: list[Ack], done: list[Done]) -> None:
        for conn, answers, _, _ in acks:
            _apart(conn.send, answers)
        for call in done:
            _apart(call, ResponseCode.SUCCESS)

    @staticmethod
    def _answer_timeout(acks: list[Ack], done: list[Done]) -> None:
        """Answer 10: the messages are written, but perhaps not on disk."""
        code = ResponseCode.FLUSH_DISK_TIMEOUT
        for conn, answers, _, _ in acks:
            _apart(conn.send, with_code(answers, code))
        for call in done:
            _apart(call, code)

    def _refuse(self, acks: list[Ack], done: list[Done], remark: str) -> None:
        code = ResponseCode.SERVICE_NOT_AVAILABLE
        for conn, _, opaques, serialize in acks:
            for opaque in opaques:
                answer = self._answers.refused(serialize, opaque, code=code, remark=remark)
                _apart(conn.send, answer)
        for call in done:
            _apart(call, code)


def _apart(call: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call a function whose error must not reach the other messages of the turn."""
    try:
        call(*args, **kwargs)
    except Exception:
        LOG.exception("one answer or callback of a turn failed; the others go on")


def _count(acks: Iterable[Ack]) -> int:
    """Return the number of answers."""
    return sum(len(opaques) for _, _, opaques, _ in acks)
