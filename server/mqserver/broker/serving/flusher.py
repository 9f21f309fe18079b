"""The threads that write and sync the log beside the event loop, so that a slow disk delays only
sends.

    begin(job) ─ one open file, kernel built ── order ── pipe ── C thread ── pipe ─┐
               └ else ── job.do_work in a thread of an executor ───────────────────┴─ ended

Rule: one job runs at a time in each thread, and a job keeps the error of the disk. The compiled
thread takes some 55 us of CPU and 65 us of time less for each sync than an executor, because it
never waits for the interpreter's lock. A write or sync in the loop would save some 10 us more, but
a disk that hangs would stop all requests (docs/decisions/0014).
"""

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_until_done
from errno import EIO
from threading import Thread
from typing import Generic, NamedTuple, TypeVar

from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.commitlog.log_write import LogWrite
from storefmt.kernels import load

LOG = logging.getLogger(__name__)

WriteOrSync = LogWrite | FlushJob
Job = TypeVar("Job", LogWrite, FlushJob)
HandOver = Callable[[int, int, bytes | memoryview | None, int], None]
WaitFor = Callable[[int, int], int | None]


class DiskKernel(NamedTuple):
    """What a compiled thread consists of; see the kernel."""

    hand_over: HandOver
    wait_for: WaitFor
    work_off: Callable[[int, int], None]


disk_thread: DiskKernel | None = load(
    "mqserver.broker.serving.flusher_kernel", "disk_thread_compiled", pure=None
)
"""The thread in use for single files; None without the kernel."""


class Flusher(Generic[Job]):
    """A thread that writes the log of one broker, or one that syncs it.

    Args:
        loop: calls ``ended``.
        ended: called with each job that has run, unless ``begin`` returned True.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Callable[[Job], None]) -> None:
        self._loop = loop
        self._ended: Callable[[Job], None] = ended
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="commit-log")
        self._compiled = None if disk_thread is None else DiskThread(loop, disk_thread)

    def begin(self, job: Job, *, wait_ms_max: int = 0) -> bool:
        """Run ``job``; call this only when the job before it has ended.

        Args:
            job: a write or a sync.
            wait_ms_max: how long to wait for its end.

        Returns:
            Whether it has ended; ``ended`` is not called for it then.
        """
        try:
            return self._begin(job, wait_ms_max)
        except Exception as failure:
            # It never began, so it has no end for which its messages could wait.
            _keep_failure(job, failure)
            self._loop.call_soon(self._ended, job)
            return False

    def _begin(self, job: Job, wait_ms_max: int) -> bool:
        if self._compiled is not None and self._compiled.begin(
            job, lambda number: self._carried_out(job, number)
        ):
            number = self._compiled.wait(wait_ms_max) if wait_ms_max else None
            if number is not None:
                _keep_error(job, number)
            return number is not None
        running = self._executor.submit(job.do_work)
        if wait_ms_max and wait_until_done((running,), wait_ms_max / 1000).done:
            _keep_failure(job, running.exception())
            return True
        running.add_done_callback(lambda _: self._soon(job, running))
        return False

    def _carried_out(self, job: Job, number: int) -> None:
        _keep_error(job, number)
        self._ended(job)

    def _soon(self, job: Job, running: "Future[None]") -> None:
        _keep_failure(job, running.exception())
        self._loop.call_soon_threadsafe(self._ended, job)

    def close(self) -> None:
        """End the threads; call this only when no job is running."""
        self._executor.shutdown()
        if self._compiled is not None:
            self._compiled.close()


def _keep_error(job: WriteOrSync, number: int) -> None:
    if number:
        job.error = OSError(number, os.strerror(number))


def _keep_failure(job: WriteOrSync, failure: BaseException | None) -> None:
    """Treat an error that is not the disk's as one of the disk: nothing is known to be there."""
    if failure is not None:
        LOG.error("a write or sync of the log failed", exc_info=failure)
        job.error = OSError(EIO, f"{type(failure).__name__}: {failure}")


class DiskThread:
    """A thread that writes or syncs one file after another without the interpreter's lock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, kernel: DiskKernel) -> None:
        self._loop = loop
        self._kernel = kernel
        self._then: Callable[[int], None] = lambda number: None
        self._data: bytes | memoryview | None = None
        self._orders, self._to_thread = os.pipe()
        self._from_thread, self._results = os.pipe()
        os.set_blocking(self._from_thread, False)
        # A loop that ends without ``close`` must not keep the process alive.
        self._thread = Thread(
            target=kernel.work_off, args=(self._orders, self._results), daemon=True
        )
        self._thread.start()
        loop.add_reader(self._from_thread, self._ready)

    def begin(self, job: WriteOrSync, then: Callable[[int], None]) -> bool:
        """Carry out a job; return False if the thread cannot.

        Args:
            job: a write or a sync.
            then: called with 0 or the number of the error, unless ``wait`` returned it.
        """
        segment = job.segment
        if segment is None:
            return False
        descriptor, pos, data = segment
        self._then, self._data = then, data
        self._kernel.hand_over(self._to_thread, descriptor, data, pos)
        return True

    def wait(self, wait_ms_max: int) -> int | None:
        """Return 0 or the number of the error; None if the job takes longer than that."""
        return self._kernel.wait_for(self._from_thread, wait_ms_max)

    def _ready(self) -> None:
        number = self._kernel.wait_for(self._from_thread, 0)
        # ``wait`` may have taken the result of which the loop knew already.
        if number is not None:
            self._then(number)

    def close(self) -> None:
        """End the thread."""
        self._loop.remove_reader(self._from_thread)
        os.close(self._to_thread)
        self._thread.join()
        for descriptor in (self._orders, self._from_thread, self._results):
            os.close(descriptor)
