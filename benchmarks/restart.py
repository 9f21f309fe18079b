"""How long a broker takes to start on a large store, after a stop in order and after a kill.

    python -m benchmarks.restart --directory /some/disk --tail 300

    1 M, 10 M, 100 M messages ─┬─ a tail of 300 MiB, kill ──> start    stop ──> start
    all holes but their ends ──┘  behind the safe point       measured          measured

Rule: each start is a process of its own, the whole broker, from its first instruction to the
port that accepts. What lies between the ends of the files is holes, so that 100 M messages
take no disk, and a start that read it would find zeros and fail; the tail, its queues and its
keys are real. The first row is a broker with nothing in its store.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.logs import finish, put_message
from benchmarks.servers import cpu_s, start, wait_for
from mqserver.store.disk.disk import RealDisk
from mqserver.store.recovery.safe_point import read_safe_point
from mqserver.store.results import PutMessage
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.javahash import tags_code
from storefmt.paths import StorePaths
from tests.interop.kit.servers import write_properties
from tests.ports import free_ports
from tests.server.store.sparsestores import QUEUES, generate

BODY = b"x" * 1024
WRITE_EVERY = 64
UPKEEP_EVERY = 20_000
MIB = 1 << 20


class Start(NamedTuple):
    """What one start took."""

    wall_s: float
    cpu_s: float
    read_size: int
    """Bytes that the process asked for, its modules with them."""
    disk_size: int
    """Bytes of them that came from the disk, and not from the page cache."""


def message(number: int, now_ms: int) -> PutMessage:
    """Return a message with a tag and two keys."""
    keys = f"7F000001{number:024X}", f"order_{number}"
    properties = f"KEYS\x01{keys[1]}\x02UNIQ_KEY\x01{keys[0]}\x02TAGS\x01even".encode()
    queue_id, code = number % QUEUES, tags_code("even")
    return put_message(
        "topic-a", queue_id, BODY, now_ms=now_ms, properties=properties, code=code, keys=keys
    )


def put_tail(root: Path, size: int) -> None:
    """Put messages until the store has so many bytes behind its safe point; never returns."""
    store = MessageStore.open(StoreConfig(store_path_root_dir=root), now_ms=_now_ms())
    point = read_safe_point(RealDisk(), StorePaths(root))
    assert point is not None
    number, end = 0, 0
    while end < point.safe_log_offset + size:
        number += 1
        put = store.put(message(number, _now_ms()), _now_ms())
        end = put.log_offset + put.size
        if number % WRITE_EVERY == 0:
            store.write(_now_ms())
        if number % UPKEEP_EVERY == 0:
            # What a broker does in between.
            finish(store, store.housekeeping(_now_ms()))
    store.write(_now_ms())
    os.kill(os.getpid(), signal.SIGKILL)


def _now_ms() -> int:
    return int(time.time() * 1_000)


def measured_start(home: Path) -> Start:
    """Start a broker on ``home/store``, stop it in order; returns what the start took."""
    port = free_ports(4) + 2
    conf = home / "broker.conf"
    keys = {
        "brokerIP1": "127.0.0.1",
        "listenPort": str(port),
        "haListenPort": str(port + 1),
        "storePathRootDir": str(home / "store"),
    }
    write_properties(conf, keys)
    begin_s = time.perf_counter()
    process = start("ours", "broker", home, conf)
    try:
        wait_for(port, process, wait_s_max=600)
        took_s = time.perf_counter() - begin_s
        used_s = cpu_s(process.pid)
        lines = Path(f"/proc/{process.pid}/io").read_text().splitlines()
        counts = dict(line.split(": ") for line in lines)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)
    return Start(took_s, used_s, int(counts["rchar"]), int(counts["read_bytes"]))


def tell(name: str, took: Start) -> None:
    """Print the row of a start."""
    print(
        f"{name:42s} {took.wall_s:6.2f} s wall {took.cpu_s:6.2f} s CPU "
        f"{took.read_size / MIB:8.1f} MiB read {took.disk_size / MIB:8.1f} of them from the disk",
        flush=True,
    )


def measure(home: Path, count: int, *, tail_size: int) -> None:
    """Make a store of ``count`` messages, and print its starts."""
    root = home / "store"
    generate(root, count, tail_count=0, index=True)
    step = [sys.executable, "-m", "benchmarks.restart", "--directory", str(home), "--tail-of"]
    # Twice, so that the index has keys below its safe point, too.
    for size in (tail_size // 2, tail_size):
        done = subprocess.run([*step, str(size)], check=False)
        if done.returncode != -signal.SIGKILL:
            raise SystemExit(f"the tail of {size} bytes was not put: exit code {done.returncode}")
        tail = f"{count:,d}, killed, a tail of {size // MIB} MiB"
        tell(tail, measured_start(home))
    tell(f"{count:,d}, stopped", measured_start(home))
    shutil.rmtree(home)


def main() -> None:
    """Print a line for each start."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--tail", type=int, default=300, help="MiB")
    parser.add_argument(
        "--messages", type=int, nargs="*", default=[1_000_000, 10_000_000, 100_000_000]
    )
    parser.add_argument("--tail-of", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tail_of is not None:
        put_tail(options.directory / "store", options.tail_of)
    print(f"load {os.getloadavg()[0]:.1f}", flush=True)
    home = options.directory / "restart"
    home.mkdir()
    tell("empty", measured_start(home))
    shutil.rmtree(home / "store")
    for count in options.messages:
        home.mkdir(exist_ok=True)
        measure(home, count, tail_size=options.tail * MIB)


if __name__ == "__main__":
    main()
