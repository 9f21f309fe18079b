"""Two waits that users feel: for the test broker, and for a file system that deletes a log file.

    python -m benchmarks.waits --directory /some/disk

The pytest fixture is started and stopped in turn, as a test run does it. A log file of 1 GiB,
written and synced, is deleted twice: by one ``unlink``, as Java does it, and by the store's own
job, of which the longest single call counts, since that long others may wait.
"""

import argparse
import os
import statistics
import threading
import time
from pathlib import Path
from typing import Final

from benchmarks.telling import tell
from server.pytest_plugin import running_pair
from server.store.cleanup.jobs import DeleteLogJob
from server.store.disk.disk import RealDisk
from storefmt.paths import log_file_name

FILE_SIZE: Final = 1 << 30
CHUNK: Final = os.urandom(1 << 20)


def fixture_s() -> float:
    """Return the seconds until a name server and a broker serve."""
    started = time.perf_counter()
    with running_pair():
        return time.perf_counter() - started


def log_file(directory: Path) -> Path:
    """Make a log file whose blocks are on the disk."""
    path = directory / log_file_name(0)
    with path.open("wb") as file:
        for _ in range(FILE_SIZE // len(CHUNK)):
            file.write(CHUNK)
        file.flush()
        os.fsync(file.fileno())
    return path


def unlink_ms(directory: Path) -> float:
    """Return how long one ``unlink`` takes."""
    path = log_file(directory)
    started = time.perf_counter()
    path.unlink()
    return (time.perf_counter() - started) * 1000


def job_ms(directory: Path) -> tuple[float, float]:
    """Return the longest call of the store's job, and how long all of it takes."""
    path = log_file(directory)
    job = DeleteLogJob(RealDisk(), [path], interval_s=0, stop=threading.Event())
    started = time.perf_counter()
    job.run()
    if job.error is not None:
        raise job.error
    return job.slowest_ms, (time.perf_counter() - started) * 1000


def main() -> None:
    """Print a line for each wait."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True, help="on the disk to measure")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    starts = [fixture_s() for _ in range(options.rounds)]
    alone = [unlink_ms(options.directory) for _ in range(options.rounds)]
    jobs = [job_ms(options.directory) for _ in range(options.rounds)]
    lines = [
        f"load {os.getloadavg()[0]:.1f}, {options.rounds} rounds: median (least, most)",
        _line("pytest fixture until both serve, s", starts, places=2),
        _line("1 GiB by one unlink, ms", alone, places=0),
        _line("1 GiB by the store, longest call, ms", [longest for longest, _ in jobs], places=1),
        _line("1 GiB by the store, in all, ms", [whole for _, whole in jobs], places=0),
    ]
    tell("\n".join(lines), None)


def _line(what: str, seen: list[float], *, places: int) -> str:
    median, least, most = statistics.median(seen), min(seen), max(seen)
    return f"{what}: {median:.{places}f} ({least:.{places}f}, {most:.{places}f})"


if __name__ == "__main__":
    main()
