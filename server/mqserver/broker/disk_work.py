"""The periodic work of a broker that waits for the disk, in threads beside the event loop.

    housekeeping thread    store housekeeping, commit log flush (ASYNC_FLUSH), timer files
    log file threads       the next log file; retention, which may delete for a long time

Rule: the loop takes a job from the store, a thread runs it, and the loop reports its end to the
store. Neither the store nor the timer begins a flush while one of its own runs. A flush that has
begun goes on while the broker stops, and ``finish`` waits for it.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from mqserver.broker.intervals import while_unsettled, while_written
from mqserver.broker.state import Broker
from mqserver.broker.timer.metrics import FILE_NAME as TIMER_METRICS
from mqserver.runtime.periodic import Services
from mqserver.store.disk.job import DiskJob
from mqserver.store.store_errors import StoreFailed, StoreFull
from mqserver.store.timer.timer_files import TimerFlush

LOG = logging.getLogger(__name__)
T = TypeVar("T")

HOUSEKEEPING_MS: Final = 200
CLEAN_MS: Final = 1_000
PAGE_SIZE: Final = 4_096


class DiskThreads:
    """The threads of one broker for such work, from before its store is opened."""

    def __init__(self) -> None:
        self.housekeeping = ThreadPoolExecutor(max_workers=1, thread_name_prefix="housekeeping")
        # One thread deletes old log files, which may take long, while the other creates new ones.
        self.log_files = ThreadPoolExecutor(max_workers=2, thread_name_prefix="log-files")

    async def open_with(self, work: Callable[[], T]) -> T:
        """Return the result of ``work``, which opens the store in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.housekeeping, work)

    def close(self) -> None:
        """Wait for the threads to end."""
        self.housekeeping.shutdown()
        self.log_files.shutdown()


class DiskWork:
    """Does the work of one broker that waits for the disk.

    Args:
        broker: the broker.
        threads: its threads.
    """

    def __init__(self, broker: Broker, threads: DiskThreads) -> None:
        self._broker = broker
        self._store = broker.store
        self._threads = threads
        self._flushed_ms = 0
        self._flushes: set[asyncio.Future[None]] = set()
        """Flushes that the clock began."""

    def schedule(self, services: Services) -> None:
        """Declare the periodic work."""
        config, store, every = self._broker.config.store, self._store, services.every
        written_ms = while_written(store, HOUSEKEEPING_MS)
        unsettled_ms = while_unsettled(store, HOUSEKEEPING_MS)
        every(unsettled_ms, self._keep_house, name="store housekeeping")
        every(written_ms, self._make_log_file, name="next log file")
        every(CLEAN_MS, self._clean, name="retention", first_ms=0)
        every(lambda: config.flush_interval_commit_log_ms, self.flush, name="commit log flush")
        timers_ms = while_written(store, HOUSEKEEPING_MS)
        every(timers_ms, self._flush_timers, name="timer files")

    async def _keep_house(self, now_ms: int) -> None:
        await self._to_its_end(self._run_job(self._store.housekeeping(now_ms)))

    async def _make_log_file(self, now_ms: int) -> None:
        job = self._store.begin_next_file()
        try:
            await self._run_job(job, self._threads.log_files)
        except asyncio.CancelledError:
            if job is not None:
                job.give_up()
            raise

    async def _clean(self, now_ms: int) -> None:
        job = self._store.cleaner.step(now_ms)
        if job is not None:
            await self._to_its_end(self._run_cleaning(job))

    async def _run_cleaning(self, job: DiskJob) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads.log_files, job.do_work)
        self._store.cleaner.end(job)

    async def flush(self, now_ms: int) -> None:
        """Flush the commit log when enough pages or enough time have passed (ASYNC_FLUSH)."""
        config, store = self._broker.config.store, self._store
        if config.is_sync_flush:
            self._broker.group_commit.expire(now_ms, timeout_ms=config.sync_flush_timeout_ms)
            return
        pages = (store.written_offset - store.flushed_offset) // PAGE_SIZE
        is_thorough = now_ms - self._flushed_ms >= config.flush_commit_log_thorough_interval_ms
        # On a slave, replication flushes before it acknowledges.
        if not store.is_copy and (pages >= config.flush_commit_log_least_pages or is_thorough):
            self._flushed_ms = now_ms
            await self._to_its_end(self._run_job(store.begin_flush()))

    async def _flush_timers(self, now_ms: int) -> None:
        await self._to_its_end(self._run_timer_flush(self._broker.timer.flush_job(now_ms)))

    async def _to_its_end(self, flush: Coroutine[Any, Any, None]) -> None:
        """Wait for a flush, which goes on when this wait is cancelled."""
        task = asyncio.ensure_future(flush)
        self._flushes.add(task)
        task.add_done_callback(self._flushes.discard)
        await asyncio.shield(task)

    async def _run_timer_flush(self, job: TimerFlush | None) -> None:
        broker = self._broker
        if job is not None:
            await asyncio.get_running_loop().run_in_executor(
                self._threads.housekeeping, job.do_work
            )
            broker.timer.end_flush(job)
        broker.files.mark_changed(TIMER_METRICS, broker.timer.metrics.change_count)

    async def _run_job(self, job: DiskJob | None, threads: Executor | None = None) -> None:
        """Let a thread run a job, then report its end to the store."""
        if job is None:
            return
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(threads or self._threads.housekeeping, job.do_work)
        try:
            self._store.end_flush(job)
        except StoreFull as error:
            LOG.warning("a job for the disk runs again later: %s", error)
        except StoreFailed as error:
            LOG.error("the store accepts no more messages: %s", error)

    async def finish(self) -> None:
        """Flush everything a last time; call it when nothing is put any more."""
        broker = self._broker
        for error in await asyncio.gather(*self._flushes, return_exceptions=True):
            if error is not None:
                LOG.error("a flush that ran when the broker stopped failed", exc_info=error)
        await self._run_job(self._store.begin_flush())
        broker.settle()
        await self._run_timer_flush(broker.timer.flush_job(broker.clock.now_ms(), at_end=True))
        broker.timer.close()
