"""How long a one-shot command takes, ours and the Java tool's: ``python -m benchmarks.oneshot``.

    python -m benchmarks.oneshot -n 127.0.0.1:9876 [--java CLASSPATH] [--rounds 5]

Both ask the same servers in turn, from start to the prompt, and the medians are printed with
the load of the machine: on a busy one only the ratio means something. Without ``--java`` ours
alone is measured.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = {"topicList": ["topic", "list"], "clusterList": ["cluster", "list"]}
JAVA_MAIN = "org.apache.rocketmq.tools.command.MQAdminStartup"


def seconds(command: list[str], home: str) -> float:
    """Return how long a command took from start to end.

    Raises:
        RuntimeError: it printed nothing, so its time says nothing (Java's exit code is 0 then).
    """
    env = {**os.environ, "ROCKETMQ_HOME": home}
    started_s = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    taken_s = time.perf_counter() - started_s
    if not done.stdout.strip():
        raise RuntimeError(f"{command}: no output; {done.stderr[:300]}")
    return taken_s


def java_home(directory: Path) -> str:
    """Make the one file without which the Java tool does not start."""
    (directory / "conf").mkdir()
    (directory / "conf" / "logback_tools.xml").write_text("<configuration/>")
    return str(directory)


def main() -> int:
    """Measure and print one line a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-n", "--namesrv", required=True)
    parser.add_argument("--java", help="class path of the Java tool")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {given.rounds} rounds, medians in seconds")
    with tempfile.TemporaryDirectory() as directory:
        compare(given, java_home(Path(directory)))
    return 0


def compare(given: argparse.Namespace, home: str) -> None:
    """Run every command on both sides in turn and print the medians."""
    for name, words in OURS.items():
        ours, java = [], []
        for _ in range(given.rounds):
            tool = [sys.executable, "-m", "mqadmin", *words]
            ours.append(seconds([*tool, "-n", given.namesrv], home))
            if given.java:
                tool = ["java", "-Xmx256m", "-cp", given.java, JAVA_MAIN, name]
                java.append(seconds([*tool, "-n", given.namesrv], home))
        line = f"{name:<12} ours {statistics.median(ours):.3f}"
        if java:
            ratio = statistics.median(b / a for a, b in zip(ours, java, strict=True))
            line += f"  java {statistics.median(java):.3f}  ratio {ratio:.1f}"
        print(line)


if __name__ == "__main__":
    sys.exit(main())
