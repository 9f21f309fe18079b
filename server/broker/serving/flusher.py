"""Run the syncs of SYNC_FLUSH beside the event loop, so that a slow disk delays only sends.

    begin(job) ─ one open file, kernel built ── its descriptor ── pipe ── C thread ── pipe ─┐
               └ else ── job.run in a thread of an executor ────────────────────────────────┴─ ended

Rule: one sync runs at a time, and a job keeps the error of the disk. The compiled thread takes
some 55 us of CPU and 65 us of time less for each sync, because it never waits for the interpreter's
lock. A sync in the loop would save a little more, but a disk that hangs would stop all requests.
"""

import asyncio
import os
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import Final

from server.store.commitlog.flush import FlushJob
from storefmt.formats.kernels import chosen

SyncEach = Callable[[int, int], None]
"""Reads descriptors from one pipe, syncs each, and writes its result to another; see the kernel."""
Ended = Callable[[FlushJob, BaseException | None], None]
_INT: Final = struct.Struct("=i")


def sync_threads() -> dict[str, SyncEach | None]:
    """Return the threads for single files by name: ``pure`` is none, ``compiled`` if built."""
    try:
        from server.broker.serving.flusher_kernel import sync_each
    except ImportError:
        return {"pure": None}
    return {"pure": None, "compiled": sync_each}


sync_each: SyncEach | None = chosen(sync_threads())
"""The thread in use."""


class Flusher:
    """The threads that sync the log of one broker.

    Args:
        loop: calls ``ended``.
        ended: called with each job that has run, and with an error that is not the disk's.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ended: Ended) -> None:
        self._loop = loop
        self._ended = ended
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="flush")
        self._compiled = None if sync_each is None else Syncs(loop, sync_each)

    def begin(self, job: FlushJob) -> None:
        """Run ``job``; call this only when the job before it has ended."""
        compiled, descriptor = self._compiled, job.descriptor
        if compiled is not None and descriptor is not None:
            compiled.begin(descriptor, lambda number: self._synced(job, number))
        else:
            running = self._loop.run_in_executor(self._executor, job.run)
            running.add_done_callback(lambda done: self._ended(job, done.exception()))

    def _synced(self, job: FlushJob, number: int) -> None:
        if number:
            job.error = OSError(number, os.strerror(number))
        self._ended(job, None)

    def close(self) -> None:
        """End the threads; call this only when no job is running."""
        self._executor.shutdown()
        if self._compiled is not None:
            self._compiled.close()


class Syncs:
    """A thread that syncs one descriptor after another without the interpreter's lock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, run: SyncEach) -> None:
        self._loop = loop
        self._then: Callable[[int], None] = lambda number: None
        self._wanted, self._to_thread = os.pipe()
        self._from_thread, self._done = os.pipe()
        # A loop that ends without ``close`` must not keep the process alive.
        self._thread = Thread(target=run, args=(self._wanted, self._done), daemon=True)
        self._thread.start()
        loop.add_reader(self._from_thread, self._ready)

    def begin(self, descriptor: int, then: Callable[[int], None]) -> None:
        """Sync a file, and call ``then`` with 0 or the number of the error."""
        self._then = then
        os.write(self._to_thread, _INT.pack(descriptor))

    def _ready(self) -> None:
        (number,) = _INT.unpack(os.read(self._from_thread, _INT.size))
        self._then(number)

    def close(self) -> None:
        """End the thread."""
        self._loop.remove_reader(self._from_thread)
        os.close(self._to_thread)
        self._thread.join()
        for descriptor in (self._wanted, self._from_thread, self._done):
            os.close(descriptor)
