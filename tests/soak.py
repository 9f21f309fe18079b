"""How far each test of ``make soak`` goes, so that all of it takes an hour on two processors.

    SOAK_MINUTES   of the whole run, 60 by default: each test has its share of them
    SOAK_SEED      of random orders and plans; by default another one in each run

Rule: a test of very many cases takes them in a random order until its time is over. Each test
prints the seed, and how many of its cases it tried.
"""

import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Final, TypeVar

MINUTES: Final = float(os.environ.get("SOAK_MINUTES", "60"))
SEED: Final = int(os.environ.get("SOAK_SEED", str(int(time.time()))))

LONGEST: Final = ("tests/server/test_kill.py", "tests/server/broker/test_many_topics.py")
"""What begins first, one in each process, so that it does not run alone at the end."""

T = TypeVar("T")
R = TypeVar("R")


def seconds(minutes: float) -> float:
    """Return how long a test may take that has ``minutes`` of an hour."""
    return minutes * MINUTES


def some(cases: Iterable[T], *, minutes: float) -> Iterator[T]:
    """Yield cases in a random order until ``minutes`` of an hour are over, at least one of them."""
    shuffled = list(cases)
    random.Random(SEED).shuffle(shuffled)
    end_s = time.monotonic() + seconds(minutes)
    count = 0
    for case in shuffled:
        if count and time.monotonic() > end_s:
            break
        yield case
        count += 1
    print(f"seed {SEED}: {count} of {len(shuffled)} cases")


def spread(
    work: Callable[..., R], cases: Iterable[tuple[object, ...]], *, minutes: float
) -> list[R]:
    """Return what ``work`` returns for ``some`` of the cases, which all processors share.

    Args:
        work: a function of a module; it gets each case as its arguments.
        cases: the arguments of each call.
        minutes: see ``some``.
    """
    count = os.cpu_count() or 1
    found: list[R] = []
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        running: set[Future[R]] = set()
        for case in some(cases, minutes=minutes):
            running.add(pool.submit(work, *case))
            if len(running) >= count:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                found += [one.result() for one in done]
        found += [one.result() for one in running]
    return found
