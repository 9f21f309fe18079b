"""Runs a function on many tasks in several processes; results come in the order of the tasks.

    tasks ──2 a worker at most──> worker: function(made, task) ──in order──> results
                                  made = make(), once in each worker

Rule: tasks and results are pickled, so they are small values and never the bytes of a log. With
one worker no process is started and ``storefmt.offline.workers`` is not imported. The results are
the same for every number of workers.
"""

import os
from collections.abc import Callable, Generator, Iterable
from typing import Final, TypeVar

Task = TypeVar("Task")
Made = TypeVar("Made")
Result = TypeVar("Result")

PARALLEL_SIZE_MIN = 1 << 30
"""Bytes of data from which workers pay off: a worker takes 0.3 s of CPU time to start and import
numpy, and one core verifies 1 GiB in 2 s, so that below 512 MiB two cores gain nothing."""
COUNTING_SIZE_MIN = 4 << 30
"""The same for counting: 0.7 s with pyarrow, and one core counts 1 GiB in half a second."""
WORKERS_MAX: Final = 8
"""Each takes some 40 MiB, and one process puts their results together."""
CORES_MIN: Final = 4
"""With two cores, two processes were no faster than one (docs/benchmarks.md)."""


def workers_for(data_size: int, jobs: int | None, *, counting: bool = False) -> int:
    """Return how many processes to use for data of this size in bytes.

    Args:
        jobs: upper limit; None for the number of cores, if the data is large enough.
        counting: the work is cheap and needs pyarrow, so more data is needed for each process.
    """
    if data_size < (COUNTING_SIZE_MIN if counting else PARALLEL_SIZE_MIN):
        return 1
    if jobs is None:
        cores = _core_count()
        jobs = cores if cores >= CORES_MIN else 1
    return max(1, min(WORKERS_MAX, jobs))


def _core_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_files(
    function: Callable[[Made, Task], Result],
    tasks: Iterable[Task],
    *,
    make: Callable[[], Made],
    worker_count: int,
) -> Generator[Result, None, None]:
    """Yield ``function(made, task)`` for each task, in their order.

    Close it to end the workers before it is used up.

    Args:
        function: of a module, as ``make``; both are called in the workers. What it raises
            is raised here.
        worker_count: 1 does everything in this process.

    Raises:
        StoreError: a worker was killed.
    """
    if worker_count > 1:
        # Imported here, because most commands never start a process.
        from storefmt.offline.workers import results_of

        yield from results_of(function, tasks, make=make, worker_count=worker_count)
        return
    made = make()
    for task in tasks:
        yield function(made, task)
