"""How long mqadmin takes on a large cluster with live members, ours and Java's.

    python -m benchmarks.admin [--version 4.9.7|5.4.0] [--topics 2000] [--groups 300] [--members 40]

A real broker of the version gets the topics, the groups with offsets and retry topics, and some
groups get a member each, all in one JVM. Both tools then run the same questions in turn, from start
to the prompt; the last question is asked while the members are frozen by a signal. Medians are
printed as a table, with the load of the machine.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.oneshot import JAVA_MAIN, Took, java_home, measured
from tests.interop.kit.java_build import JAVA, JAVA_FIVE, class_path
from tests.interop.kit.our_clients import await_registered
from tests.interop.kit.our_mqadmin import OurMqadmin
from tests.interop.kit.servers import JavaSide, Servers, running_pair
from tests.interop.kit.toolbox import Toolbox, spec_of

VERSIONS: Final = {"4.9.7": JAVA, "5.4.0": JAVA_FIVE}
QUEUES: Final = 4
MESSAGES: Final = 3
"""In each topic that a live group reads."""


class Question(NamedTuple):
    """What both tools are asked; Java's words are empty where it has no such command."""

    ours: tuple[str, ...]
    java: tuple[str, ...] = ()
    frozen: bool = False

    @property
    def name(self) -> str:
        """Return the row's first cell."""
        state = ", members frozen" if self.frozen else ""
        also = f" / `{' '.join(self.java)}`" if self.java else ""
        return f"`{' '.join(self.ours)}`{also}{state}"


QUESTIONS: Final = (
    Question(("topic", "list"), ("topicList",)),
    Question(("group", "list"), ("consumerProgress",)),
    Question(("group", "lag"), ("consumerProgress",)),
    Question(("group", "lag", "G0001"), ("consumerProgress", "-g", "G0001")),
    Question(("doctor", "--fail-on", "never")),
    Question(("report", "--to", "-")),
    Question(("top", "--once")),
    Question(("lock", "list")),
    Question(("lock", "list"), frozen=True),
    Question(("group", "lag"), frozen=True),
    Question(("doctor", "--fail-on", "never"), frozen=True),
)


def topic_name(number: int) -> str:
    return f"T{number:04}"


def group_name(number: int) -> str:
    return f"G{number:04}"


def fill(servers: Servers, ask: OurMqadmin, topics: int, groups: int, members: int) -> None:
    """Make topics and groups; group N has read topic N up to its last message."""
    names = [topic_name(number) for number in range(topics)]
    names += [f"%RETRY%{group_name(number)}" for number in range(groups)]
    listed = [
        {"topicName": name, "readQueueNums": QUEUES, "writeQueueNums": QUEUES} for name in names
    ]
    ask("topic", "import", "-", "-y", stdin=json.dumps(listed))
    held = [{"groupName": group_name(number)} for number in range(groups)]
    ask("group", "import", "-", "-y", stdin=json.dumps(held))
    for number in range(members):
        for queue in range(MESSAGES):
            ask("message", "send", topic_name(number), f"m{queue}", "--queue", str(queue))
    offsets = [
        {"group": group_name(number), "topic": topic_name(number), "broker": servers.broker.name}
        | {"queue_id": queue, "consumer_offset": 0}
        for number in range(groups)
        for queue in range(QUEUES)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in offsets)
    ask("offset", "import", "-", "-y", stdin=lines)


@contextmanager
def live_members(toolbox: Toolbox, servers: Servers, members: int) -> Iterator[None]:
    """Keep a member online in each of the first groups, in one JVM and one client."""
    jobs = [
        toolbox.start(
            "PushConsumer",
            spec_of(
                *(servers, topic_name(number)),
                group=group_name(number),
                instance="bench",
                linger=True,
                count=MESSAGES,
            ),
        )
        for number in range(members)
    ]
    for job in jobs:
        job.until("counted")
    try:
        yield
    finally:
        for job in jobs:
            job.stop()


def run_questions(
    questions: Sequence[Question],
    tools: Callable[[Question], Mapping[str, list[str]]],
    home: Path,
    rounds: int,
) -> Iterator[str]:
    """Ask everything in turn and yield a row of the table for each question."""
    for question in questions:
        runs: dict[str, list[Took]] = {}
        for _ in range(rounds):
            for name, command in tools(question).items():
                # Silent members are a part of the answer, with an exit code of its own.
                took = measured(command, home, check=not question.frozen)
                runs.setdefault(name, []).append(took)
        wall = {name: statistics.median(one.wall_s for one in took) for name, took in runs.items()}
        cpu = {name: statistics.median(one.cpu_s for one in took) for name, took in runs.items()}
        java = f"{wall['java']:.2f} | {cpu['java']:.2f}" if "java" in wall else "– | –"
        ratio = f"{wall['java'] / wall['ours']:.0f}" if "java" in wall else "–"
        yield f"| {question.name} | {wall['ours']:.2f} | {cpu['ours']:.2f} | {java} | {ratio} |"


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--version", choices=[*VERSIONS], default="4.9.7")
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=300)
    parser.add_argument("--members", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hold", action="store_true", help="fill, then wait for a line instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mqadmin-bench-") as directory:
        measure(given, Path(directory))
    return 0


def measure(given: argparse.Namespace, scratch: Path) -> None:
    """Run the servers, fill them, and print one row a question."""
    jars = class_path(VERSIONS[given.version])
    clients = Toolbox(JavaSide(scratch / "clients", class_path())).await_ready()
    ours = OurMqadmin("", {"HOME": str(scratch)})
    with running_pair(JavaSide(scratch / "servers", jars), scratch / "store") as servers:
        await_registered(servers)
        ours.namesrv = servers.namesrv.address
        began_s = time.perf_counter()
        fill(servers, ours, given.topics, given.groups, given.members)
        print(f"filled in {time.perf_counter() - began_s:.1f} s", file=sys.stderr)
        with live_members(clients, servers, given.members):
            if given.hold:
                input(f"-n {servers.namesrv.address}; Enter ends it\n")
            else:
                table(given, servers, clients, jars, java_home(scratch))
    clients.stop()


def table(
    given: argparse.Namespace, servers: Servers, clients: Toolbox, jars: str, home: Path
) -> None:
    """Print the table."""
    at = ["-n", servers.namesrv.address]

    def tools(question: Question) -> dict[str, list[str]]:
        both = {"ours": [sys.executable, "-m", "mqadmin", *question.ours, *at]}
        if question.java:
            both["java"] = ["java", "-Xmx512m", "-cp", jars, JAVA_MAIN, *question.java, *at]
        return both

    awake = [one for one in QUESTIONS if not one.frozen]
    frozen = [one for one in QUESTIONS if one.frozen]
    print(
        f"RocketMQ {given.version}, {given.topics} topics, {given.groups} groups, {given.members} "
        f"live members; medians of {given.rounds}, load average {os.getloadavg()[0]:.1f}\n"
    )
    print("| question | ours, s | CPU | Java, s | CPU | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in run_questions(awake, tools, home, given.rounds):
        print(row, flush=True)
    with clients.frozen():
        for row in run_questions(frozen, tools, home, 1):
            print(row, flush=True)
    print(f"\nload average at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
