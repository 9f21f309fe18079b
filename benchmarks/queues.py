"""What many queues cost: puts, memory, a stop, and starts after a stop and after a kill.

    python -m benchmarks.queues --directory /some/disk             8 and 50,000 queues
    python -m benchmarks.queues --directory /some/disk --curve     1, 8, 100, ... of 50,000 queues

Each step is a process of its own, so that no memory is counted twice. ``8 of n`` puts into
8 queues of a store that has n; ``all`` puts into every one in turn, with the upkeep of a
broker in between; ``after that`` is the start after a kill right behind it. Times are those
of a noisy machine: compare lines of one run.

``--curve`` puts into more and more queues of one store by turns, without upkeep. Beside each
rate stands that of as many message objects, in the same order, for 8 queues: what they differ
in is the queues, and what both lack beside the line of 8 is the cache of the benchmark itself.
``--pictures docs`` draws the rates.
"""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.curves import Line, picture
from benchmarks.logs import finish, put_message
from benchmarks.servers import heap_mb
from mqserver.store.results import PutMessage
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig

QUEUES_A_TOPIC = 500
START_MS = 1_700_000_000_000
PUTS = 200_000
CURVE = (1, 8, 100, 1_000, 5_000)
FEW = 8
"""The queues with which the others are compared."""
TURN = 64
KILL = 9
KILLED = ("kill", "all, kill")
STEPS = ("make", "8 of n", "idle", "kill", "after a kill", "all", "all, kill", "after that")


def message(number: int) -> PutMessage:
    """Return a message for queue ``number``."""
    topic = f"topic-{number // QUEUES_A_TOPIC}"
    return put_message(topic, number % QUEUES_A_TOPIC, b"x" * 100, now_ms=START_MS)


def upkeep(store: MessageStore, now_ms: int) -> None:
    """Do what a broker does five times a second."""
    finish(store, store.begin_flush())
    finish(store, store.housekeeping(now_ms))


def put(
    store: MessageStore, count: int, messages: list[PutMessage], *, with_upkeep: bool = True
) -> float:
    """Put messages in turn; return puts a second of CPU time."""
    queues = len(messages)
    begin_s, due_s = time.process_time(), time.perf_counter() if with_upkeep else math.inf
    for number in range(count):
        store.put(messages[number % queues], START_MS + number)
        if number % TURN == TURN - 1:
            store.write(START_MS + number)
            if time.perf_counter() >= due_s:
                upkeep(store, int(time.time() * 1_000))
                due_s += 0.2
    store.write(START_MS + count)
    return count / (time.process_time() - begin_s)


def step(root: Path, what: str, queues: int) -> None:
    """Do one step in this process and print its line."""
    config = StoreConfig(store_path_root_dir=root, mapped_file_size_commit_log=1 << 28)
    used = 8 if what == "8 of n" else queues if what in ("make", "all", "all, kill") else 0
    messages = [message(number) for number in range(used)]
    before = heap_mb(os.getpid())
    begin_s, cpu_s = time.perf_counter(), time.process_time()
    store = MessageStore.open(config, now_ms=int(time.time() * 1_000))
    opened_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - cpu_s
    line = f"{what:14s} open {opened_s:6.2f} s ({cpu_s:5.2f} CPU), "
    line += f"+{heap_mb(os.getpid()) - before:5.1f} MB"
    if messages:
        rate = put(store, queues if what == "make" else PUTS, messages)
        line += f", {rate:9,.0f} puts a CPU s, +{heap_mb(os.getpid()) - before:5.1f} MB"
    if what in KILLED:
        print(line, flush=True)
        os.kill(os.getpid(), KILL)
    begin_s = time.perf_counter()
    store.close(int(time.time() * 1_000))
    print(f"{line}, close {time.perf_counter() - begin_s:6.2f} s", flush=True)


def curve(root: Path, queues: int, rounds: int) -> list[tuple[float, float]]:
    """Put into more and more queues by turns; print the highest rates of all rounds.

    Returns:
        (queues, puts a second of CPU time) for queues in turn.
    """
    config = StoreConfig(store_path_root_dir=root, mapped_file_size_commit_log=1 << 28)
    store = MessageStore.open(config, now_ms=int(time.time() * 1_000))
    orders = {f"{count:,}": list(range(count)) for count in CURVE if count < queues}
    orders[f"{queues:,}"] = list(range(queues))
    orders[f"{queues:,} shuffled"] = random.Random(1).sample(range(queues), queues)
    # Objects made in order and used in another one, as those of a store are.
    spread, near = [message(n) for n in range(queues)], [message(n % FEW) for n in range(queues)]
    put(store, queues, spread)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in orders}
    for _ in range(rounds):
        for name, order in orders.items():
            found[name].append(
                (
                    put(store, queues, [spread[n] for n in order], with_upkeep=False),
                    put(store, queues, [near[n] for n in order], with_upkeep=False),
                )
            )
            upkeep(store, int(time.time() * 1_000))
    store.close(int(time.time() * 1_000))
    few = max(rate for rate, _ in found[f"{FEW:,}"])
    points: list[tuple[float, float]] = []
    for name, rates in found.items():
        rate, beside = (max(column) for column in zip(*rates, strict=True))
        print(
            f"{name:16s} {rate:9,.0f} puts a CPU s, {rate / few:.2f} of 8 queues; "
            f"{beside:9,.0f} by as many messages for 8, {rate / beside:.2f} of that",
            flush=True,
        )
        if name.replace(",", "").isdecimal():
            points.append((len(orders[name]), rate))
    return points


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--queues", type=int, nargs="*", default=[8, 50_000])
    parser.add_argument("--curve", action="store_true", help="rates only, in one process")
    parser.add_argument("--pictures", type=Path, help="draw bench-queues.svg of --curve there")
    parser.add_argument("--rounds", type=int, default=20, help="of --curve")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = options.directory / "store"
    if options.step:
        step(root, options.step, options.queues[0])
        return
    if options.curve:
        points = curve(root, max(options.queues), options.rounds)
        shutil.rmtree(root)
        if options.pictures is not None:
            title = "Puts a second of CPU time into queues in turn, store alone"
            drawn = picture(title, "queues", [Line("ours", "ours", points)])
            (options.pictures / "bench-queues.svg").write_text(drawn)
        return
    for queues in options.queues:
        print(f"{queues:,} queues", flush=True)
        for what in STEPS:
            arguments = ["--directory", str(options.directory), "--queues", str(queues)]
            command = [sys.executable, "-m", "benchmarks.queues", *arguments, "--step", what]
            subprocess.run(command, check=what not in KILLED)
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
