"""A load program as a process: ``Bench.java``, ``pyload.py``, ``bridgeload.py``, ``floorload.py``.

    program --> {"at": "begin", "load": "sync:1"}              <-- a line: measure now
            --> {"at": "end", "load": …, "count": N, …}        <-- a line: go on

Rule: a program waits at both ends of a load, so that CPU time is read outside of it. All of
them take the same words: name server, topic, body bytes, seconds of warm-up and of the load,
messages to consume, then the loads.
"""

import argparse
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import servers
from benchmarks.servers import Side
from tests.golden import REPOSITORY
from tests.interop.kit.java_build import class_path

SOURCE: Final = REPOSITORY / "benchmarks" / "java"
TITLES: Final = {
    "sync:1": "sync send, 1 thread",
    "sync:16": "sync send, 16 threads",
    "sync:64": "sync send, 64 threads",
    "async:256": "async, window 256",
    "batch:8": "batches of 32, 8 threads",
    "push": "push consume",
    "pull": "pull",
    "listen:5": "send to push listener, one every 5 ms",
    "receive:16": "simple consumer, 16 threads: receive 32, ack each (p50 and p99 of the ack)",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One load."""

    rate: float
    p50_us: float
    p99_us: float
    cpu_us: float
    """CPU time for a message, of the process that is measured."""
    failed: int
    beside_cpu_us: float
    """The same of the process at the other end, or of the slave; 0 where nobody asked."""
    program_cpu_us: float
    """The same of the load program."""
    idle_cpus: float
    """Cores of the machine that had nothing to do meanwhile."""


def compared_titles(name: str) -> list[str]:
    """Return the titles of what ``compared`` returns; ``name`` is the other side."""
    return [
        *("load", f"{name} msg/s", "ours msg/s", "rate", f"{name} p50 / p99 us"),
        *("ours p50 / p99 us", "p50", f"{name} CPU us/msg", "ours CPU us/msg"),
    ]


def compared(load: str, peer: Sequence[Result], ours: Sequence[Result]) -> list[str]:
    """Return the medians of a load on another side and on ours, and ratios within the rounds."""

    def median(results: Sequence[Result], field: str) -> float:
        return float(statistics.median(getattr(result, field) for result in results))

    times = ["–"] * 3
    if load != "push":
        times = [
            f"{median(its, 'p50_us'):,.0f} / {median(its, 'p99_us'):,.0f}" for its in (peer, ours)
        ]
        times.append(ratio("p50_us", peer, ours))
    return [
        TITLES.get(load, load),
        *(f"{median(its, 'rate'):,.0f}" for its in (peer, ours)),
        f"**{ratio('rate', peer, ours)}**",
        *times,
        *(f"{median(its, 'cpu_us'):.1f}" for its in (peer, ours)),
    ]


def ratio(field: str, peer: Sequence[Result], ours: Sequence[Result]) -> str:
    """Return the median over the rounds of a figure of ours to that of the other side."""
    pairs = zip(ours, peer, strict=True)
    middle = statistics.median(getattr(a, field) / max(getattr(b, field), 1e-9) for a, b in pairs)
    return f"{middle:.2f}x"


def compile_load(name: str = "Bench", jars: str = "") -> None:
    """Compile a Java load program; ``jars`` is its class path, that of 4.9.7 when empty."""
    source, target = SOURCE / "src" / f"{name}.java", SOURCE / "target"
    words = ["javac", "-nowarn", "-cp", jars or class_path(), "-d", str(target), str(source)]
    subprocess.run(words, check=True)


def words(running: Side, options: argparse.Namespace) -> list[str]:
    """Return what every load program is told."""
    numbers = (options.body, options.warm, options.seconds, options.messages)
    return [running.namesrv, "bench_topic", *map(str, numbers), *options.loads]


def java_command(running: Side, options: argparse.Namespace) -> list[str]:
    """Return the command line of the Java client's loads."""
    return [
        *("java", "-Xmx1g", "-Drocketmq.client.logLevel=WARN", f"-Duser.home={SOURCE}/target"),
        *("-cp", f"{SOURCE / 'target'}:{class_path()}", "Bench"),
        *words(running, options),
    ]


def drive(
    command: list[str],
    *,
    name: str,
    cpu_s: Callable[[int], float],
    beside_cpu_s: Callable[[], float] = lambda: 0.0,
) -> tuple[dict[str, Result], float]:
    """Run a load program; returns its results by load, and the CPU seconds it took itself.

    Args:
        name: what is measured, for whoever looks on.
        cpu_s: returns the CPU seconds of what is measured, given the process id of the program.
        beside_cpu_s: returns those of the other end, or of the slave.

    Raises:
        ChildProcessError: the program ended with an error.
    """
    program = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert program.stdin is not None
    assert program.stdout is not None
    results: dict[str, Result] = {}

    def now() -> tuple[float, ...]:
        own_s, (_, idle_s) = servers.cpu_s(program.pid), servers.machine_s()
        return cpu_s(program.pid), beside_cpu_s(), own_s, idle_s, time.monotonic()

    begin: tuple[float, ...] = ()
    for line in program.stdout:
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        if said["at"] == "begin":
            begin = now()
        else:
            spent = [b - a for a, b in zip(begin, now(), strict=True)]
            results[said["load"]] = _result(said, *spent)
            rate = results[said["load"]].rate
            print(f"  {name:5} {said['load']:10} {rate:10,.0f} msg/s", flush=True)
        program.stdin.write("go\n")
        program.stdin.flush()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise ChildProcessError(f"{command[0]} ended with {program.returncode}")
    return results, usage.ru_utime + usage.ru_stime


def _result(
    said: dict[str, float],
    used_s: float,
    beside_s: float,
    own_s: float,
    idle_s: float,
    elapsed_s: float,
) -> Result:
    """Return what a program said at the end of a load, and the seconds that were spent."""
    count = max(said["count"], 1)
    return Result(
        said["count"] / said["seconds"],
        said["p50_us"],
        said["p99_us"],
        used_s / count * 1e6,
        int(said["failed"]),
        beside_s / count * 1e6,
        own_s / count * 1e6,
        idle_s / elapsed_s,
    )
