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
import time

OURS = {"topicList": ["topic", "list"], "clusterList": ["cluster", "list"]}
JAVA_MAIN = "org.apache.rocketmq.tools.command.MQAdminStartup"


def seconds(command: list[str]) -> float:
    """Return how long a command took from start to end.

    Raises:
        CalledProcessError: it failed, so its time says nothing.
    """
    started_s = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started_s


def main() -> int:
    """Measure and print one line a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-n", "--namesrv", required=True)
    parser.add_argument("--java", help="class path of the Java tool")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {given.rounds} rounds, medians in seconds")
    for name, words in OURS.items():
        ours, java = [], []
        for _ in range(given.rounds):
            ours.append(seconds([sys.executable, "-m", "mqadmin", *words, "-n", given.namesrv]))
            if given.java:
                tool = ["java", "-Xmx256m", "-cp", given.java, JAVA_MAIN, name]
                java.append(seconds([*tool, "-n", given.namesrv]))
        line = f"{name:<12} ours {statistics.median(ours):.3f}"
        if java:
            ratio = statistics.median(b / a for a, b in zip(ours, java, strict=True))
            line += f"  java {statistics.median(java):.3f}  ratio {ratio:.1f}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
