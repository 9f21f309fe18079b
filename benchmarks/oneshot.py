"""How long a one-shot command takes, ours and the Java tool's: ``python -m benchmarks.oneshot``.

    python -m benchmarks.oneshot -n 127.0.0.1:9876 [--id OFFSET_ID] [--java CLASSPATH] [--rounds 5]

Both ask the same servers in turn, from start to the prompt, and the medians are printed with
the load of the machine: on a busy one only the ratio means something. Without ``--java`` ours
alone is measured. CPU seconds are user and system time of the whole process.

Our modules are compiled once, before the first round, as an installation does; where the
environment forbids to keep compiled files (PYTHONDONTWRITEBYTECODE) each run would compile them
again, which costs as much as all the rest of it.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

OURS = {"topicList": ["topic", "list"], "clusterList": ["cluster", "list"]}
BY_ID = "queryMsgById"
JAVA_MAIN = "org.apache.rocketmq.tools.command.MQAdminStartup"


class Took(NamedTuple):
    """Seconds of one run: on the wall, and of CPU."""

    wall_s: float
    cpu_s: float


def measured(command: list[str], home: Path, *, check: bool = True) -> Took:
    """Return how long a command took from start to end.

    Args:
        home: RocketMQ's home for Java, and where our compiled modules are kept.
        check: an exit code other than 0 is an error.

    Raises:
        RuntimeError: it printed nothing, so its time says nothing (Java's exit code is 0 then).
    """
    env = {**os.environ, "ROCKETMQ_HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "compiled")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started_s = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=check, env=env)
    taken_s = time.perf_counter() - started_s
    if not done.stdout.strip():
        raise RuntimeError(f"{command}: no output; {done.stderr[:300]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(taken_s, cpu_s)


def java_home(directory: Path) -> Path:
    """Make the one file without which the Java tool does not start."""
    (directory / "conf").mkdir()
    (directory / "conf" / "logback_tools.xml").write_text("<configuration/>")
    return directory


def main() -> int:
    """Measure and print one line a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-n", "--namesrv", required=True)
    parser.add_argument("--id", help="offset id of a message that is there")
    parser.add_argument("--java", help="class path of the Java tool")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {given.rounds} rounds, medians in seconds")
    with tempfile.TemporaryDirectory() as directory:
        compare(given, java_home(Path(directory)))
    return 0


def compare(given: argparse.Namespace, home: Path) -> None:
    """Run every command on both sides in turn and print the medians."""
    lines = {name: (words, [name]) for name, words in OURS.items()}
    if given.id:
        lines[BY_ID] = ["message", "query", "id", given.id], [BY_ID, "-i", given.id]
    for name, (words, java_words) in lines.items():
        ours, java = [], []
        tool = [sys.executable, "-m", "mqadmin", *words, "-n", given.namesrv]
        measured(tool, home)
        for _ in range(given.rounds):
            ours.append(measured(tool, home))
            if given.java:
                javas = ["java", "-Xmx256m", "-cp", given.java, JAVA_MAIN, *java_words]
                java.append(measured([*javas, "-n", given.namesrv], home))
        line = f"{name:<12} ours {told(ours)}"
        if java:
            pairs = list(zip(ours, java, strict=True))
            wall = statistics.median(b.wall_s / a.wall_s for a, b in pairs)
            cpu = statistics.median(b.cpu_s / a.cpu_s for a, b in pairs)
            line += f"  java {told(java)}  ratio {wall:.1f} (cpu {cpu:.1f})"
        print(line)


def told(runs: list[Took]) -> str:
    """Return the medians of some runs for people."""
    wall_s = statistics.median(one.wall_s for one in runs)
    return f"{wall_s:.3f} (cpu {statistics.median(one.cpu_s for one in runs):.3f})"


if __name__ == "__main__":
    sys.exit(main())
