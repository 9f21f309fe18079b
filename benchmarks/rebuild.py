"""How fast a store that another broker wrote is opened: all of it read, queues and index made.

    python -m benchmarks.rebuild --directory /some/disk --size 1024 --body 1024

A log as ``benchmarks.logs`` makes it, without queues, index, checkpoint and dispatch.json. Then
the same again, killed after a part of the records, and started a second time. What was
written is synced before each start: its writeback is no part of the figures.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.logs import make_store
from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.recovery.recover import Recovery
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig

KILL = 9


def kill_at(count: int) -> None:
    """Let this process die when its recovery has come to record ``count``."""
    take, left = Recovery._process_records, count

    def take_or_die(self: Recovery, records: Sequence[ScannedRecord]) -> None:
        nonlocal left
        take(self, records[: left - 1])
        left -= len(records)
        if left <= 0:
            os.kill(os.getpid(), KILL)

    Recovery._process_records = take_or_die  # type: ignore[method-assign]


def open_once(root: Path, *, kill_after: int) -> None:
    """Open the store in this process; print what it took."""
    if kill_after:
        kill_at(kill_after)
    config = StoreConfig(store_path_root_dir=root)
    begin_s, cpu_s = time.perf_counter(), time.process_time()
    store = MessageStore.open(config, now_ms=int(time.time() * 1_000))
    took_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - cpu_s
    count = store.recovery.record_count
    print(
        f"{count:10,d} records  {took_s:6.2f} s  {count / took_s:10,.0f} a second  "
        f"{count / cpu_s:10,.0f} a CPU second",
        flush=True,
    )
    os.kill(os.getpid(), KILL)


def bare(root: Path) -> None:
    """Leave nothing but the log."""
    for path in root.iterdir():
        if path.is_dir() and path.name != "commitlog":
            shutil.rmtree(path)
        elif path.is_file():
            path.unlink()
    (root / "abort").touch()
    os.sync()


def main() -> None:
    """Print a line for each start."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--size", type=int, default=1_024, help="MiB of log")
    parser.add_argument("--body", type=int, default=1_024, help="bytes")
    parser.add_argument("--kill-after", type=int, default=600_000, help="records")
    parser.add_argument("--step", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = options.directory / "store"
    if options.step is not None:
        open_once(root, kill_after=options.step)
        return
    file_size = 1 << 28
    make_store(
        root, file_count=(options.size << 20) // file_size, file_size=file_size,
        body_size=options.body,
    )  # fmt: skip
    for name, kills in (("whole", [0]), ("killed, then the rest", [options.kill_after, 0])):
        bare(root)
        for kill_after in kills:
            print(f"{name:24s}", end="", flush=True)
            arguments = ["--directory", str(options.directory), "--step", str(kill_after)]
            subprocess.run([sys.executable, "-m", "benchmarks.rebuild", *arguments], check=False)
            if kill_after:
                print(f"killed after {kill_after:,d} records", flush=True)
    shutil.rmtree(root)


if __name__ == "__main__":
    main()
