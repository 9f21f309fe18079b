"""Our client against the Java client, on the real broker and on ours, in one run: ``make bench``.

Both load programs (``java/src/Bench.java``, ``pyload.py``) run the same loads in turn against
the same broker; a ratio is taken within a round. Clients and broker share the machine's cores,
as they do on the machine of who reads this.

``--pyrocketmq`` adds the bridge of that name to the Java client. It is no part of this project:
pip puts it into an environment of this run alone, in the versions and with the hashes of
``bridge.lock``. Where that does not work, the run says why and goes on without it.

``--floor`` adds a bare socket that sends one frame after the other (``floorload.py``): what one
sender could reach at most. The broker's own CPU time is in the tables, since where broker and
client want more than the cores have, it is the broker's that is missing.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.loads import (
    Result,
    compared,
    compared_titles,
    compile_load,
    drive,
    java_command,
    words,
)
from benchmarks.servers import Side, cpu_s, side
from benchmarks.telling import markdown, tell
from tests.interop.kit.java_build import class_path

LOADS = ["sync:1", "async:256", "push", "listen:5"]
NAMES = {"java": "Java", "pyrocketmq": "pyrocketmq", "floor": "bare socket"}
BRIDGE_LOCK = Path(__file__).with_name("bridge.lock")


def our_command(running: Side, options: argparse.Namespace) -> list[str]:
    """Return the command line of our client's loads."""
    return [sys.executable, "-m", "benchmarks.pyload", *words(running, options)]


def bridge_command(running: Side, options: argparse.Namespace) -> list[str]:
    """Return the command line of the bridge's loads."""
    loads = [load for load in options.loads if not load.startswith("listen")]
    told = words(running, options)[: -len(options.loads)]
    jars = f"ROCKETMQ_JARS={class_path()}"
    return [
        "env",
        jars,
        str(options.bridge / "bin" / "python"),
        "-m",
        "benchmarks.bridgeload",
        *told,
        *loads,
    ]


def floor_command(running: Side, options: argparse.Namespace) -> list[str]:
    """Return the command line of the bare socket's load."""
    told = words(running, options)[: -len(options.loads)]
    return [sys.executable, "-m", "benchmarks.floorload", *told, "sync:1"]


def make_bridge(directory: Path) -> str:
    """Install what the bridge's loads need; return why it is not there, "" when it is."""
    venv.create(directory, with_pip=True)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    done = subprocess.run(
        [*pip, "--require-hashes", "-r", str(BRIDGE_LOCK)], capture_output=True, text=True
    )
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2] or f"pip ended with {done.returncode}"
    return ""


CLIENTS: dict[str, Callable[[Side, argparse.Namespace], list[str]]] = {
    "java": java_command,
    "ours": our_command,
}


def table(
    rounds: dict[str, dict[str, list[dict[str, Result]]]], loads: Iterable[str], *, other: str
) -> str:
    """Return the medians as a Markdown table: broker, load, both clients, ratios.

    Args:
        other: the client that ours is compared with.
    """
    name = NAMES[other]
    rows = []
    for broker, clients in rounds.items():
        for load in loads:
            if not all(load in results for results in clients[other]):
                continue
            both = [[results[load] for results in clients[each]] for each in (other, "ours")]
            beside = (statistics.median(each.beside_cpu_us for each in its) for its in both)
            cost = " / ".join(f"{median:.1f}" for median in beside)
            rows.append([broker, *compared(load, *both), cost])
    titles = [*compared_titles(name), f"broker CPU us/msg, {name} / ours"]
    return markdown(["broker", *titles], rows)


def main() -> int:
    """Run the rounds and print the table; ``--write`` also puts it into a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--warm", type=float, default=3.0)
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--messages", type=int, default=10_000, help="to consume; fewer than sent")
    parser.add_argument("--loads", nargs="+", default=LOADS)
    parser.add_argument("--brokers", nargs="+", default=["java", "ours"])
    parser.add_argument("--pyrocketmq", action="store_true", help="also against this bridge")
    parser.add_argument("--floor", action="store_true", help="also against a bare socket")
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    clients = dict(CLIENTS)
    if options.floor:
        clients["floor"] = floor_command
    compile_load()
    settings = {"flushDiskType": "ASYNC_FLUSH", "defaultTopicQueueNums": "8"}
    with tempfile.TemporaryDirectory(prefix="mq-bench-") as scratch:
        if options.pyrocketmq:
            options.bridge = Path(scratch) / "bridge"
            missing = make_bridge(options.bridge)
            if missing:
                print(f"without pyrocketmq: {missing}", flush=True)
            else:
                clients["pyrocketmq"] = bridge_command
        rounds: dict[str, dict[str, list[dict[str, Result]]]] = {
            broker: {name: [] for name in clients} for broker in options.brokers
        }
        for number in range(options.rounds):
            for broker in options.brokers:
                names = list(clients) if number % 2 == 0 else list(reversed(clients))
                for name in names:
                    # A new store for each, so that both consume what they sent themselves.
                    with side(broker, Path(scratch), settings=settings) as running:
                        results, _ = drive(
                            clients[name](running, options),
                            name=name,
                            cpu_s=cpu_s,
                            beside_cpu_s=running.cpu_s,
                        )
                    rounds[broker][name].append(results)
                    print(f"round {number + 1}: {name} client on the {broker} broker", flush=True)
    text = (
        f"{time.strftime('%Y-%m-%d')}, client against client, {options.body} byte bodies, "
        f"{options.rounds} rounds of {options.seconds:g} s a load; {os.cpu_count()} cores shared "
        f"with the broker, load {os.getloadavg()[0]:.0f}, Python {platform.python_version()}.\n\n"
        + "\n".join(table(rounds, options.loads, other=name) for name in clients if name != "ours")
    )
    tell(text, options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
