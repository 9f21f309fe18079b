"""``store verify``, ``stats`` and ``seal`` in one process and in several, on one store.

    python -m benchmarks.verify                   a store of four log files of 256 MiB
    python -m benchmarks.verify --files 1 --size 1024
    python -m benchmarks.verify --write FILE      append the table to a file, too

The numbers of processes take turns, round by round, with the files in the page cache. Wall
seconds are what a user waits, and say little where others use the machine: the least of
the rounds stands beside the median. CPU seconds are those of all processes together.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Final, NamedTuple

from benchmarks.logs import make_store
from benchmarks.telling import markdown, tell
from storefmt.offline import StoreDir, parallel
from storefmt.offline.analyse.record_counts import By
from storefmt.offline.analyse.stats import count_records
from storefmt.offline.verify.seal import seal
from storefmt.offline.verify.store import verify

MIB: Final = 1 << 20
JOBS: Final = (1, 2)


class Spent(NamedTuple):
    """Seconds of one run."""

    wall_s: float
    cpu_s: float


def measure(work: Callable[[], object]) -> Spent:
    """Run ``work`` and return what it took, the processes that it started included."""
    wall_s, used_s = time.monotonic(), _cpu_s()
    work()
    return Spent(time.monotonic() - wall_s, _cpu_s() - used_s)


def _cpu_s() -> float:
    both = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return sum(each.ru_utime + each.ru_stime for each in both)


def _verify(path: Path, jobs: int) -> None:
    with StoreDir.open(path) as store:
        kinds = {finding.kind for finding in verify(store, jobs=jobs).findings}
    # The store has no config and no checkpoint; all else must be as it should be.
    assert kinds == {"missing_file", "config_missing"}, kinds


def _stats(path: Path, jobs: int) -> None:
    with StoreDir.open(path) as store:
        assert count_records(store, By.QUEUE, jobs=jobs)


def _seal(path: Path, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as target, StoreDir.open(path) as store:
        assert all(each.result == "sealed" for each in seal(store, Path(target), jobs=jobs))


WAYS: Final = {"verify": _verify, "stats": _stats, "seal": _seal}


def table(spent: dict[tuple[str, int], list[Spent]], options: argparse.Namespace) -> str:
    """Return the rounds as a Markdown table."""
    head = (
        f"{time.strftime('%Y-%m-%d')}, {options.files} log files of {options.size} MiB, "
        f"{options.body} byte bodies, {options.rounds} rounds; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}."
    )
    rows = []
    for (name, jobs), runs in spent.items():
        walls = [run.wall_s for run in runs]
        cpu_s = statistics.median(run.cpu_s for run in runs)
        seconds = statistics.median(walls), min(walls), cpu_s
        rows.append([name, jobs, *(f"{spent_s:.2f}" for spent_s in seconds)])
    titles = ("command", "processes", "wall s, median", "wall s, least", "CPU s, median")
    return f"{head}\n\n{markdown(titles, rows)}"


def main() -> int:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--size", type=int, default=256, help="MiB of a log file")
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    spent: dict[tuple[str, int], list[Spent]] = {}
    # The question is whether it pays, also where it is not done by itself.
    parallel.PARALLEL_SIZE_MIN = parallel.COUNTING_SIZE_MIN = 0
    with tempfile.TemporaryDirectory(prefix="mq-bench-") as scratch:
        path = Path(scratch) / "store"
        make_store(
            path, file_count=options.files, file_size=options.size * MIB, body_size=options.body
        )
        for _ in range(options.rounds):
            for name in options.ways:
                for jobs in JOBS:
                    run = measure(partial(WAYS[name], path, jobs))
                    spent.setdefault((name, jobs), []).append(run)
    text = table(spent, options)
    tell(text, options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
