"""Run a command while other work keeps the processors busy.

    python -m tests.load --busy 2 -- make test         two processors are busy with something else
    python -m tests.load --share 0.33 -- make test     one processor, and a third of it (root)

A test that waits for time, or compares what a clock decides, fails in such a run sooner or later.
With ``--times 5`` the command runs five times, until one of them fails.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context

PERIOD_S = 0.03
"""Of which a command that has a share of a processor runs in the rest."""


def keep_busy() -> None:
    """Take what a processor gives, as a session of its own has it, until killed."""
    os.setsid()  # Linux shares processors fairly between sessions
    while True:
        pass


def keep_from_others(share: float) -> None:
    """Leave ``share`` of this processor to others: real-time priority runs before them."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    start_s = time.monotonic()
    while True:
        while time.monotonic() < start_s + PERIOD_S * (1 - share):
            pass
        start_s += PERIOD_S
        time.sleep(max(0.0, start_s - time.monotonic()))


@contextmanager
def load(busy: int, share: float | None) -> Iterator[None]:
    """Keep ``busy`` processes running, or leave ``share`` of one processor, in the block."""
    context = get_context("spawn")
    if share is not None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # what it starts has it, too
        others = [context.Process(target=keep_from_others, args=(share,), daemon=True)]
    else:
        others = [context.Process(target=keep_busy, daemon=True) for _ in range(busy)]
    for process in others:
        process.start()
    try:
        yield
        if not all(process.is_alive() for process in others):
            raise SystemExit("the load ended before the command: --share needs root")
    finally:
        for process in others:
            process.kill()
            process.join()


def main() -> int:
    """Run the command as often as asked; the exit code is that of the last run."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--busy", type=int, default=0, help="processes that take what they get")
    what.add_argument("--share", type=float, help="of one processor, for the command: 0.33")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    for number in range(1, args.times + 1):
        start_s = time.monotonic()
        with load(args.busy, args.share):
            code = subprocess.call(args.command)
        took_s = time.monotonic() - start_s
        print(f"run {number} of {args.times}: exit code {code} after {took_s:.0f} s", flush=True)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
