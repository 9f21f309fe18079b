"""Our broker against the real Java broker, in turn, in one run: ``make bench``.

The load program (``java/src/Bench.java``) sits on the real Java client and is the same for
both sides. A round runs every load on one side, then on the other; a ratio is taken within
a round, and the table shows the median of the rounds. Ratios are what may be quoted, and only
from a quiet machine: the head of the table says what others used of it meanwhile.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.servers import CLOCK_TICKS, Side, side
from tests.golden import REPOSITORY
from tests.interop.javabuild import class_path

SOURCE = REPOSITORY / "benchmarks" / "java"
LOADS = ["sync:1", "sync:16", "sync:64", "async:256", "batch:8", "push", "pull", "listen:5"]
TITLES = {
    "sync:1": "sync send, 1 thread",
    "sync:16": "sync send, 16 threads",
    "sync:64": "sync send, 64 threads",
    "async:256": "async, window 256",
    "batch:8": "batches of 32, 8 threads",
    "push": "push consume",
    "pull": "pull",
    "listen:5": "send to push listener, one every 5 ms",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One load on one side."""

    rate: float
    p50_us: float
    p99_us: float
    cpu_us: float
    failed: int


@dataclass(frozen=True, slots=True)
class Round:
    """Every load on one side, and the broker's start and memory."""

    results: dict[str, Result]
    started_s: float
    idle_mb: float
    heap_mb: float
    others_cpus: float
    """CPUs that other processes of the machine kept busy meanwhile."""


def run_round(name: str, options: argparse.Namespace, scratch: Path) -> Round:
    """Start one side, put every load on it, and stop it."""
    settings = {"flushDiskType": options.flush, "defaultTopicQueueNums": "8"}
    with side(name, scratch, settings=settings) as running:
        idle_mb = running.heap_mb()
        begin = time.monotonic()
        busy_s, broker_s = _busy_s(), running.cpu_s()
        results, own_s = _drive(running, options)
        others_s = _busy_s() - busy_s - own_s - (running.cpu_s() - broker_s)
        return Round(
            results,
            running.started_s,
            idle_mb,
            running.heap_mb(),
            max(0.0, others_s / (time.monotonic() - begin)),
        )


def _drive(running: Side, options: argparse.Namespace) -> tuple[dict[str, Result], float]:
    command = ["java", "-Xmx1g", "-Drocketmq.client.logLevel=WARN", f"-Duser.home={SOURCE}/target"]
    command += [
        "-cp",
        f"{SOURCE / 'target'}:{class_path()}",
        "Bench",
        running.namesrv,
        "bench_topic",
    ]
    command += [str(options.body), str(options.warm), str(options.seconds), str(options.messages)]
    client = subprocess.Popen(
        [*command, *options.loads],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
        bufsize=1,
    )
    assert client.stdin is not None
    assert client.stdout is not None
    results: dict[str, Result] = {}
    cpu_s = 0.0
    for line in client.stdout:
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        if said["at"] == "begin":
            cpu_s = running.cpu_s()
        else:
            used_s = running.cpu_s() - cpu_s
            count = max(said["count"], 1)
            results[said["load"]] = Result(
                said["count"] / said["seconds"],
                said["p50_us"],
                said["p99_us"],
                used_s / count * 1e6,
                said["failed"],
            )
            shown = results[said["load"]]
            print(f"  {running.name:5} {said['load']:10} {shown.rate:10,.0f} msg/s", flush=True)
        client.stdin.write("go\n")
        client.stdin.flush()
    _, _, usage = os.wait4(client.pid, 0)
    return results, usage.ru_utime + usage.ru_stime


def _busy_s() -> float:
    fields = [int(text) for text in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / CLOCK_TICKS


def table(rounds: dict[str, list[Round]], options: argparse.Namespace) -> str:
    """Return the rounds as a Markdown table of medians and ratios."""
    java, ours = rounds["java"], rounds["ours"]
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {options.flush}, {options.body} byte bodies, 8 queues, "
        f"{len(java)} rounds of {options.seconds:g} s a load after {options.warm:g} s of warm-up; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, "
        f"others used {_median(r.others_cpus for r in java):.2f} CPUs beside the Java broker and "
        f"{_median(r.others_cpus for r in ours):.2f} beside ours.",
        "",
        "| load | Java msg/s | ours msg/s | rate | Java p50 / p99 us | ours p50 / p99 us | p50 "
        "| Java CPU us/msg | ours CPU us/msg | CPU |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        _row(load, [r.results[load] for r in java], [r.results[load] for r in ours])
        for load in options.loads
    ]
    lines += ["", "| broker | Java | ours |", "| --- | --- | --- |"]
    for title, field in (
        ("start to serving, s", "started_s"),
        ("memory beyond mappings, idle, MB", "idle_mb"),
        ("memory beyond mappings, after the loads, MB", "heap_mb"),
    ):
        of_java = _median(getattr(r, field) for r in java)
        of_ours = _median(getattr(r, field) for r in ours)
        lines.append(f"| {title} | {of_java:,.2f} | {of_ours:,.2f} |")
    return "\n".join(lines) + "\n"


def _row(load: str, java: Sequence[Result], ours: Sequence[Result]) -> str:
    def ratio(field: str) -> str:
        pairs = zip(ours, java, strict=True)
        return f"{_median(getattr(a, field) / max(getattr(b, field), 1e-9) for a, b in pairs):.2f}x"

    def shown(results: Sequence[Result], field: str) -> str:
        return f"{_median(getattr(r, field) for r in results):,.0f}"

    timed = load != "push"
    cells = [
        TITLES.get(load, load),
        shown(java, "rate"),
        shown(ours, "rate"),
        f"**{ratio('rate')}**",
        f"{shown(java, 'p50_us')} / {shown(java, 'p99_us')}" if timed else "–",
        f"{shown(ours, 'p50_us')} / {shown(ours, 'p99_us')}" if timed else "–",
        ratio("p50_us") if timed else "–",
        f"{_median(r.cpu_us for r in java):.1f}",
        f"{_median(r.cpu_us for r in ours):.1f}",
        f"**{ratio('cpu_us')}**",
    ]
    failed = sum(r.failed for r in (*java, *ours))
    return "| " + " | ".join(cells) + " |" + (f" {failed} failed" if failed else "")


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
    parser.add_argument("--flush", choices=["ASYNC_FLUSH", "SYNC_FLUSH"], default="ASYNC_FLUSH")
    parser.add_argument("--loads", nargs="+", default=LOADS)
    parser.add_argument("--sides", nargs="+", default=["java", "ours"])
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    compile_load()
    rounds: dict[str, list[Round]] = {name: [] for name in options.sides}
    with tempfile.TemporaryDirectory(prefix="mq-bench-") as scratch:
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", flush=True)
            for name in options.sides if number % 2 == 0 else reversed(options.sides):
                rounds[name].append(run_round(name, options, Path(scratch)))
    if set(options.sides) != {"java", "ours"}:
        print(rounds)
        return 0
    text = table(rounds, options)
    print("\n" + text)
    if options.write:
        with options.write.open("a") as file:
            file.write("\n" + text)
    return 0


def compile_load() -> None:
    """Compile the Java load program."""
    source, target = SOURCE / "src" / "Bench.java", SOURCE / "target"
    subprocess.run(
        ["javac", "-nowarn", "-cp", class_path(), "-d", str(target), str(source)], check=True
    )


if __name__ == "__main__":
    sys.exit(main())
