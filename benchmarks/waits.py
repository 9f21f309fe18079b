"""Waits that users feel: for the test broker, a file system that deletes a log file, and a sync.

    python -m benchmarks.waits --directory /some/disk

The pytest fixture is started and stopped in turn, as a test run does it. A log file of 1 GiB,
written and synced, is deleted twice: by one ``unlink``, as Java does it, and by the store's own
job, of which the longest single call counts, since that long others may wait. A record of the
size that a message of 1 KiB has is written and synced again and again, in an allocated file, as
with SYNC_FLUSH and one sender: a send takes that long on this disk, whatever the broker costs.
"""

import argparse
import os
import statistics
import threading
import time
from pathlib import Path
from typing import Final

from benchmarks.telling import tell
from mqserver.pytest_plugin import running_pair
from mqserver.store.cleanup.jobs import DeleteLogJob
from mqserver.store.disk.disk import RealDisk
from storefmt.paths import log_file_name

FILE_SIZE: Final = 1 << 30
RECORD: Final = b"x" * 1_195
SYNC_COUNT: Final = 2_000
PAUSES_US: Final = (0, 100)
"""What a sender and its sockets take between two syncs."""
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
    job = DeleteLogJob(disk=RealDisk(), left=[path], interval_s=0, stop=threading.Event())
    started = time.perf_counter()
    job.do_work()
    if job.error is not None:
        raise job.error
    return job.slowest_ms, (time.perf_counter() - started) * 1000


def syncs_us(directory: Path, pause_s: float) -> list[float]:
    """Return how long each write of a record with its sync takes, in order of time taken."""
    path = directory / log_file_name(0)
    file = RealDisk().open(path, create=True)
    file.allocate(FILE_SIZE)
    took_us = []
    for number in range(SYNC_COUNT):
        time.sleep(pause_s)
        started = time.perf_counter()
        file.pwrite(RECORD, number * len(RECORD))
        file.fdatasync()
        took_us.append((time.perf_counter() - started) * 1e6)
    file.close()
    path.unlink()
    return sorted(took_us)


def main() -> None:
    """Print a line for each wait."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True, help="on the disk to measure")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    starts = [fixture_s() for _ in range(options.rounds)]
    alone = [unlink_ms(options.directory) for _ in range(options.rounds)]
    jobs = [job_ms(options.directory) for _ in range(options.rounds)]
    syncs = {
        pause: [syncs_us(options.directory, pause / 1e6) for _ in range(options.rounds)]
        for pause in PAUSES_US
    }
    lines = [
        f"load {os.getloadavg()[0]:.1f}, {options.rounds} rounds: median (least, most)",
        _line("pytest fixture until both serve, s", starts, places=2),
        _line("1 GiB by one unlink, ms", alone, places=0),
        _line("1 GiB by the store, longest call, ms", [longest for longest, _ in jobs], places=1),
        _line("1 GiB by the store, in all, ms", [whole for _, whole in jobs], places=0),
        *(
            _line(f"a record and its sync, {pause} us after the last, {name}, us", seen, places=0)
            for pause, runs in syncs.items()
            for name, seen in (
                ("p50", [took_us[SYNC_COUNT // 2] for took_us in runs]),
                ("p99", [took_us[SYNC_COUNT * 99 // 100] for took_us in runs]),
            )
        ),
    ]
    tell("\n".join(lines), None)


def _line(what: str, seen: list[float], *, places: int) -> str:
    median, least, most = statistics.median(seen), min(seen), max(seen)
    return f"{what}: {median:.{places}f} ({least:.{places}f}, {most:.{places}f})"


if __name__ == "__main__":
    main()
