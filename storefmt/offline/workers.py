"""Starts, feeds and ends the worker processes of ``storefmt.offline.parallel``.

Rule: no worker is left behind. A caller that stops early (an error, Ctrl-C, a closed generator)
ends the workers, and a worker whose parent process has died ends itself.

Workers are spawned, not forked, as other threads may run in this process: a script that
asks for them needs its ``if __name__ == "__main__"``.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing.connection import wait
from typing import Any, Final, TypeVar

from storefmt.errors import StoreError

Task = TypeVar("Task")
Made = TypeVar("Made")
Result = TypeVar("Result")

_AHEAD: Final = 2
"""Tasks that each worker has: the one in progress, and the next one."""
_FAILED: Final = "failed"

_made: list[object] = []
"""The value that ``make`` returned in this worker."""


def results_of(
    function: Callable[[Made, Task], Result],
    tasks: Iterable[Task],
    *,
    make: Callable[[], Made],
    worker_count: int,
) -> Generator[Result, None, None]:
    """Yield the results in the order of the tasks; see ``parallel.map_files``."""
    left = iter(tasks)
    flying: deque[tuple[Task, Future[tuple[str, Any]]]] = deque()
    with _pool(make, worker_count) as pool:
        try:
            for task in islice(left, _AHEAD * worker_count):
                flying.append((task, _submit(pool, function, task)))
            while flying:
                task, future = flying.popleft()
                failed, result = future.result()
                if failed:
                    # Errors with attributes cannot be pickled: the task raises it here.
                    result = function(make(), task)
                for task in islice(left, 1):
                    flying.append((task, _submit(pool, function, task)))
                yield result
        except BrokenProcessPool:
            raise StoreError(
                "a worker process was killed, perhaps for lack of memory; use one process: --jobs 1"
            ) from None


@contextmanager
def _pool(make: Callable[[], object], worker_count: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(
        worker_count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(make,),
    )
    try:
        yield pool
    except BaseException:
        # A task may take as long as a whole file, and its result is no longer needed.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submit(
    pool: ProcessPoolExecutor, function: Callable[[Made, Task], object], task: Task
) -> Future[tuple[str, Any]]:
    # Ctrl-C reaches every process of the terminal, but only the parent is to handle it. Signals
    # that are blocked here stay blocked in a worker from its first line on.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_do, function, task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(make: Callable[[], object]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _made[:] = [make()]


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _do(function: Callable[[Any, Any], object], task: object) -> tuple[str, object]:
    try:
        return "", function(_made[0], task)
    except StoreError:
        return _FAILED, None
