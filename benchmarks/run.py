"""Our broker against the real Java broker, in turn, in one run: ``make bench``.

The load program (``java/src/Bench.java``) sits on the real Java client and is the same for
both sides. A round runs every load on one side, then on the other; a ratio is taken within
a round, and the table shows the median of the rounds. Ratios are what may be quoted, and only
from a quiet machine: the head of the table says what others used of it meanwhile.

Client and servers share the cores. The last table says what each takes, and so whether a faster
broker would make the client faster.

``--sides rust ours`` compares with the unofficial port to Rust. `cargo install rocketmq-broker`
makes its broker, whose program has to be in PATH; it serves with our name server.
"""

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.loads import (
    TITLES,
    Result,
    compared,
    compared_titles,
    compile_load,
    drive,
    java_command,
    ratio,
)
from benchmarks.servers import SYNC_MASTER, machine_s, side
from benchmarks.telling import markdown, tell

LOADS = ["sync:1", "sync:16", "sync:64", "async:256", "batch:8", "push", "pull", "listen:5"]
IDLE_S = 20.0
"""How long a side has nothing to do before the loads; CPU is counted in steps of 10 ms."""


class Running(Protocol):
    """One side while it serves."""

    @property
    def name(self) -> str:
        """The name of the side."""

    @property
    def started_s(self) -> float:
        """Seconds from its start until it served."""

    def cpu_s(self) -> float:
        """Return the CPU seconds that its servers have used."""

    def heap_mb(self) -> float:
        """Return the memory of its servers, without mapped files, in MB."""


@dataclass(frozen=True, slots=True)
class Round:
    """Every load on one side, and the start and the memory of its servers."""

    results: dict[str, Result]
    started_s: float
    idle_mb: float
    idle_percent: float
    """CPU of the servers before the loads, in percent of a core."""
    heap_mb: float
    others_cpus: float
    """CPUs that other processes of the machine kept busy meanwhile."""


def run_round(name: str, options: argparse.Namespace, scratch: Path) -> Round:
    """Start one side, put every load on it, and stop it."""
    settings = {
        "flushDiskType": options.flush, "defaultTopicQueueNums": "8", "brokerRole": options.role,
    }  # fmt: skip
    with side(name, scratch, settings=settings) as running:
        return loaded(running, java_command(running, options), running.slave_cpu_s)


def loaded(
    running: Running, command: list[str], slave_cpu_s: Callable[[], float] = lambda: 0.0
) -> Round:
    """Put every load of a load program on one side."""
    idle_mb, idle_cpu_s = running.heap_mb(), running.cpu_s()
    time.sleep(IDLE_S)
    idle_percent = 100 * (running.cpu_s() - idle_cpu_s) / IDLE_S
    begin = time.monotonic()
    (busy_s, _), servers_s = machine_s(), running.cpu_s() + slave_cpu_s()
    results, own_s = drive(
        command, name=running.name, cpu_s=lambda _: running.cpu_s(), beside_cpu_s=slave_cpu_s
    )
    others_s = machine_s()[0] - busy_s - own_s - (running.cpu_s() + slave_cpu_s() - servers_s)
    return Round(
        results,
        running.started_s,
        idle_mb,
        idle_percent,
        running.heap_mb(),
        max(0.0, others_s / (time.monotonic() - begin)),
    )


def head(rounds: dict[str, list[Round]], options: argparse.Namespace, *, what: str) -> str:
    """Return what there is to know about a run before its tables."""
    name, peer, ours = beside(rounds)
    return (
        f"{time.strftime('%Y-%m-%d')}, {what}, {options.body} byte bodies, 8 queues, "
        f"{len(peer)} rounds of {options.seconds:g} s a load after {options.warm:g} s of warm-up; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"others used {_median(r.others_cpus for r in peer):.2f} CPUs beside the {name} broker and "
        f"{_median(r.others_cpus for r in ours):.2f} beside ours.\n"
    )


def table(rounds: dict[str, list[Round]], loads: Iterable[str]) -> str:
    """Return the rounds as Markdown tables of medians and ratios."""
    name, peer, ours = beside(rounds)
    rows = [
        _row(load, [r.results[load] for r in peer], [r.results[load] for r in ours])
        for load in loads
    ]
    brokers = []
    for title, field in (
        ("start to serving, s", "started_s"),
        ("memory beyond mappings, idle, MB", "idle_mb"),
        ("CPU, idle, % of a core", "idle_percent"),
        ("memory beyond mappings, after the loads, MB", "heap_mb"),
    ):
        medians = (_median(getattr(r, field) for r in its) for its in (peer, ours))
        brokers.append([title, *(f"{median:,.2f}" for median in medians)])
    titles = [*compared_titles(name), "CPU"]
    return f"{markdown(titles, rows)}\n{markdown(['broker', name, 'ours'], brokers)}"


def cost_table(rounds: dict[str, list[Round]], loads: Iterable[str]) -> str:
    """Return what each process costs, which tells whether the machine is the limit.

    "All cores" is the rate at which client, broker and slave would keep every core busy, "free
    servers" the rate at which the client alone would.
    """
    rows = []
    cores = os.cpu_count() or 1
    for load in loads:
        for name, its in rounds.items():
            results = [one.results[load] for one in its]
            client_us, broker_us, slave_us, idle = (
                _median(getattr(one, field) for one in results)
                for field in ("program_cpu_us", "cpu_us", "beside_cpu_us", "idle_cpus")
            )
            cells = [TITLES.get(load, load), name]
            cells += [f"{cost:.1f}" for cost in (client_us, broker_us, slave_us)]
            cells += [f"{idle:.2f}", f"{cores * 1e6 / (client_us + broker_us + slave_us):,.0f}"]
            rows.append([*cells, f"{cores * 1e6 / client_us:,.0f}"])
    titles = ["load", "broker", "client CPU us/msg", "broker", "slave", "idle cores"]
    return markdown([*titles, "all cores, msg/s", "free servers, msg/s"], rows)


def what_of(options: argparse.Namespace) -> str:
    """Return what kind of broker was measured."""
    is_pair = options.role == SYNC_MASTER
    return f"{SYNC_MASTER} with a slave, {options.flush}" if is_pair else str(options.flush)


def beside(rounds: dict[str, list[Round]]) -> tuple[str, list[Round], list[Round]]:
    """Return the name and the rounds of the other side, and our rounds."""
    (other,) = rounds.keys() - {"ours"}
    return other.capitalize(), rounds[other], rounds["ours"]


def _row(load: str, peer: Sequence[Result], ours: Sequence[Result]) -> list[str]:
    failed = sum(r.failed for r in (*peer, *ours))
    cpu = f"**{ratio('cpu_us', peer, ours)}**" + (f", {failed} failed" if failed else "")
    return [*compared(load, peer, ours), cpu]


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def main() -> int:
    """Run the rounds and print the table; ``--write`` also puts it into a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--warm", type=float, default=3.0)
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--messages", type=int, default=300_000, help="to consume and to pull")
    parser.add_argument(
        "--role", choices=["ASYNC_MASTER", SYNC_MASTER], default="ASYNC_MASTER",
        help="SYNC_MASTER: with a slave",
    )  # fmt: skip
    parser.add_argument("--flush", choices=["ASYNC_FLUSH", "SYNC_FLUSH"], default="ASYNC_FLUSH")
    parser.add_argument("--loads", nargs="+", default=LOADS)
    parser.add_argument("--sides", nargs="+", default=["java", "ours"], help="java, rust, ours")
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    compile_load()
    rounds: dict[str, list[Round]] = {name: [] for name in options.sides}
    with tempfile.TemporaryDirectory(prefix="mq-bench-") as scratch:
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", flush=True)
            for name in options.sides if number % 2 == 0 else reversed(options.sides):
                rounds[name].append(run_round(name, options, Path(scratch)))
    if len(options.sides) != 2 or "ours" not in options.sides:
        print(rounds)
        return 0
    text = f"{head(rounds, options, what=what_of(options))}\n{table(rounds, options.loads)}"
    tell(f"{text}\n{cost_table(rounds, options.loads)}", options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
